import { isSuccess, NoAnswer } from '../client/call.js';
import type { AccessKey } from '../core/model.js';
import type { JsonObject } from '../wire/json/json.js';
import type { Revision } from '../wire/traits/revision.js';
import { saysSame } from './asked-server.js';
import type { Divergence } from './divergence.js';
import { linesOf, type Pair } from './pair.js';

/** A key that is not the same at both. */
export interface DifferingKey {
  /** Null where the target has none. */
  readonly wanted: AccessKey | null;
  /** Null where the shadow has none. */
  readonly present: AccessKey | null;
}

export type DifferingKeys = ReadonlyMap<string, DifferingKey>;

/** The most keys that are read and made equal one by one; more of them, by a list. */
const NAMED_KEYS = 20;
/** A list of more keys than this is not asked for again at once: the target has clients to answer. */
const MANY_KEYS = 1_000;
/** Milliseconds until such a list, or one that could not be had, is asked for again. */
const PAUSE = 5_000;

export interface KeySyncOptions {
  /** Milliseconds between two looks at all keys. */
  readonly every: number;
  /** Tells whether nothing may be changed at the shadow: what differs is left out of the comparison instead. */
  readonly readsOnly: boolean;
  readonly divergence: Divergence;
  readonly now: () => number;
  readonly note: (sentence: string) => void;
}

/** Keeps the shadow's keys those of the target, beyond the writes that it is sent. */
export class KeySync {
  readonly #options: KeySyncOptions;
  #lookedAt = 0;
  #notBefore = 0;
  #isWanted = false;
  /** The number of writes that the shadow was not sent, and of those that a look has come after. */
  #unseen = 0;
  #seen = 0;

  constructor(options: KeySyncOptions) {
    this.#options = options;
  }

  /** Asks for a look at all keys before anything more is compared. */
  request(): void {
    this.#isWanted = true;
  }

  /** Tells of a write that may have changed keys at the target alone. */
  unseen(): void {
    this.#isWanted = true;
    this.#unseen += 1;
  }

  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** True between such a write and the look: nobody knows meanwhile which keys differ. */
  get isUncertain(): boolean {
    return this.#unseen > this.#seen;
  }

  get isDue(): boolean {
    const now = this.#options.now();
    return now >= this.#notBefore && (this.#isWanted || now - this.#lookedAt >= this.#options.every);
  }

  /** Reads all keys of both, and makes the shadow's those of the target. */
  async look(pair: Pair): Promise<void> {
    const { readsOnly, divergence, now } = this.#options;
    const unseen = this.#unseen;
    this.#isWanted = false;
    this.#lookedAt = now();
    this.#notBefore = this.#lookedAt + PAUSE;
    try {
      const { differing, count } = await differingKeys(pair);
      divergence.replaceKeys(readsOnly ? differing.keys() : []);
      if (!readsOnly) await this.makeEqual(pair, differing);
      this.#seen = unseen;
      if (count <= MANY_KEYS) this.#notBefore = 0;
    } catch (error) {
      this.#isWanted = true;
      // One that answers otherwise than it should is compared all the same.
      if (!(error instanceof NoAnswer)) this.#seen = unseen;
      throw error;
    }
  }

  /** Reads these keys at both, and gives the shadow what the target has. */
  async equalize(keys: readonly string[], pair: Pair): Promise<void> {
    const named = new Set(keys);
    if (named.size === 0 || named.size > NAMED_KEYS) this.request();
    for (const each of [...named].slice(0, NAMED_KEYS)) {
      const wanted = (await pair.target.key(each)) ?? null;
      const present = (await pair.shadow.server.key(each)) ?? null;
      if (!isSame(wanted, present, linesOf(pair))) await this.makeEqual(pair, new Map([[each, { wanted, present }]]));
    }
  }

  async makeEqual(pair: Pair, differing: DifferingKeys): Promise<void> {
    const { readsOnly, divergence, note } = this.#options;
    for (const [key, difference] of differing) {
      const refusal = readsOnly ? '' : await setKey(pair, key, difference);
      if (refusal === null) divergence.resynced(key);
      else divergence.withhold(null, [key]);
      if (refusal) note(`a key that differs could not be made equal: the shadow answers ${refusal}`);
    }
  }
}

/** Reads all keys of both. `count` are those of the target. */
export async function differingKeys(
  pair: Pair,
): Promise<{ readonly differing: DifferingKeys; readonly count: number }> {
  const ofShadow = await pair.shadow.server.keys();
  const ofTarget = await pair.target.keys(ofShadow);
  return { differing: differencesOf(ofTarget, ofShadow, linesOf(pair)), count: ofTarget.size };
}

export function differencesOf(
  ofTarget: ReadonlyMap<string, AccessKey>,
  ofShadow: ReadonlyMap<string, AccessKey>,
  lines: readonly Revision[],
): DifferingKeys {
  const differing = new Map<string, DifferingKey>();
  for (const [key, wanted] of ofTarget) {
    const present = ofShadow.get(key) ?? null;
    if (!isSame(wanted, present, lines)) differing.set(key, { wanted, present });
  }
  for (const [key, present] of ofShadow) if (!ofTarget.has(key)) differing.set(key, { wanted: null, present });
  return differing;
}

/** Tells whether both have a key and say the same of it, or neither has it. */
export function isSame(one: AccessKey | null, other: AccessKey | null, lines: readonly Revision[]): boolean {
  return one === null || other === null ? one === other : saysSame(one, other, lines);
}

/** Gives the shadow a key as the target has it; resolves to how that is refused, or null. */
export async function setKey({ shadow }: Pair, key: string, { wanted, present }: DifferingKey): Promise<string | null> {
  const { server } = shadow;
  const path = `/users/${encodeURIComponent(key)}`;
  if (wanted === null) {
    const { status } = await server.send('DELETE', path);
    return isSuccess(status) || status === 404 ? null : `${status} to a DELETE`;
  }
  const record: JsonObject = { name: wanted.name, limit_bytes: wanted.limitBytes };
  const isNew = present === null;
  const { status } = await (isNew
    ? server.send('POST', '/users', { access_key: key, ...record })
    : server.send('PUT', path, record));
  return isSuccess(status) ? null : `${status} to a ${isNew ? 'POST' : 'PUT'}`;
}

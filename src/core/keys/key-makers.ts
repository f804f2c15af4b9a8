import type { KeyChange } from '../backend.js';
import type { Core } from '../core.js';
import { DomainError } from '../errors.js';
import type { KeptRecords, RecordChange } from '../kept-records.js';
import type { AccessKey } from '../model.js';
import type { ClockPort } from '../ports.js';
import type { Principal } from '../principal.js';
import { sameFields } from './key-record.js';
import type { KeyEntry, KeyReader } from './types.js';

/** Milliseconds. */
const FORGOTTEN_AFTER = 3_600_000;
/** Keys that went whose makers are kept: who makes keys and removes them for ever would fill the records. */
const MOST_GONE = 100_000;

/** Records who made keys, for tokens that see only their own. */
export class KeyMakers {
  readonly #records: KeptRecords;
  readonly #makers: ReadonlyMap<string, string>;
  /**
   * The times at which keys went, by the monotonic clock and in its order: their makers are still to be told of that.
   */
  readonly #gone = new Map<string, number>();
  readonly #clock: Pick<ClockPort, 'monotonic'>;

  constructor(records: KeptRecords, clock: Pick<ClockPort, 'monotonic'>, keys: Pick<KeyReader, 'markChanged'>) {
    this.#records = records;
    this.#clock = clock;
    this.#makers = records.of('makers');
    // A key is there before its maker is known, who has followed the changes past it by then.
    records.onChange('makers', (accessKeys) => {
      for (const accessKey of accessKeys) keys.markChanged(accessKey, 'owned');
    });
  }

  /** Tells whether a caller may see a key; null is a caller of an open mount. */
  sees(caller: Principal | null, accessKey: string): boolean {
    return !seesOwnAlone(caller) || this.#makers.get(accessKey) === JSON.stringify(caller.name);
  }

  /** Returns the keys that a caller may see; a token's own in the order in which it made them. */
  seen(keys: Pick<KeyReader, 'entries' | 'get'>, caller: Principal | null): Iterable<KeyEntry> {
    if (!seesOwnAlone(caller)) return keys.entries();
    const body = JSON.stringify(caller.name);
    return [...this.#makers].flatMap(([accessKey, maker]) => (maker === body ? (keys.get(accessKey) ?? []) : []));
  }

  /** Notes who made keys that are there now. Rejects as a change of records does. */
  async made(caller: Principal | null, accessKeys: readonly string[]): Promise<void> {
    for (const accessKey of accessKeys) this.#gone.delete(accessKey);
    await this.#put(accessKeys, seesOwnAlone(caller) ? JSON.stringify(caller.name) : null);
  }

  /** Notes that keys are gone; who made them is forgotten some time later. */
  async gone(accessKeys: readonly string[]): Promise<void> {
    const now = this.#clock.monotonic();
    for (const accessKey of accessKeys) {
      if (!this.#makers.has(accessKey)) continue;
      this.#gone.delete(accessKey);
      this.#gone.set(accessKey, now);
    }
    const old: string[] = [];
    for (const [accessKey, at] of this.#gone) {
      if (at >= now - FORGOTTEN_AFTER && this.#gone.size <= MOST_GONE) break;
      this.#gone.delete(accessKey);
      old.push(accessKey);
    }
    await this.#put(old, null);
  }

  /** Records keys that went by other ways: an edit of the file, another gateway, or at the server itself. */
  async sweep(keys: Pick<KeyReader, 'get'>): Promise<void> {
    const absent: string[] = [];
    for (const accessKey of this.#makers.keys()) {
      if (keys.get(accessKey) !== undefined) this.#gone.delete(accessKey);
      else if (!this.#gone.has(accessKey)) absent.push(accessKey);
    }
    await this.gone(absent);
  }

  /** Returns the changes of records that note a key in the place of another one. */
  moved(from: string, to: string): readonly RecordChange[] {
    return this.#changes([to], this.#makers.get(from) ?? null);
  }

  async #put(accessKeys: readonly string[], body: string | null): Promise<void> {
    const changes = this.#changes(accessKeys, body);
    if (changes.length > 0) await this.#records.change(changes);
  }

  #changes(accessKeys: readonly string[], body: string | null): readonly RecordChange[] {
    const others = [...new Set(accessKeys)].filter((id) => (this.#makers.get(id) ?? null) !== body);
    return others.map((id) => ({ kind: 'makers', id, body }));
  }
}

/** Tells whether a caller sees only the keys that were made with its token. */
export function seesOwnAlone(caller: Principal | null): caller is Principal {
  return caller?.may === 'create';
}

/**
 * Resolves to the change that a create means for its caller. One who may create keys but not change them leaves his own
 * key as it is if that has the wanted record already. Rejects with `notPermitted` if the create would replace any
 * other.
 */
export async function createdBy(
  core: Pick<Core, 'key'>,
  makers: KeyMakers,
  caller: Principal | null,
  key: AccessKey,
): Promise<KeyChange> {
  const create = { op: 'create', key } as const;
  if (!seesOwnAlone(caller)) return create;
  const found = await core.key(key.accessKey);
  if (found === undefined) return create;
  if (!makers.sees(caller, key.accessKey) || !sameFields(found, key)) throw new DomainError('notPermitted');
  return leftAsItIs(key.accessKey);
}

/** Returns the change that leaves a key as it is, and writes it if it is only in memory. */
export const leftAsItIs = (accessKey: string): KeyChange => ({ op: 'update', accessKey, update: {} });

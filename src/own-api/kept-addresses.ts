import type { KeptRecords, RecordChange } from '../core/kept-records.js';
import type { KeyReader } from '../core/keys/types.js';
import { PerKeyQueue } from '../core/per-key-queue.js';
import type { ClockPort, RandomPort } from '../core/ports.js';

/** A random subscription address. */
interface KeptAddress {
  readonly accessKey: string;
  /** Null: it lasts as long as its key and the successors of that. A time, in milliseconds since the epoch, only an older Keyway has set. */
  readonly until: number | null;
}

const TOKEN_BYTES = 16;

/** Subscription addresses that outlive their keys, by their tokens. */
export class KeptAddresses {
  readonly #records: KeptRecords;
  readonly #clock: Pick<ClockPort, 'now'>;
  readonly #random: Pick<RandomPort, 'bytes'>;
  readonly #kept = new Map<string, KeptAddress>();
  /** The same by their keys: a rotation looks for them, and a batch makes thousands of those. */
  readonly #byKey = new Map<string, Map<string, KeptAddress>>();
  /** Gives a key that is asked for twice at once one address. */
  readonly #queue = new PerKeyQueue();
  /** Addresses whose key was not there at the last look. */
  #missing: ReadonlySet<string> = new Set();

  constructor(records: KeptRecords, clock: Pick<ClockPort, 'now'>, random: Pick<RandomPort, 'bytes'>) {
    this.#records = records;
    this.#clock = clock;
    this.#random = random;
    this.#take([...records.of('addresses').keys()]);
    records.onChange('addresses', (tokens) => this.#take(tokens));
  }

  /** The key of a token that is kept; undefined for any other. */
  readonly keyOf = (token: string): string | undefined => {
    const kept = this.#kept.get(token);
    if (kept === undefined) return undefined;
    return kept.until === null || kept.until > this.#clock.now() ? kept.accessKey : undefined;
  };

  /** Returns the token of the random address of a key, which gets one where it has none. Rejects as a change of records does. */
  handOut(accessKey: string): Promise<string> {
    return this.#queue.run(accessKey, async () => {
      const [present] = this.#handedOut(accessKey);
      if (present !== undefined) return present;
      const token = this.#random.bytes(TOKEN_BYTES).toString('hex');
      await this.#records.change([put(token, { accessKey, until: null })]);
      return token;
    });
  }

  /** Ends the random addresses of a key. Rejects as a change of records does. */
  async takeBack(accessKey: string): Promise<void> {
    await this.#remove(this.#handedOut(accessKey));
  }

  /** Removes addresses that have ended, and those whose key was not there at the last look either. */
  async sweep(keys: Pick<KeyReader, 'get'>): Promise<void> {
    const now = this.#clock.now();
    const missing = new Set<string>();
    const gone: string[] = [];
    for (const [token, { accessKey, until }] of this.#kept) {
      const isMissing = keys.get(accessKey) === undefined;
      if ((until !== null && until <= now) || (isMissing && this.#missing.has(token))) gone.push(token);
      else if (isMissing) missing.add(token);
    }
    this.#missing = missing;
    await this.#remove(gone);
  }

  #handedOut(accessKey: string): readonly string[] {
    return this.#of(accessKey).flatMap(([token, { until }]) => (until === null ? [token] : []));
  }

  #of(accessKey: string): readonly (readonly [token: string, address: KeptAddress])[] {
    return [...(this.#byKey.get(accessKey) ?? [])];
  }

  /** Takes in changed records. */
  #take(tokens: readonly string[]): void {
    for (const token of tokens) {
      this.#forget(token);
      const body = this.#records.of('addresses').get(token);
      if (body === undefined) continue;
      const kept: KeptAddress = JSON.parse(body);
      this.#kept.set(token, kept);
      this.#byKey.set(kept.accessKey, (this.#byKey.get(kept.accessKey) ?? new Map()).set(token, kept));
    }
  }

  #forget(token: string): void {
    const accessKey = this.#kept.get(token)?.accessKey;
    if (accessKey === undefined) return;
    this.#kept.delete(token);
    const own = this.#byKey.get(accessKey);
    own?.delete(token);
    if (own?.size === 0) this.#byKey.delete(accessKey);
  }

  async #remove(tokens: readonly string[]): Promise<void> {
    if (tokens.length > 0) await this.#records.change(tokens.map((id) => ({ kind: 'addresses', id, body: null })));
  }

  /** Returns the changes of records by which the addresses of a key lead to its successor. */
  moved(from: string, to: string): readonly RecordChange[] {
    return this.#of(from).map(([id, kept]) => ({
      ...put(id, { ...kept, accessKey: to }),
      expected: JSON.stringify(kept),
    }));
  }
}

const put = (id: string, address: KeptAddress): RecordChange => ({
  kind: 'addresses',
  id,
  body: JSON.stringify(address),
});

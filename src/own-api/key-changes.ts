import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cursors } from '../core/keys/cursor.js';
import type { KeyEntry, KeyReader } from '../core/keys/types.js';
import type { ClockPort, RandomPort } from '../core/ports.js';
import { pieces } from '../core/steps.js';
import { encodeJson } from '../wire/json/write-json.js';
import { type NoteOf, wireKey } from './wire-key.js';

/** A position in the changes of keys: how far records and counters were sent, and when counters were. */
export interface Place {
  /** The version of the log of changes. */
  readonly records: number;
  /** The generation of the registry. */
  readonly counters: number;
  /** Whole seconds of the clock that only rises. */
  readonly toldAt: number;
}

/** A key that changed: with another record, or in its counters alone. */
export interface ChangedKey {
  readonly accessKey: string;
  readonly isWhole: boolean;
}

/** The changes after a place. */
export interface ChangedKeys {
  /** Up to where these go. */
  readonly place: Place;
  readonly keys: readonly ChangedKey[];
}

/** Seconds between two reports of counters to a waiting caller. */
const COUNTERS_EVERY = 10;
/** Entries that are looked at in one turn of the event loop. */
const LOOKED_AT = 5_000;

/** The changes of keys for those who follow them, by cursors of this process. */
export class KeyChanges {
  readonly #keys: KeyReader;
  readonly #clock: Pick<ClockPort, 'monotonic'>;
  readonly #cursors: Cursors;

  constructor(keys: KeyReader, { clock, random }: { readonly clock: ClockPort; readonly random: RandomPort }) {
    this.#keys = keys;
    this.#clock = clock;
    this.#cursors = new Cursors(random.bytes(6).toString('hex'));
  }

  /** The place of everything as it is now. */
  now(): Place {
    return { records: this.#keys.changes.version, counters: this.#keys.generation, toldAt: this.#seconds() };
  }

  cursor({ records, counters, toldAt }: Place): string {
    return this.#cursors.text(records, counters, toldAt);
  }

  /** Returns the cursor before the first change: asking with it returns everything. */
  unknown(): string {
    return this.#cursors.text();
  }

  /** Returns the position of a cursor; null if the changes after it are no longer known. */
  place(cursor: string): Place | null {
    const [records, counters, toldAt] = this.#cursors.numbers(cursor, 3) ?? [];
    if (records === undefined || counters === undefined || toldAt === undefined) return null;
    const isKnown = this.#keys.changes.since(records) !== null && counters <= this.#keys.generation;
    return isKnown ? { records, counters, toldAt } : null;
  }

  /** Returns the seconds until there is news after a position, as far as is known now; 0 if there is some. */
  due({ records, counters, toldAt }: Place): number {
    if (this.#keys.changes.version !== records) return 0;
    // Nothing announces new counters: they are looked for when they are due.
    const wait = Math.max(0, toldAt + COUNTERS_EVERY - this.#seconds());
    return counters === this.#keys.generation ? Math.max(1, wait) : wait;
  }

  /** Tells whether it is time to tell counters again. */
  areCountersDue({ toldAt }: Place): boolean {
    return this.#seconds() - toldAt >= COUNTERS_EVERY;
  }

  /**
   * Returns the changes after a position, with counters unless those are due later; null if they are no longer known.
   * Other requests are answered in between.
   */
  async after(place: Place, { withCounters = true } = {}): Promise<ChangedKeys | null> {
    const next = withCounters ? this.now() : { ...place, records: this.#keys.changes.version };
    const changed = this.#keys.changes.since(place.records);
    if (changed === null) return null;
    const keys = changed.map((accessKey) => ({ accessKey, isWhole: true }));
    if (withCounters && place.counters !== next.counters) await this.#addCounted(place, new Set(changed), keys);
    return { place: next, keys };
  }

  async #addCounted({ counters }: Place, known: ReadonlySet<string>, keys: ChangedKey[]): Promise<void> {
    for (const some of pieces(this.#keys.entries(), LOOKED_AT)) {
      for (const { accessKey, changedAt, alive } of some) {
        if (changedAt > counters && alive && !known.has(accessKey)) keys.push({ accessKey, isWhole: false });
      }
      if (some.length === LOOKED_AT) await nextTurn();
    }
  }

  /** The changed keys as they are now, as JSON text after a cursor: `whole` where they begin a list of all. */
  text(place: Place, whole: boolean, changed: readonly ChangedKey[], noteOf: NoteOf): string {
    const keys: string[] = [];
    const removed: string[] = [];
    for (const { accessKey, isWhole } of changed) {
      const key = this.#keys.get(accessKey);
      if (key === undefined) removed.push(accessKey);
      else keys.push(encodeJson(isWhole ? wireKey(key, noteOf) : countersOf(key)));
    }
    const cursor = JSON.stringify(this.cursor(place));
    return `{"cursor":${cursor},"whole":${whole},"keys":[${keys.join(',')}],"removed":${JSON.stringify(removed)}}`;
  }

  #seconds(): number {
    return Math.floor(this.#clock.monotonic() / 1000);
  }
}

/** The members of a key that usage changes. */
function countersOf(key: KeyEntry) {
  const { access_key, bytes_up, bytes_down, connections, online } = wireKey(key, () => null);
  return { access_key, bytes_up, bytes_down, connections, online };
}

import type { KeptCounters } from '../../../core/keys/types.js';
import { createRecordWriter, readRecords } from './records.js';

/** Counters of keys, and of how many. */
export interface ManyCounters extends Iterable<KeptCounters> {
  readonly length: number;
}

/** Keys whose counters are packed together. */
const AT_ONCE = 2_000;

/** Counters as the store's records: some tens of bytes a key, where objects take some hundreds. */
export class PackedCounters implements ManyCounters {
  readonly #full: Buffer[] = [];
  readonly #writer = createRecordWriter();
  #last: KeptCounters[] = [];

  get length(): number {
    return this.#full.length * AT_ONCE + this.#last.length;
  }

  push(counters: KeptCounters): void {
    if (this.#last.push(counters) < AT_ONCE) return;
    for (const one of this.#last) this.#writer.counters(one);
    this.#full.push(Buffer.from(this.#writer.take()));
    this.#last = [];
  }

  *[Symbol.iterator](): Generator<KeptCounters, void> {
    for (const records of this.#full) {
      const some: KeptCounters[] = [];
      readRecords(records, (record) => {
        if (record.kind === 'counters') some.push(record.counters);
      });
      yield* some;
    }
    yield* this.#last;
  }
}

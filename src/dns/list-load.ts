import { setImmediate } from 'node:timers/promises';
import type { ListNames } from './blocklist.js';
import { createListReader, ListError } from './list-lines.js';
import { createNameSetBuilder } from './name-set.js';

/** Bytes of a list that are read before the event loop may do something else. */
const SLICE_BYTES = 16 * 1024;
/** Milliseconds of reading, slice by slice, before others get their turn. */
const SLICE_MS = 1;
/** All lists together stay far below what would fill the memory. */
const MOST_NAMES = 10_000_000;

/**
 * Reads a list into sets of names. It lets the event loop go on after every millisecond: answers go out while a
 * million lines load. Rejects with `ListError` when the content is no list or names nothing.
 */
export async function loadList(chunks: AsyncIterable<Buffer>, seed: number): Promise<ListNames> {
  const blocked = createNameSetBuilder(seed);
  const excepted = createNameSetBuilder(seed);
  const reader = createListReader({
    block: (bytes, length) => blocked.add(bytes, 0, length),
    except: (bytes, length) => excepted.add(bytes, 0, length),
  });
  let resumedAt = performance.now();
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
      reader.push(chunk.subarray(start, start + SLICE_BYTES));
      if (blocked.size + excepted.size > MOST_NAMES) throw new ListError(`it has more than ${MOST_NAMES} names`);
      if (performance.now() - resumedAt < SLICE_MS) continue;
      await setImmediate();
      resumedAt = performance.now();
    }
  }
  reader.end();
  if (blocked.size + excepted.size === 0) throw new ListError('it has no names');
  return { blocked: blocked.finish(), excepted: excepted.finish() };
}

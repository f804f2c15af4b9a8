import type { Allocate } from '../core/buffer-reuse.js';
import { finish, mappedSteps, Pace, type Steps, sortedSteps } from '../core/steps.js';
import type { KeyList } from './key-list.js';

/** Bytes `from` to `to` (exclusive) are replaced by a text. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: Buffer;
}

export function splice(from: number, to: number, text: string): Splice {
  return { from, to, text: Buffer.from(text) };
}

/** Sorts splices in the order of the file; insertions at one place keep the order in which they were made. */
export function sortSplices(splices: readonly Splice[]): readonly Splice[] {
  return finish(sortSplicesSteps(splices));
}

/** Does what `sortSplices` does, in steps. */
export function sortSplicesSteps(splices: readonly Splice[]): Steps<readonly Splice[]> {
  return sortedSteps(splices, (a, b) => a.from - b.from || a.to - b.to);
}

const allocateNew: Allocate = (length) => Buffer.allocUnsafe(length);

/** Bytes that are copied in one step; the cost is memory that is touched for the first time. */
const STEP_BYTES = 1 << 22;

/** Applies every splice and returns the bytes in new memory; the splices are sorted and do not overlap. */
export function applySplices(bytes: Buffer, splices: readonly Splice[]): Buffer {
  return finish(applySplicesSteps(bytes, splices));
}

/** Does what `applySplices` does, in steps. */
export function* applySplicesSteps(
  bytes: Buffer,
  splices: readonly Splice[],
  allocate: Allocate = allocateNew,
): Steps<Buffer> {
  const pace = new Pace();
  const result = allocate(bytes.length + grownBy(splices));
  let written = 0;
  function* copy(source: Buffer, from: number, to: number): Steps<void> {
    for (let at = from; at < to; at += STEP_BYTES) {
      written += source.copy(result, written, at, Math.min(to, at + STEP_BYTES));
      if (to - at > STEP_BYTES || pace.isDue()) yield;
    }
  }
  let read = 0;
  for (const { from, to, text } of splices) {
    yield* copy(bytes, read, from);
    yield* copy(text, 0, text.length);
    read = to;
  }
  yield* copy(bytes, read, bytes.length);
  return result;
}

/** Returns the number of bytes that splices add. */
export const grownBy = (splices: readonly Splice[]): number =>
  splices.reduce((sum, { from, to, text }) => sum + text.length - (to - from), 0);

/** Offsets after splices, each of which moves everything at or after it. */
export class MovedOffsets {
  readonly #at: Float64Array;
  /** The distance by which the first splice moves what is after it, then the first two, and so on. */
  readonly #by: Float64Array;

  /** The places in rising order. */
  constructor(places: readonly { readonly at: number; readonly by: number }[]) {
    this.#at = new Float64Array(places.length);
    this.#by = new Float64Array(places.length);
    let sum = 0;
    for (const [index, { at, by }] of places.entries()) {
      sum += by;
      this.#at[index] = at;
      this.#by[index] = sum;
    }
  }

  static bySplices(sorted: readonly Splice[]): MovedOffsets {
    return finish(MovedOffsets.bySplicesSteps(sorted, new Pace()));
  }

  static *bySplicesSteps(sorted: readonly Splice[], pace: Pace): Steps<MovedOffsets> {
    const moved = ({ from, to, text }: Splice) => ({ at: to, by: text.length - (to - from) });
    const places = yield* mappedSteps(sorted, moved, pace);
    return new MovedOffsets(places);
  }

  /** Returns the number of places that move an offset. */
  count(offset: number): number {
    return firstAbove(this.#at, offset);
  }

  after(offset: number): number {
    return offset + (this.#by[this.count(offset) - 1] ?? 0);
  }
}

/**
 * Returns a key list after sorted splices, which move offsets accordingly, without the elements at the `removed`
 * indexes (rising). A splice inside an element moves its end; one at its end, or before it, does not belong to it.
 */
export function shiftList(
  list: KeyList,
  splices: readonly Splice[],
  moved: MovedOffsets,
  removed: readonly number[],
): KeyList {
  const before = list.starts.length;
  const count = before - removed.length;
  const starts = new Uint32Array(count);
  const ends = new Uint32Array(count);
  const hashes = new Uint32Array(count);
  const untouched = firstAbove(list.ends, splices[0]?.from ?? Number.POSITIVE_INFINITY);
  starts.set(list.starts.subarray(0, untouched));
  ends.set(list.ends.subarray(0, untouched));
  hashes.set(list.hashes.subarray(0, untouched));
  const first = list.starts[untouched] ?? 0;
  let next = moved.count(first);
  let delta = moved.after(first) - first;
  let gone = 0;
  for (let i = untouched, to = untouched; i < before; i += 1) {
    if (removed[gone] === i) {
      gone += 1;
      continue;
    }
    const start = list.starts[i] ?? 0;
    const end = list.ends[i] ?? 0;
    for (let s = splices[next]; s !== undefined && s.to <= start; s = splices[next]) {
      delta += s.text.length - (s.to - s.from);
      next += 1;
    }
    starts[to] = start + delta;
    for (let s = splices[next]; s !== undefined && s.from < end; s = splices[next]) {
      delta += s.text.length - (s.to - s.from);
      next += 1;
    }
    ends[to] = end + delta;
    hashes[to] = list.hashes[i] ?? 0;
    to += 1;
  }
  return { open: moved.after(list.open), close: moved.after(list.close), starts, ends, hashes };
}

/** Returns the index of the first of rising numbers that is above a bound. */
function firstAbove(numbers: Uint32Array | Float64Array, bound: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}

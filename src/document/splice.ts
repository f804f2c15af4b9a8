import type { Allocate } from '../core/buffer-reuse.js';
import { finish, Pace, type Steps } from '../core/steps.js';
import type { KeyList } from './key-list.js';

/** Bytes `from` to `to` (exclusive) give way to a text. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: Buffer;
}

export function splice(from: number, to: number, text: string): Splice {
  return { from, to, text: Buffer.from(text) };
}

/** In the order of the file; insertions at one place keep the order that they were made in. */
export function sortSplices(splices: readonly Splice[]): Splice[] {
  return splices.toSorted((a, b) => a.from - b.from || a.to - b.to);
}

const allocateNew: Allocate = (length) => Buffer.allocUnsafe(length);

/** Bytes that are copied in one step: what costs is memory that is touched for the first time. */
const STEP_BYTES = 1 << 22;

/** The bytes with every splice made, in memory of their own; the splices are sorted and do not overlap. */
export function applySplices(bytes: Buffer, splices: readonly Splice[]): Buffer {
  return finish(applySplicesSteps(bytes, splices));
}

/** Does as `applySplices`, in steps. */
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

/** The number of bytes that splices add. */
export const grownBy = (splices: readonly Splice[]): number =>
  splices.reduce((sum, { from, to, text }) => sum + text.length - (to - from), 0);

/** Offsets after bytes have come or gone at some places, of which each moves what stands at or behind it. */
export class MovedOffsets {
  readonly #at: Float64Array;
  /** By how much the first place moves what is behind it, the first two, and so on. */
  readonly #by: Float64Array;

  /** The places in rising order. */
  constructor(places: readonly { readonly at: number; readonly by: number }[]) {
    let sum = 0;
    this.#at = Float64Array.from(places, ({ at }) => at);
    this.#by = Float64Array.from(places, ({ by }) => {
      sum += by;
      return sum;
    });
  }

  static bySplices(sorted: readonly Splice[]): MovedOffsets {
    return new MovedOffsets(sorted.map(({ from, to, text }) => ({ at: to, by: text.length - (to - from) })));
  }

  /** The number of places that move an offset. */
  count(offset: number): number {
    return firstAbove(this.#at, offset);
  }

  after(offset: number): number {
    return offset + (this.#by[this.count(offset) - 1] ?? 0);
  }
}

/**
 * A key list after sorted splices, which move offsets so, without the elements at the `removed` indexes (rising). A splice inside
 * an element moves its end; one at its end, or before it, does not belong to it.
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

/** The index of the first of rising numbers that is above one. */
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

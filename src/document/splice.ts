import type { Allocate } from '../core/buffer-reuse.js';
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

/** The bytes with every splice made, in memory of their own; the splices are sorted and do not overlap. */
export function applySplices(bytes: Buffer, splices: readonly Splice[], allocate: Allocate = allocateNew): Buffer {
  const grown = splices.reduce((sum, { from, to, text }) => sum + text.length - (to - from), 0);
  const result = allocate(bytes.length + grown);
  let read = 0;
  let written = 0;
  for (const { from, to, text } of splices) {
    written += bytes.copy(result, written, read, from);
    written += text.copy(result, written);
    read = to;
  }
  bytes.copy(result, written, read);
  return result;
}

/**
 * A key list after sorted splices, without the elements at the `removed` indexes (rising). A splice inside an element
 * moves its end; one at its end, or before it, does not belong to it.
 */
export function shiftList(list: KeyList, splices: readonly Splice[], removed: readonly number[]): KeyList {
  const before = list.starts.length;
  const count = before - removed.length;
  const starts = new Uint32Array(count);
  const ends = new Uint32Array(count);
  const hashes = new Uint32Array(count);
  const untouched = firstEndAfter(list.ends, splices[0]?.from ?? Number.POSITIVE_INFINITY);
  starts.set(list.starts.subarray(0, untouched));
  ends.set(list.ends.subarray(0, untouched));
  hashes.set(list.hashes.subarray(0, untouched));
  let next = 0;
  let delta = 0;
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
  return { open: shift(list.open, splices), close: shift(list.close, splices), starts, ends, hashes };
}

/** The index of the first element that ends behind an offset; no splice from there on touches those before it. */
function firstEndAfter(ends: Uint32Array, offset: number): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ends[middle] ?? 0) > offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The offset afterwards of a byte that no splice removes. */
function shift(at: number, splices: readonly Splice[]): number {
  let delta = 0;
  for (const { from, to, text } of splices) {
    if (to > at) break;
    delta += text.length - (to - from);
  }
  return at + delta;
}

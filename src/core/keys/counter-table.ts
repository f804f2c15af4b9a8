import { MAX_U64 } from '../model.js';
import type { CounterValues, KeptCounters } from './types.js';

export type CounterTable = ReturnType<typeof createCounterTable>;

const FIRST_ROWS = 64;
/**
 * Elements of a row: they stand together, because with a million keys each look at another place costs more than the
 * sum.
 */
const UP = 0;
const DOWN = 1;
const CONNECTIONS = 2;
const CREATED = 3;
const ROW = 4;
/** The index of the more significant half of a 64-bit element among its two 32-bit halves. */
const HIGH = new Uint8Array(new BigUint64Array([1n]).buffer)[0] === 1 ? 1 : 0;

/**
 * The counters of all keys in one table, one row of 32 bytes per slot. A million keys' counters as objects would be
 * four million values for the garbage collector to walk, and every usage entry would make four new ones; these it never
 * sees.
 */
export function createCounterTable() {
  let rows = FIRST_ROWS;
  let counts = new BigUint64Array(rows * ROW);
  let times = new Float64Array(counts.buffer);
  let halves = new Uint32Array(counts.buffer);
  const freeSlots: number[] = [];
  let next = 0;
  let sumUp = 0n;
  let sumDown = 0n;
  let sumConnections = 0n;

  function grow(): void {
    rows *= 2;
    const wider = new BigUint64Array(rows * ROW);
    wider.set(counts);
    counts = wider;
    times = new Float64Array(counts.buffer);
    halves = new Uint32Array(counts.buffer);
  }

  function isZero(slot: number): boolean {
    for (let at = 2 * ROW * slot; at < 2 * (ROW * slot + CREATED); at += 1) if (halves[at] !== 0) return false;
    return true;
  }

  /** Takes a row out of the sums before it becomes another. */
  function leaveSums(slot: number): void {
    if (isZero(slot)) return;
    const at = slot * ROW;
    sumUp -= counts[at + UP] ?? 0n;
    sumDown -= counts[at + DOWN] ?? 0n;
    sumConnections -= counts[at + CONNECTIONS] ?? 0n;
  }

  /** Sets traffic and connections to zero; the time of creation stays. */
  function clear(slot: number): void {
    leaveSums(slot);
    halves.fill(0, 2 * ROW * slot, 2 * (ROW * slot + CREATED));
  }

  function write(slot: number, { bytesUp, bytesDown, connections }: CounterValues): void {
    const at = slot * ROW;
    leaveSums(slot);
    counts[at + UP] = bytesUp;
    counts[at + DOWN] = bytesDown;
    counts[at + CONNECTIONS] = connections;
    sumUp += bytesUp;
    sumDown += bytesDown;
    sumConnections += connections;
  }

  return {
    /** Allocates a row of zeros. */
    take(): number {
      const free = freeSlots.pop();
      if (free !== undefined) return free;
      if (next === rows) grow();
      return next++;
    },
    /** Frees a row. */
    free(slot: number): void {
      clear(slot);
      times[slot * ROW + CREATED] = 0;
      freeSlots.push(slot);
    },
    read(slot: number): CounterValues {
      const at = slot * ROW;
      return {
        bytesUp: counts[at + UP] ?? 0n,
        bytesDown: counts[at + DOWN] ?? 0n,
        connections: counts[at + CONNECTIONS] ?? 0n,
      };
    },
    write,
    // Written out: this runs for every changed key of every batch, and a spread takes most of its time.
    /** Returns the row in the form that is kept beyond the process. */
    kept(slot: number, accessKey: string, leftAt: number | null): KeptCounters {
      const at = slot * ROW;
      return {
        accessKey,
        bytesUp: counts[at + UP] ?? 0n,
        bytesDown: counts[at + DOWN] ?? 0n,
        connections: counts[at + CONNECTIONS] ?? 0n,
        createdAt: times[at + CREATED] ?? 0,
        leftAt,
      };
    },
    /** Sets a row to kept values. */
    writeKept(slot: number, kept: KeptCounters): void {
      write(slot, kept);
      times[slot * ROW + CREATED] = kept.createdAt;
    },
    clear,
    /** Adds bytes; a sum that would pass 2^64-1 stays there. True when that happened. */
    add(slot: number, bytesUp: bigint, bytesDown: bigint): boolean {
      const at = slot * ROW;
      const [upBefore, downBefore] = [counts[at + UP] ?? 0n, counts[at + DOWN] ?? 0n];
      const isFull = upBefore + bytesUp > MAX_U64 || downBefore + bytesDown > MAX_U64;
      const up = isFull ? atMostU64(upBefore + bytesUp) - upBefore : bytesUp;
      const down = isFull ? atMostU64(downBefore + bytesDown) - downBefore : bytesDown;
      counts[at + UP] = upBefore + up;
      counts[at + DOWN] = downBefore + down;
      sumUp += up;
      sumDown += down;
      return isFull;
    },
    setConnections(slot: number, connections: bigint): void {
      const at = slot * ROW + CONNECTIONS;
      sumConnections += connections - (counts[at] ?? 0n);
      counts[at] = connections;
    },
    /** Bytes up and down together, which may pass 64 bits. */
    traffic: (slot: number): bigint => (counts[slot * ROW + UP] ?? 0n) + (counts[slot * ROW + DOWN] ?? 0n),
    hasTraffic(slot: number): boolean {
      const at = 2 * ROW * slot;
      return halves[at] !== 0 || halves[at + 1] !== 0 || halves[at + 2] !== 0 || halves[at + 3] !== 0;
    },
    hasConnections(slot: number): boolean {
      const at = 2 * (ROW * slot + CONNECTIONS);
      return halves[at] !== 0 || halves[at + 1] !== 0;
    },
    /** Milliseconds since the epoch. */
    createdAt: (slot: number): number => times[slot * ROW + CREATED] ?? 0,
    setCreatedAt(slot: number, createdAt: number): void {
      times[slot * ROW + CREATED] = createdAt;
    },
    /** The sums over all rows, which may pass 64 bits. */
    sums: (): CounterValues => ({ bytesUp: sumUp, bytesDown: sumDown, connections: sumConnections }),
    /** Negative when the first slot has fewer bytes down than the second, positive when more. */
    compareBytesDown(a: number, b: number): number {
      const atA = 2 * (ROW * a + DOWN);
      const atB = 2 * (ROW * b + DOWN);
      const high = (halves[atA + HIGH] ?? 0) - (halves[atB + HIGH] ?? 0);
      return high !== 0 ? high : (halves[atA + 1 - HIGH] ?? 0) - (halves[atB + 1 - HIGH] ?? 0);
    },
  };
}

/** A sum that would pass 2^64-1 stays there. */
export function atMostU64(sum: bigint): bigint {
  return sum > MAX_U64 ? MAX_U64 : sum;
}

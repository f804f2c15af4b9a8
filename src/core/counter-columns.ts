import type { CounterValues } from './keys.js';
import { MAX_U64 } from './model.js';

/**
 * The counters of all keys in columns, one row per slot. A million keys' counters as objects would be four million
 * values for the garbage collector to walk, and every usage entry would make four new ones; here they are 40 bytes a key
 * that it never sees.
 */
export interface CounterColumns {
  /** A row of zeros that nobody else has. */
  take(): number;
  /** Gives the row back. */
  free(slot: number): void;
  read(slot: number): CounterValues;
  write(slot: number, values: CounterValues): void;
  /** Sets traffic and connections to zero; the time of creation stays. */
  clear(slot: number): void;
  /** Adds bytes; a sum that would pass 2^64-1 stays there. True when that happened. */
  add(slot: number, bytesUp: bigint, bytesDown: bigint): boolean;
  setConnections(slot: number, connections: bigint): void;
  /** Bytes up and down together, which may pass 64 bits. */
  traffic(slot: number): bigint;
  hasTraffic(slot: number): boolean;
  /** Milliseconds since the epoch. */
  createdAt(slot: number): number;
  setCreatedAt(slot: number, createdAt: number): void;
  /** Negative when the first slot has fewer bytes down than the second, positive when more. */
  compareBytesDown(a: number, b: number): number;
}

const FIRST_ROWS = 64;
/** Where the more significant half of a 64-bit element stands among its two 32-bit halves. */
const HIGH = new Uint8Array(new BigUint64Array([1n]).buffer)[0] === 1 ? 1 : 0;

export function createCounterColumns(): CounterColumns {
  let rows = FIRST_ROWS;
  let up = new BigUint64Array(rows);
  let down = new BigUint64Array(rows);
  let downHalves = new Uint32Array(down.buffer);
  let connected = new BigUint64Array(rows);
  let created = new Float64Array(rows);
  const freeSlots: number[] = [];
  let next = 0;

  function grow(): void {
    rows *= 2;
    up = copyInto(new BigUint64Array(rows), up);
    down = copyInto(new BigUint64Array(rows), down);
    downHalves = new Uint32Array(down.buffer);
    connected = copyInto(new BigUint64Array(rows), connected);
    const wider = new Float64Array(rows);
    wider.set(created);
    created = wider;
  }

  function clear(slot: number): void {
    up[slot] = 0n;
    down[slot] = 0n;
    connected[slot] = 0n;
  }

  return {
    take() {
      const free = freeSlots.pop();
      if (free !== undefined) return free;
      if (next === rows) grow();
      return next++;
    },
    free(slot) {
      clear(slot);
      created[slot] = 0;
      freeSlots.push(slot);
    },
    read: (slot) => ({
      bytesUp: up[slot] ?? 0n,
      bytesDown: down[slot] ?? 0n,
      connections: connected[slot] ?? 0n,
    }),
    write(slot, { bytesUp, bytesDown, connections }) {
      up[slot] = bytesUp;
      down[slot] = bytesDown;
      connected[slot] = connections;
    },
    clear,
    add(slot, bytesUp, bytesDown) {
      const sumUp = (up[slot] ?? 0n) + bytesUp;
      const sumDown = (down[slot] ?? 0n) + bytesDown;
      up[slot] = sumUp > MAX_U64 ? MAX_U64 : sumUp;
      down[slot] = sumDown > MAX_U64 ? MAX_U64 : sumDown;
      return sumUp > MAX_U64 || sumDown > MAX_U64;
    },
    setConnections(slot, connections) {
      connected[slot] = connections;
    },
    traffic: (slot) => (up[slot] ?? 0n) + (down[slot] ?? 0n),
    hasTraffic: (slot) => up[slot] !== 0n || down[slot] !== 0n,
    createdAt: (slot) => created[slot] ?? 0,
    setCreatedAt(slot, createdAt) {
      created[slot] = createdAt;
    },
    compareBytesDown(a, b) {
      const high = (downHalves[2 * a + HIGH] ?? 0) - (downHalves[2 * b + HIGH] ?? 0);
      return high !== 0 ? high : (downHalves[2 * a + 1 - HIGH] ?? 0) - (downHalves[2 * b + 1 - HIGH] ?? 0);
    },
  };
}

function copyInto(wider: BigUint64Array<ArrayBuffer>, from: BigUint64Array): BigUint64Array<ArrayBuffer> {
  wider.set(from);
  return wider;
}

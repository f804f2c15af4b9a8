import { createHash } from 'node:crypto';
import type { ClockPort, RandomPort } from '../core/ports.js';

/** The time at which every clock of a test begins. */
export const BEGINNING = Date.UTC(2026, 0, 1, 12);

/** A clock that stands still until it is advanced. */
export interface MovableClock extends ClockPort {
  /** Lets this many milliseconds pass at once. */
  advance(milliseconds: number): void;
}

/** Time and randomness of a test, the same for the same seed every time. */
export interface SeededPorts {
  /** Begins at noon of 1 January 2026, UTC, and stands still there. */
  readonly clock: MovableClock;
  /** Unfit for secrets. */
  readonly random: RandomPort;
}

/** Creates time and randomness for a test, for the options of `createGateway`. */
export function createSeededPorts(seed: string | number): SeededPorts {
  let passed = 0;
  return {
    clock: {
      now: () => BEGINNING + passed,
      // Waits must end although the time of day stands still.
      monotonic: () => performance.now() + passed,
      advance(milliseconds) {
        passed += milliseconds;
      },
    },
    random: createSeededRandom(`keyway ${seed}`),
  };
}

/** Creates randomness that is the same every time, unfit for secrets: SHA-256 of the seed and a count. */
export function createSeededRandom(seed: string): RandomPort {
  let count = 0;
  const block = () => {
    count += 1;
    return createHash('sha256').update(`${seed} ${count}`).digest();
  };
  const bytes = (length: number) => {
    const blocks = Array.from({ length: Math.ceil(length / 32) }, block);
    return Buffer.concat(blocks).subarray(0, length);
  };
  return { bytes, uuid: () => uuidOf(bytes(16)) };
}

/** Formats sixteen bytes as a UUID of version 4 (RFC 9562, section 5.4). */
function uuidOf(bytes: Buffer): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

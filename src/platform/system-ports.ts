import { randomBytes, randomUUID } from 'node:crypto';
import type { ClockPort, RandomPort } from '../core/ports.js';

/** This machine's time. */
export const systemClock: ClockPort = { now: () => Date.now(), monotonic: () => performance.now() };

/** This machine's randomness, fit for secrets. */
export const systemRandom: RandomPort = { bytes: (count) => randomBytes(count), uuid: () => randomUUID() };

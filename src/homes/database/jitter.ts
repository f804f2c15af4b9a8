import type { RandomPort } from '../../core/ports.js';

/**
 * Returns between half and one and a half times as long, so that callers that wait for the same thing do not all come
 * back at once.
 */
export type Jitter = (milliseconds: number) => number;

export function createJitter(random: RandomPort): Jitter {
  return (milliseconds) => milliseconds * (0.5 + random.bytes(4).readUInt32LE() / 2 ** 32);
}

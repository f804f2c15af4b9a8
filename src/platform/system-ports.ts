import { randomBytes, randomUUID } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { ClockPort, RandomPort } from '../core/ports.js';

/** This machine's time. */
export const systemClock: ClockPort = { now: () => Date.now(), monotonic: () => performance.now() };

/** This machine's randomness, fit for secrets. */
export const systemRandom: RandomPort = { bytes: (count) => randomBytes(count), uuid: () => randomUUID() };

/**
 * Lists the addresses where others may reach this machine, IPv4 first: neither loopback nor link-local (RFC 3927, RFC
 * 4291 2.5.6).
 */
export function ownAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const reached = all.filter(({ internal, address }) => !internal && !/^(?:fe[89ab]|169\.254\.)/i.test(address));
  const isFirst = ({ family }: { readonly family: string }) => family === 'IPv4';
  return [...reached.filter(isFirst), ...reached.filter((one) => !isFirst(one))].map(({ address }) => address);
}

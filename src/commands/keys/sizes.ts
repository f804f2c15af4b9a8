import { formatSize, readLimit as readTyped } from '../../text/sizes.js';

/** The forms that `readLimit` takes, to follow the word "expected". */
export const LIMIT_EXPECTED = 'a number of bytes, a size such as 10GB or 1.5 GiB, or none';

/** Reads bytes as people write them, null for none; undefined for another text, and for a fraction of a byte. */
export function readLimit(text: string): bigint | null | undefined {
  if (text.trim().toLowerCase() === 'none') return null;
  const reading = readTyped(text, 'B');
  if (!reading.ok || reading.rounded) return undefined;
  return reading.bytes === null ? null : BigInt(reading.bytes);
}

/** Returns bytes for people, in decimal units. */
export const sizeText = (bytes: bigint): string => formatSize(bytes, 'en', true).replace('\u00a0', ' ');

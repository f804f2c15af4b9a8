import { BYTES, readLimit as readTyped } from '../../text/sizes.js';

/** The forms that `readLimit` takes, to follow the word "expected". */
export const LIMIT_EXPECTED = 'a number of bytes, a size such as 10GB or 1.5 GiB, or none';

/** Reads bytes as people write them, null for none; undefined for another text, and for a fraction of a byte. */
export function readLimit(text: string): bigint | null | undefined {
  if (text.trim().toLowerCase() === 'none') return null;
  const reading = readTyped(text, 'B');
  if (!reading.ok || reading.rounded) return undefined;
  return reading.bytes === null ? null : BigInt(reading.bytes);
}

const SHOWN = ['PB', 'TB', 'GB', 'MB', 'KB'] as const;

/** Bytes for people, with three digits that count. */
export function sizeText(bytes: bigint): string {
  for (const unit of SHOWN) {
    if (bytes < BYTES[unit]) continue;
    const value = Number((bytes * 1000n) / BYTES[unit]) / 1000;
    return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${unit}`;
  }
  return `${bytes} B`;
}

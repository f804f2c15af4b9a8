import { MAX_U64 } from '../../core/model.js';

/** Bytes in one of each unit: decimal as disks are sold (IEC 80000-13 for the others). */
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['b', 1n],
  ['kb', 10n ** 3n],
  ['mb', 10n ** 6n],
  ['gb', 10n ** 9n],
  ['tb', 10n ** 12n],
  ['pb', 10n ** 15n],
  ['kib', 2n ** 10n],
  ['mib', 2n ** 20n],
  ['gib', 2n ** 30n],
  ['tib', 2n ** 40n],
  ['pib', 2n ** 50n],
]);

/** The letters of Russian units. */
const CYRILLIC: Readonly<Record<string, string>> = { к: 'k', м: 'm', г: 'g', т: 't', п: 'p', и: 'i', б: 'b' };

/** The forms that `readLimit` takes, to follow the word "expected". */
export const LIMIT_EXPECTED = 'a number of bytes, a size such as 10GB or 1.5 GiB, or none';

/**
 * Reads bytes as people write them, null for none; undefined for another text. `G` alone is `GiB`, as in the panel; a fraction of a
 * byte is none.
 */
export function readLimit(text: string): bigint | null | undefined {
  const trimmed = text
    .trim()
    .toLowerCase()
    .replace(/[а-я]/g, (letter) => CYRILLIC[letter] ?? letter);
  if (trimmed === '' || trimmed === 'none') return null;
  const [, whole = '', fraction = '', unit = ''] = /^(\d{1,20})(?:[.,](\d{1,15}))?\s*([a-z]*)$/.exec(trimmed) ?? [];
  const factor = UNITS.get(unit === '' ? 'b' : /^[kmgtp]$/.test(unit) ? `${unit}ib` : unit);
  if (whole === '' || factor === undefined) return undefined;
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) * factor;
  const bytes = scaled / scale;
  return scaled % scale === 0n && bytes <= MAX_U64 ? bytes : undefined;
}

/** Bytes below which a number without a unit was meant in another one. */
const LEAST_BARE = 1_000_000n;

/** Returns whether a text is a number without a unit that nobody means in bytes; 0 is no traffic in any unit. */
export function lacksUnit(text: string): boolean {
  return /^\d+$/.test(text.trim()) && BigInt(text) > 0n && BigInt(text) < LEAST_BARE;
}

const SHOWN = ['PB', 'TB', 'GB', 'MB', 'kB'] as const;

/** Bytes for people, with three digits that count. */
export function sizeText(bytes: bigint): string {
  for (const unit of SHOWN) {
    const factor = UNITS.get(unit.toLowerCase()) ?? 1n;
    if (bytes < factor) continue;
    const value = Number((bytes * 1000n) / factor) / 1000;
    return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${unit}`;
  }
  return `${bytes} B`;
}

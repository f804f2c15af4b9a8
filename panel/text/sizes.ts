import { narrow, type Whole } from './exact-json.js';

/** Binary units, smallest first; the index is the power of 1024. */
export const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;
export type Unit = (typeof UNITS)[number];

const MAX_U64 = 2n ** 64n - 1n;
const LANGUAGE_UNITS: Readonly<Record<string, readonly string[]>> = {
  ru: ['Б', 'КиБ', 'МиБ', 'ГиБ', 'ТиБ', 'ПиБ'],
};

/** The unit's name in a language. */
export function unitName(unit: Unit, language: string): string {
  return LANGUAGE_UNITS[language]?.[UNITS.indexOf(unit)] ?? unit;
}

/** Rounded for reading, such as `1.46 GiB`; the exact bytes belong beside it. */
export function formatSize(bytes: Whole, language: string): string {
  let value = Number(bytes);
  let power = 0;
  while (value >= 1023.995 && power < UNITS.length - 1) {
    value /= 1024;
    power += 1;
  }
  const digits = power === 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  const shown = new Intl.NumberFormat(language, { minimumFractionDigits: 0, maximumFractionDigits: digits }).format(
    value,
  );
  return `${shown}\u00a0${unitName(UNITS[power] ?? 'B', language)}`;
}

/** Every digit, grouped as the language does. */
export function formatExact(value: Whole, language: string): string {
  return new Intl.NumberFormat(language).format(value);
}

/** A limit as the form shows it: the largest unit in which it is whole, so that nothing is lost. */
export function splitLimit(bytes: Whole): { readonly amount: string; readonly unit: Unit } {
  let value = BigInt(bytes);
  let power = 0;
  while (value > 0n && value % 1024n === 0n && power < UNITS.length - 1) {
    value /= 1024n;
    power += 1;
  }
  return { amount: value.toString(), unit: UNITS[power] ?? 'B' };
}

/** Why a typed limit is none; each has its sentence in the language tables. */
export type LimitProblem = 'notANumber' | 'negative' | 'tooLarge' | 'decimalUnit';

export type LimitReading =
  | { readonly ok: true; readonly bytes: Whole | null; readonly rounded: boolean }
  | { readonly ok: false; readonly problem: LimitProblem };

const AMOUNT = /^(\d[\d\s_\u00a0\u202f]*)(?:[.,](\d+))?\s*([a-zа-я]*)$/iu;

/**
 * Reads a limit exactly. Empty means no limit. The text may name its own unit (`1.5 GiB`, `ГиБ`), which wins over the
 * chosen one; `GB` is refused because it means 1000³ to some and 1024³ to others. A fraction of a byte is cut off.
 */
export function readLimit(typed: string, chosen: Unit): LimitReading {
  const trimmed = typed.trim();
  if (trimmed === '') return { ok: true, bytes: null, rounded: false };
  if (/^[-\u2212]\s*\d/.test(trimmed)) return { ok: false, problem: 'negative' };
  const match = AMOUNT.exec(trimmed);
  if (match === null) return { ok: false, problem: 'notANumber' };
  const [, whole = '', fraction = '', suffix = ''] = match;
  const unit = suffix === '' ? chosen : unitOf(suffix);
  if (unit === null) return { ok: false, problem: isDecimalUnit(suffix) ? 'decimalUnit' : 'notANumber' };
  const scale = 10n ** BigInt(fraction.length);
  const product = BigInt(whole.replace(/\D/g, '') + fraction) * 1024n ** BigInt(UNITS.indexOf(unit));
  const bytes = product / scale;
  if (bytes > MAX_U64) return { ok: false, problem: 'tooLarge' };
  return { ok: true, bytes: narrow(bytes), rounded: product % scale !== 0n };
}

function unitOf(suffix: string): Unit | null {
  const lower = suffix.toLowerCase();
  return UNITS.find((unit) => unit.toLowerCase() === lower || unitName(unit, 'ru').toLowerCase() === lower) ?? null;
}

function isDecimalUnit(suffix: string): boolean {
  return /^(?:[kmgtp]b?|[кмгтп]б?)$/i.test(suffix);
}

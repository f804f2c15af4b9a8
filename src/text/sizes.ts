import { numberFormat } from './number-format.js';
import { narrow, type Whole } from './whole.js';

/** The units of a limit in bytes, each kind from the smallest to the largest. */
export const BYTES = {
  B: 1n,
  KiB: 1024n,
  MiB: 1024n ** 2n,
  GiB: 1024n ** 3n,
  TiB: 1024n ** 4n,
  PiB: 1024n ** 5n,
  EiB: 1024n ** 6n,
  KB: 1000n,
  MB: 1000n ** 2n,
  GB: 1000n ** 3n,
  TB: 1000n ** 4n,
  PB: 1000n ** 5n,
  EB: 1000n ** 6n,
} as const;
export type Unit = keyof typeof BYTES;
export const UNITS = Object.keys(BYTES) as readonly Unit[]; // The members of a constant.
/** The units that a form offers; the others can be typed. */
export const OFFERED_UNITS: readonly Unit[] = ['MB', 'GB', 'TB', 'MiB', 'GiB', 'TiB', 'B'];
const BINARY = UNITS.filter((unit) => /^B|i/.test(unit));
const DECIMAL = UNITS.filter((unit) => !/i/.test(unit));

const MAX_U64 = 2n ** 64n - 1n;
const RUSSIAN: Readonly<Record<string, string>> = { B: 'Б', K: 'К', M: 'М', G: 'Г', T: 'Т', P: 'П', E: 'Э', i: 'и' };

/** The unit's name in a language. */
export function unitName(unit: Unit, language: string): string {
  return language === 'ru' ? unit.replace(/./g, (letter) => RUSSIAN[letter] ?? letter) : unit;
}

/** Rounded for reading, such as `1.46 GiB`, or `1.57 GB` in decimal units; the exact bytes belong beside it. */
export function formatSize(bytes: Whole, language: string, decimalUnits = false): string {
  const [units, step] = decimalUnits ? [DECIMAL, 1000] : [BINARY, 1024];
  return inUnit(Number(bytes), powerOf(Number(bytes), units, step), units, step, language);
}

/** The same in the unit in which `other` is shown, for figures that stand below each other. */
export function formatSizeLike(other: number, bytes: number, language: string): string {
  return inUnit(bytes, powerOf(other, BINARY, 1024), BINARY, 1024, language);
}

/** The place of the largest unit that a size has one of. */
function powerOf(bytes: number, units: readonly Unit[], step: number): number {
  let power = 0;
  while (bytes / step ** power >= step - 0.005 && power < units.length - 1) power += 1;
  return power;
}

function inUnit(bytes: number, power: number, units: readonly Unit[], step: number, language: string): string {
  const value = bytes / step ** power;
  const digits = power === 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  const shown = numberFormat(language, { minimumFractionDigits: 0, maximumFractionDigits: digits }).format(value);
  return `${shown}\u00a0${unitName(units[power] ?? 'B', language)}`;
}

/** Every digit, grouped as the language does. */
export function formatExact(value: Whole, language: string): string {
  return numberFormat(language).format(value);
}

/** Digits behind the point that a form shows. */
const DIGITS = 3;

/**
 * A limit as the form shows it, exactly: in the wanted unit, or where it has too many digits there, in the one in which it is written
 * shortest, binary ones first, as people type it.
 */
export function splitLimit(bytes: Whole, wanted?: Unit): { readonly amount: string; readonly unit: Unit } {
  const value = BigInt(bytes);
  const ways = UNITS.toReversed().flatMap((unit) => {
    const scaled = value * 10n ** BigInt(DIGITS);
    if (value < BYTES[unit] || scaled % BYTES[unit] !== 0n) return [];
    return [{ amount: decimal(scaled / BYTES[unit]), unit }];
  });
  const binary = (unit: Unit) => (BINARY.includes(unit) ? 0 : 1);
  ways.sort((a, b) => a.amount.length - b.amount.length || binary(a.unit) - binary(b.unit));
  return ways.find(({ unit }) => unit === wanted) ?? ways[0] ?? { amount: value.toString(), unit: 'B' };
}

/** Characters of an amount that a list has room for. */
const LONGEST_AMOUNT = 6;

/** A limit in the unit in which it is whole, as it was typed: `10 GB`, `1.5 GiB`. One that no unit says briefly is rounded. */
export function formatLimit(bytes: Whole, language: string): string {
  const { amount, unit } = splitLimit(bytes);
  if (amount.length > LONGEST_AMOUNT) return formatSize(bytes, language);
  const point = language === 'ru' ? ',' : '.';
  return `${amount.replace('.', point)}\u00a0${unitName(unit, language)}`;
}

/** The unit in which a list shows a limit; `otherwise` where there is none, and for one in bytes or of too many digits. */
export function ownUnit(limit: Whole | null, otherwise: Unit): Unit {
  if (limit === null) return otherwise;
  const { amount, unit } = splitLimit(limit);
  return amount.length > LONGEST_AMOUNT || unit === 'B' ? otherwise : unit;
}

/** Returns true for a limit that is shown in decimal units, so that what is used of it is, too. */
export function isDecimal(limit: Whole): boolean {
  return !BINARY.includes(ownUnit(limit, 'B'));
}

/** Ten of a unit, in bytes. */
export function tenOf(unit: Unit): bigint {
  return 10n * BYTES[unit];
}

function decimal(thousandths: bigint): string {
  const text = thousandths.toString().padStart(DIGITS + 1, '0');
  return `${text.slice(0, -DIGITS)}.${text.slice(-DIGITS)}`.replace(/\.?0+$/, '');
}

/** Why a typed limit is refused; each has its sentence in the language tables. */
export type LimitProblem = 'notANumber' | 'negative' | 'tooLarge';

export type LimitReading =
  | {
      readonly ok: true;
      readonly bytes: Whole | null;
      /** The unit that was typed, else the chosen one. */
      readonly unit: Unit;
      readonly rounded: boolean;
    }
  | { readonly ok: false; readonly problem: LimitProblem };

const AMOUNT = /^(\d+(?:[\s_]+\d+)*)(?:[.,](\d+))?\s*([a-zа-я]*)$/iu;

/**
 * Reads a limit exactly. Empty means no limit. The text may name its own unit (`1.5 GiB`, `5 GB`, `ГиБ`), which wins over
 * the chosen one; `G` alone is `GiB`. A fraction of a byte is cut off.
 */
export function readLimit(typed: string, chosen: Unit): LimitReading {
  const trimmed = typed.trim();
  if (trimmed === '') return { ok: true, bytes: null, unit: chosen, rounded: false };
  if (/^[-\u2212]\s*\d/.test(trimmed)) return { ok: false, problem: 'negative' };
  const match = AMOUNT.exec(trimmed);
  if (match === null) return { ok: false, problem: 'notANumber' };
  const [, whole = '', fraction = '', suffix = ''] = match;
  const unit = suffix === '' ? chosen : unitOf(suffix);
  if (unit === null) return { ok: false, problem: 'notANumber' };
  const scale = 10n ** BigInt(fraction.length);
  const product = BigInt(whole.replace(/\D/g, '') + fraction) * BYTES[unit];
  const bytes = product / scale;
  if (bytes > MAX_U64) return { ok: false, problem: 'tooLarge' };
  return { ok: true, bytes: narrow(bytes), unit, rounded: product % scale !== 0n };
}

function unitOf(suffix: string): Unit | null {
  const wanted = suffix.length === 1 && !/[bб]/i.test(suffix) ? [`${suffix}ib`, `${suffix}иб`] : [suffix];
  const spelled = wanted.map((text) => text.toLowerCase());
  const names = (unit: Unit) => [unit, unitName(unit, 'ru')].map((text) => text.toLowerCase());
  return UNITS.find((unit) => names(unit).some((name) => spelled.includes(name))) ?? null;
}

/** Bytes below which a number without a unit was meant in another one. */
const LEAST_BARE = 1_000_000;

/** Returns true for an amount without a unit that nobody means in bytes; 0 is no traffic in any unit. */
export function lacksUnit(typed: string): boolean {
  const [, whole = '', fraction, suffix] = AMOUNT.exec(typed.trim()) ?? [];
  const amount = Number(`${whole.replace(/\D/g, '')}.${fraction ?? 0}`);
  return suffix === '' && amount > 0 && (fraction !== undefined || amount < LEAST_BARE);
}

import { narrow, type Whole } from './exact-json.js';

/** The units of a limit in bytes. The first six are the binary ones that sizes are shown in. */
const BYTES = {
  B: 1n,
  KiB: 1024n,
  MiB: 1024n ** 2n,
  GiB: 1024n ** 3n,
  TiB: 1024n ** 4n,
  PiB: 1024n ** 5n,
  KB: 1000n,
  MB: 1000n ** 2n,
  GB: 1000n ** 3n,
  TB: 1000n ** 4n,
  PB: 1000n ** 5n,
} as const;
export type Unit = keyof typeof BYTES;
export const UNITS = Object.keys(BYTES) as readonly Unit[]; // The members of a constant.
const BINARY = UNITS.slice(0, 6);

const MAX_U64 = 2n ** 64n - 1n;
const RUSSIAN: Readonly<Record<string, string>> = { B: 'Б', K: 'К', M: 'М', G: 'Г', T: 'Т', P: 'П', i: 'и' };

/** The unit's name in a language. */
export function unitName(unit: Unit, language: string): string {
  return language === 'ru' ? unit.replace(/./g, (letter) => RUSSIAN[letter] ?? letter) : unit;
}

/** Rounded for reading, such as `1.46 GiB`; the exact bytes belong beside it. */
export function formatSize(bytes: Whole, language: string): string {
  let value = Number(bytes);
  let power = 0;
  while (value >= 1023.995 && power < BINARY.length - 1) {
    value /= 1024;
    power += 1;
  }
  const digits = power === 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  const shown = new Intl.NumberFormat(language, { minimumFractionDigits: 0, maximumFractionDigits: digits }).format(
    value,
  );
  return `${shown}\u00a0${unitName(BINARY[power] ?? 'B', language)}`;
}

/** Every digit, grouped as the language does. */
export function formatExact(value: Whole, language: string): string {
  return new Intl.NumberFormat(language).format(value);
}

/** Digits behind the point that a form shows. */
const DIGITS = 3;

/** A limit as the form shows it, exactly: in the unit in which it is written shortest, binary ones first, as people type it. */
export function splitLimit(bytes: Whole): { readonly amount: string; readonly unit: Unit } {
  const value = BigInt(bytes);
  const ways = UNITS.toReversed().flatMap((unit) => {
    const scaled = value * 10n ** BigInt(DIGITS);
    if (value < BYTES[unit] || scaled % BYTES[unit] !== 0n) return [];
    return [{ amount: decimal(scaled / BYTES[unit]), unit }];
  });
  const binary = (unit: Unit) => (BINARY.includes(unit) ? 0 : 1);
  ways.sort((a, b) => a.amount.length - b.amount.length || binary(a.unit) - binary(b.unit));
  return ways[0] ?? { amount: value.toString(), unit: 'B' };
}

function decimal(thousandths: bigint): string {
  const text = thousandths.toString().padStart(DIGITS + 1, '0');
  return `${text.slice(0, -DIGITS)}.${text.slice(-DIGITS)}`.replace(/\.?0+$/, '');
}

/** Why a typed limit is none; each has its sentence in the language tables. */
export type LimitProblem = 'notANumber' | 'negative' | 'tooLarge';

export type LimitReading =
  | { readonly ok: true; readonly bytes: Whole | null; readonly rounded: boolean }
  | { readonly ok: false; readonly problem: LimitProblem };

const AMOUNT = /^(\d[\d\s_\u00a0\u202f]*)(?:[.,](\d+))?\s*([a-zа-я]*)$/iu;

/**
 * Reads a limit exactly. Empty means no limit. The text may name its own unit (`1.5 GiB`, `5 GB`, `ГиБ`), which wins over
 * the chosen one; `G` alone is `GiB`. A fraction of a byte is cut off.
 */
export function readLimit(typed: string, chosen: Unit): LimitReading {
  const trimmed = typed.trim();
  if (trimmed === '') return { ok: true, bytes: null, rounded: false };
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
  return { ok: true, bytes: narrow(bytes), rounded: product % scale !== 0n };
}

function unitOf(suffix: string): Unit | null {
  const wanted = suffix.length === 1 && !/[bб]/i.test(suffix) ? [`${suffix}ib`, `${suffix}иб`] : [suffix];
  const spelled = wanted.map((text) => text.toLowerCase());
  const names = (unit: Unit) => [unit, unitName(unit, 'ru')].map((text) => text.toLowerCase());
  return UNITS.find((unit) => names(unit).some((name) => spelled.includes(name))) ?? null;
}

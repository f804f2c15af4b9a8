import type { ClockPort } from '../core/ports.js';
import type { FlagReading } from '../settings/flags.js';

export const LATER_EXPECTED = 'a time from now such as 90d, 12h or 30m, or a day such as 2027-03-01';

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The time that a flag names, in milliseconds since the epoch; null where it is not given. */
export function laterTimeOf(reading: FlagReading, flag: string, clock: Pick<ClockPort, 'now'>): number | null {
  const text = reading.value(flag);
  if (text === null) return null;
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  const time = unit === '' ? dayOf(text) : clock.now() + Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(time)) reading.problems.push(`--${flag}: expected ${LATER_EXPECTED}`);
  return time;
}

const dayOf = (text: string): number => (/^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN);

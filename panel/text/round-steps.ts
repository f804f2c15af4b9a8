/** The marks of an axis from 0 on: every `step` up to `most`, the first mark that is not below the largest value. */
export interface Marks {
  readonly step: number;
  readonly most: number;
}

const STEPS = [1, 2, 5, 10];

/** Finds marks at 1, 2 or 5 · 10^n, in binary units (KiB, MiB …), three or more of them and at most six. */
export function sizeMarks(largest: number): Marks {
  const top = Math.max(largest, 4);
  let unit = 1;
  while (top >= unit * 1024) unit *= 1024;
  const value = top / unit / 4;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = (STEPS.find((one) => one * power >= value) ?? 10) * power * unit;
  return { step, most: Math.ceil(top / step) * step };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const TIME_STEPS = [
  ...[1, 2, 5, 10, 20, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 20, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
];

/** Finds the whole times between two, in milliseconds since the epoch: full hours, minutes or seconds of the reader's zone. */
export function timeMarks(from: number, to: number, most: number): readonly number[] {
  const step = TIME_STEPS.find((one) => (to - from) / one <= most) ?? 24 * HOUR;
  const zone = new Date(from).getTimezoneOffset() * MINUTE;
  const marks: number[] = [];
  for (let time = Math.ceil((from - zone) / step) * step + zone; time <= to; time += step) marks.push(time);
  return marks;
}

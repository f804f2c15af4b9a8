import type { LoadProcess, LoadRound } from './load-process.js';
import type { BenchServer } from './servers.js';
import { median } from './statistics.js';

/** A line of the table. */
export interface Row {
  readonly measure: string;
  /** What the gateway did, and what it is compared with, in words. */
  readonly gateway: string;
  readonly against: string;
  /** The ratio or value that the bar is about. */
  readonly value: string;
  readonly bar: string;
  /** Null for a line that only informs; `unsure` where the machine had no time to say. */
  readonly met: boolean | 'unsure' | null;
}

/** Something that the bench can measure by itself: `--only` names it. */
export interface Measure {
  readonly name: string;
  run(bench: Bench): Promise<readonly Row[]>;
}

/** What measures have to work with. Everything started through it is stopped after the measure. */
export interface Bench {
  /** Fewer and shorter rounds: to see that everything runs, not to compare. */
  readonly quick: boolean;
  readonly load: LoadProcess;
  /** A new configuration file with so many sample keys, in a folder of its own. */
  file(keys: number): Promise<string>;
  /** Has the server stopped at the end of the measure. */
  using<S extends BenchServer>(starting: Promise<S>): Promise<S>;
  /** Another load client beside `load`. */
  secondLoad(): Promise<LoadProcess>;
}

/** Two things measured in turns. */
export interface Pairs<R> {
  readonly gateway: readonly R[];
  readonly against: readonly R[];
}

/** Takes turns, each going first every other time, so that whatever else the machine does falls on both alike. */
export async function inTurns<R>(
  rounds: number,
  gateway: () => Promise<R>,
  against: () => Promise<R>,
): Promise<Pairs<R>> {
  const pairs: { gateway: R[]; against: R[] } = { gateway: [], against: [] };
  for (let round = 0; round < rounds; round += 1) {
    const isOdd = round % 2 === 1;
    if (isOdd) pairs.against.push(await against());
    pairs.gateway.push(await gateway());
    if (!isOdd) pairs.against.push(await against());
  }
  return pairs;
}

/** The median of the pairs' ratios. */
export function medianRatio<R>({ gateway, against }: Pairs<R>, ratio: (gateway: R, against: R) => number): number {
  return median(gateway.flatMap((one, i) => against.slice(i, i + 1).map((other) => ratio(one, other))));
}

/** Below this share of its core it was not the server that was measured, but who kept it waiting. */
const BUSY = 0.8;

/** The row of a comparison of rates. A ratio near 1 is also given by processor time, which others on the machine change less. */
export function rateRow(measure: string, pairs: Pairs<LoadRound>, bar: number): Row {
  const ratio = medianRatio(pairs, (gateway, against) => gateway.rate / against.rate);
  const byProcessor = median(pairs.against.map(processorTime)) / median(pairs.gateway.map(processorTime));
  return {
    measure,
    gateway: rateText(pairs.gateway),
    against: rateText(pairs.against),
    value: bar < 2 ? `${ratio.toFixed(3)} × (processor time: ${byProcessor.toFixed(3)} ×)` : `${ratio.toFixed(1)} ×`,
    bar: `≥ ${bar} ×`,
    met: verdict(pairs, ratio >= bar),
  };
}

/** Milliseconds of processor time for each answer. */
function processorTime({ busy, elapsed, answers }: LoadRound): number {
  return (busy * elapsed) / answers;
}

/** What was slowed by something else than itself proves nothing against, nor what it is compared with for, the gateway. */
function verdict({ gateway, against }: Pairs<LoadRound>, met: boolean): boolean | 'unsure' {
  return median((met ? against : gateway).map(({ busy }) => busy)) >= BUSY ? met : 'unsure';
}

/** A median rate and time, with a word when the server had time left. */
function rateText(rounds: readonly LoadRound[]): string {
  const rate = median(rounds.map((round) => round.rate));
  const busy = median(rounds.map((round) => round.busy));
  const time = median(rounds.map(({ p50 }) => p50));
  const idle = busy < BUSY ? `, server ${Math.round(busy * 100)} % busy` : '';
  return `${countText(rate)}/s (${timeText(time)}${idle})`;
}

export function countText(value: number): string {
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US');
}

/** Milliseconds as a text. */
export function timeText(milliseconds: number): string {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(2)} s`;
  return milliseconds >= 10 ? `${milliseconds.toFixed(0)} ms` : `${milliseconds.toFixed(2)} ms`;
}

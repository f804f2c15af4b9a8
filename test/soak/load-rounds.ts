import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from '../../bench/statistics.js';
import { createChooser } from '../homes/file/counters/store-story.js';
import { breaker, offender } from './load-abuse.js';
import { editor, replacer } from './load-edits.js';
import { createGate } from './load-gate.js';
import { flooder, guesser, halfCloser, patcher, resetter, unreader } from './load-hostile.js';
import type { Lane, Lanes } from './load-lane.js';
import { createLedger } from './load-ledger.js';
import { API_TOKEN, startLoadedServer } from './load-server.js';
import { aheadOfAnswers, aheadOfChanges, longLogins, pipeliner, SLOW_NETWORKS, slowBodies } from './load-strangers.js';
import { reader, reporter, slowReader, writer } from './load-traffic.js';

export interface LoadOptions {
  readonly folder: string;
  readonly seconds: number;
  readonly seed: number;
  /** Whether hostile clients come beside the load, each kind from addresses of its own. */
  readonly hostile?: boolean;
  /** Networks that slow bodies come from, with hostile clients. */
  readonly slowNetworks?: number;
  readonly onProgress?: (words: string) => void;
}

/** What the load has shown. */
export interface LoadSummary {
  readonly seconds: number;
  readonly answers: number;
  /** Answers of 500 and above, answers of another status than expected, broken connections: one sentence each. */
  readonly failures: readonly string[];
  /** Keys that are not as was acknowledged, in the file or over the API. */
  readonly lost: readonly string[];
  /** Milliseconds, by the kind of request. */
  readonly p99: Readonly<Record<string, number>>;
  /** Means of resident memory in the middle and in the last third of the time, and the most of it, in bytes. */
  readonly memory: { readonly middle: number; readonly last: number; readonly most: number };
  /** The exit code of the server, and what it said at level error. */
  readonly exitCode: number | null;
  readonly errors: readonly string[];
}

const KEYS = 10_000;
const HAND_KEYS = 20;
const REPORTERS = 8;
const MEMORY_EVERY = 500;

/** How many lanes of each kind there are, and how long each waits between two steps, in milliseconds on average. */
type Fleet = readonly (readonly [count: number, wait: number, create: (lanes: Lanes, number: number) => Lane])[];
const FLEET: Fleet = [
  [90, 80, reader],
  [30, 80, writer], // Two connections each: the API's and the feed's.
  [
    REPORTERS,
    200,
    (lanes, number) =>
      reporter(
        lanes,
        lanes.baseKeys.filter((_, i) => i % REPORTERS === number),
      ),
  ],
  [12, 500, slowReader],
  [12, 300, breaker],
  [16, 200, offender],
  [1, 1_500, editor],
  [1, 3_000, replacer],
];

const hostileFleet = (networks: number): Fleet => [
  [8, 20, flooder],
  [48, 3_000, unreader],
  [12, 50, guesser],
  [12, 100, halfCloser],
  [12, 100, resetter],
  [6, 50, pipeliner],
  [1, 5_000, patcher],
  [4, 5_000, aheadOfAnswers],
  [2, 5_000, aheadOfChanges],
  [networks, 1_000, slowBodies],
  [4, 100, longLogins],
];

/** Connections of the load that are open at once. */
export const CONNECTIONS = FLEET.reduce((sum, [count, , create]) => sum + count * (create === writer ? 2 : 1), 0);

/** Starts the real process, puts the load on it for so long, and compares what it holds with what it acknowledged. */
export async function runLoad({
  folder,
  seconds,
  seed,
  hostile = false,
  slowNetworks = SLOW_NETWORKS,
  onProgress,
}: LoadOptions): Promise<LoadSummary> {
  const baseKeys = Array.from({ length: KEYS - HAND_KEYS }, (_, index) => `base-${index}`);
  const handKeys = Array.from({ length: HAND_KEYS }, (_, index) => `hand-${index}`);
  const names = new Map([...handKeys, ...baseKeys].map((key) => [key, `${key} of the file`]));
  const server = await startLoadedServer(folder, names, hostile);
  const ledger = createLedger();
  for (const [key, name] of names) ledger.set(key, { name, limit: null, bytesUp: 0n });
  const tally = createTally((words) => onProgress?.(words));
  const choose = createChooser(seed);
  const lanes: Lanes = { server, hostile, ledger, gate: createGate(), choose, baseKeys, handKeys, ...tally };

  const end = performance.now() + seconds * 1000;
  const isOver = () => performance.now() >= end || server.running.child.exitCode !== null;
  async function repeat(lane: Lane, wait: number): Promise<void> {
    while (!isOver()) {
      await pause(choose(2 * wait));
      if (!isOver()) await lane.step();
    }
    lane.close();
  }
  const memory: number[] = [];
  async function watchMemory(): Promise<void> {
    for (let sample = 1; !isOver(); sample += 1) {
      await pause(MEMORY_EVERY);
      memory.push(await server.memory());
      if (sample % 60 === 0)
        onProgress?.(`${tally.answers()} answers, ${tally.failures.length} failures, ${megabytes(memory.at(-1) ?? 0)}`);
    }
  }
  const fleet = [...FLEET, ...(hostile ? hostileFleet(slowNetworks) : [])].flatMap(([count, wait, create]) =>
    Array.from({ length: count }, (_, number) => repeat(create(lanes, number), wait)),
  );
  await Promise.all([...fleet, watchMemory()]);

  const lost = await differencesAtLast(lanes);
  server.running.child.kill('SIGTERM');
  const { code } = await server.running.ended;
  const errors = server.running.log().flatMap(({ level, msg }) => (level === 'error' ? [String(msg)] : []));
  const { failures } = tally;
  const memoryOf = { middle: meanOf(memory, 1), last: meanOf(memory, 2), most: Math.max(0, ...memory) };
  return {
    seconds,
    answers: tally.answers(),
    failures,
    lost,
    p99: tally.p99(),
    memory: memoryOf,
    exitCode: code,
    errors,
  };
}

/** What has failed is said at once: a run that is stopped early has no summary. */
function createTally(say: (words: string) => void) {
  const took = new Map<string, number[]>();
  const failures: string[] = [];
  return {
    failures,
    failed(words: string): void {
      failures.push(words);
      say(`failed: ${words}`);
    },
    measured(kind: string, milliseconds: number): void {
      const times = took.get(kind) ?? [];
      took.set(kind, times);
      times.push(milliseconds);
    },
    answers: () => [...took.values()].reduce((sum, times) => sum + times.length, 0),
    p99: () => Object.fromEntries([...took].map(([kind, times]) => [kind, quantile(times, 0.99)])),
  };
}

/** An edit by hand is live within a second, and what the feed reported shows in the list after 200 ms. */
const TIME_TO_SETTLE = 10_000;

async function differencesAtLast({ server, ledger }: Lanes): Promise<readonly string[]> {
  const end = performance.now() + TIME_TO_SETTLE;
  while (true) {
    const response = await fetch(`${server.api}/panel/api/users`, { headers: { authorization: API_TOKEN } });
    const list = Buffer.from(await response.arrayBuffer());
    const differences = ledger.differences(list, await readFile(server.file));
    if (differences.length === 0 || performance.now() > end) return differences;
    await pause(250);
  }
}

/** The mean of one third of the values. */
function meanOf(values: readonly number[], third: 1 | 2): number {
  const part = values.slice(Math.floor((values.length * third) / 3), Math.floor((values.length * (third + 1)) / 3));
  return part.reduce((sum, value) => sum + value, 0) / Math.max(1, part.length);
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;

/** How much memory grew from the middle third to the last, as a share. */
export function growth({ memory }: LoadSummary): number {
  return memory.middle === 0 ? 0 : memory.last / memory.middle - 1;
}

export function summaryText(summary: LoadSummary): string {
  const { seconds, answers, failures, lost, p99, memory, exitCode, errors } = summary;
  const times = Object.entries(p99).map(([kind, milliseconds]) => `${kind} ${milliseconds.toFixed(0)} ms`);
  return [
    `${seconds} s, ${CONNECTIONS} connections, ${KEYS} keys: ${answers} answers, ${failures.length} failures, ${lost.length} lost`,
    `${errors.length} errors logged, exit code ${exitCode}`,
    `p99 ${times.join(', ')}`,
    `memory ${megabytes(memory.middle)} in the middle third, ${megabytes(memory.last)} in the last (${(growth(summary) * 100).toFixed(1)} %), ${megabytes(memory.most)} at most`,
  ].join('; ');
}

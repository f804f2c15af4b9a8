import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ShadowReport } from '../src/shadow/tally.js';
import type { LoadRound } from './load-process.js';
import { type Bench, type Measure, type Row, timeText } from './measure.js';
import { mainThreadMilliseconds, residentBytes } from './process-figures.js';
import { getStatus, getUsers, listUsers, setLimits } from './requests.js';
import { TOKEN } from './sample-keys.js';
import { type BenchServer, startCommand, startPlainProxy, startRelay, startUpstream } from './servers.js';
import { median } from './statistics.js';

const KEYS = 1_000;
const MANY = 100_000;
/** 500 requests a second: each of so many connections sends one so often, ms. */
const CONNECTIONS = 10;
const EVERY = 20;
/** Milliseconds between two looks at a report. */
const LOOK_EVERY = 100;
/** Milliseconds after which a shadow has compared what a round has left to it, and reported it. */
const SETTLED = 1_000;

const KINDS = ['off', 'on', 'hung'] as const;
type Kind = (typeof KINDS)[number];

export const shadow: Measure = {
  name: 'shadow',
  async run(bench) {
    // One that keeps nothing: how long a file takes would be most of p99.
    const target = await bench.using(startUpstream(KEYS));
    const hung = createServer(() => undefined);
    await new Promise<void>((resolve) => hung.listen(0, '127.0.0.1', resolve));
    const address = hung.address();
    const hungAt = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    try {
      const reports = join(tmpdir(), `keyway-bench-shadow-${process.pid}`);
      const flags = ['shadow', '--target', `http://127.0.0.1:${target.port}/panel`, '--token', TOKEN, '--report'];
      const relay = (args: readonly string[]) => bench.using(startRelay([...flags, ...args]));
      const servers = {
        off: await bench.using(startPlainProxy(target.port)),
        on: await relay([`${reports}-on.json`, '--to', 'current']),
        hung: await relay([`${reports}-hung.json`, '--shadow', hungAt, '--shadow-token', 'x']),
      };
      await untilBegun(`${reports}-on.json`);
      const rounds = await takeTurns(bench, servers);
      return [
        ...latencyRows('with an embedded core', rounds.on, rounds.off),
        ...latencyRows('with a shadow that hangs', rounds.hung, rounds.off),
        await droppedRow(`${reports}-on.json`),
        memoryRow('with an embedded core', servers.on, 200),
        await memoryOfMany(bench, `${reports}-many.json`),
      ];
    } finally {
      hung.close();
    }
  },
};

/** Resolves when the report names a shadow. */
async function untilBegun(report: string): Promise<void> {
  const hasBegun = async () => JSON.parse(await readFile(report, 'utf8')).shadow !== null;
  while (!(await hasBegun().catch(() => false))) await sleep(LOOK_EVERY);
}

interface Round extends LoadRound {
  /** Processor time of the thread that answers, for each answer, in microseconds. */
  readonly answering: number;
}

/** Puts the load on each in turn, in another order each time, after as many uncounted requests on each: V8 compiles by use. */
async function takeTurns(bench: Bench, servers: Record<Kind, BenchServer>): Promise<Record<Kind, readonly Round[]>> {
  const requests = [...getUsers(KEYS).slice(0, 80), ...setLimits(KEYS).slice(0, 10), ...getStatus];
  const order = { connections: CONNECTIONS, requests, every: EVERY };
  const [warm, cycles, milliseconds] = bench.quick ? [600, 5, 2_000] : [1_500, 15, 3_000];
  for (const kind of KINDS) await bench.load.put(servers[kind], { ...order, until: { each: warm } });
  const rounds: Record<Kind, Round[]> = { off: [], on: [], hung: [] };
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const first = cycle % KINDS.length;
    for (const kind of [...KINDS.slice(first), ...KINDS.slice(0, first)]) {
      await sleep(SETTLED);
      const { pid } = servers[kind].child;
      const before = mainThreadMilliseconds(pid);
      const round = await bench.load.put(servers[kind], { ...order, until: { milliseconds } });
      const answering = ((mainThreadMilliseconds(pid) - before) * 1_000) / round.answers;
      rounds[kind].push({ ...round, answering });
    }
  }
  await sleep(SETTLED);
  return rounds;
}

function latencyRows(how: string, shadowed: readonly Round[], off: readonly Round[]): readonly Row[] {
  const figures = (name: 'p50' | 'p99' | 'answering') => {
    const [one, other] = [shadowed, off].map((rounds) => median(rounds.map((each) => each[name])));
    const ratio = median(shadowed.map((each, index) => each[name] / (off[index]?.[name] ?? Number.NaN)));
    return { one: one ?? 0, other: other ?? 0, ratio };
  };
  const row = (name: 'p50' | 'p99', most: number, spare: number): Row => {
    const { one, other, ratio } = figures(name);
    return {
      measure: `500 requests a second through keyway shadow ${how}: ${name} against its proxy without a shadow`,
      gateway: timeText(one),
      against: timeText(other),
      value: `${ratio.toFixed(3)} ×`,
      bar: `≤ ${most} ×${spare > 0 ? ` or ${spare} ms more` : ''}`,
      met: ratio <= most || one - other <= spare,
    };
  };
  const { one, other, ratio } = figures('answering');
  const answering: Row = {
    measure: 'the same: processor time of the thread that answers, for each request',
    gateway: `${one.toFixed(0)} µs`,
    against: `${other.toFixed(0)} µs`,
    value: `${ratio.toFixed(3)} ×`,
    bar: '',
    met: null,
  };
  return [row('p50', 1.05, 0), row('p99', 1.1, 1), answering];
}

/** The requests that an embedded core was not given for want of room, of all. */
async function droppedRow(path: string): Promise<Row> {
  const report: ShadowReport = JSON.parse(await readFile(path, 'utf8'));
  const dropped = report.rows.reduce((sum, { leftOut }) => sum + (leftOut['the queue is full'] ?? 0), 0);
  return {
    measure: 'with an embedded core: requests that were dropped',
    gateway: `${report.compared} of ${report.requests} compared`,
    against: '',
    value: String(dropped),
    bar: '0',
    met: dropped === 0,
  };
}

/** A shadow of so many keys, while clients read and change them, lists among it. */
async function memoryOfMany(bench: Bench, report: string): Promise<Row> {
  const target = await bench.using(startCommand(await bench.file(MANY)));
  const flags = ['--target', `http://127.0.0.1:${target.port}/panel`, '--token', TOKEN, '--to', 'current'];
  const server = await bench.using(startRelay(['shadow', ...flags, '--report', report]));
  await untilBegun(report);
  const requests = [...getUsers(MANY).slice(0, 80), ...setLimits(MANY).slice(0, 10), ...getStatus, ...listUsers];
  const until = { milliseconds: bench.quick ? 4_000 : 40_000 };
  await bench.load.put(server, { connections: 1, requests, until, every: EVERY });
  return memoryRow('keyway shadow of 100,000 keys', server, 400);
}

function memoryRow(measure: string, { child }: BenchServer, most: number): Row {
  const mb = residentBytes(child.pid, 'highest') / 1e6;
  return {
    measure: `${measure}: resident at its highest`,
    gateway: 'keyway shadow',
    against: '',
    value: `${mb.toFixed(0)} MB`,
    bar: `≤ ${most} MB`,
    met: mb <= most,
  };
}

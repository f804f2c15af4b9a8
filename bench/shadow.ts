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
import {
  type BenchServer,
  startCommand,
  startIdleWork,
  startPlainProxy,
  startRelay,
  startUpstream,
} from './servers.js';
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

const KINDS = ['off', 'on', 'hung', 'busy'] as const;
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
        busy: await bench.using(startPlainProxy(target.port)),
        on: await relay([`${reports}-on.json`, '--to', 'current']),
        hung: await relay([`${reports}-hung.json`, '--shadow', hungAt, '--shadow-token', 'x']),
      };
      await untilBegun(`${reports}-on.json`);
      const rounds = await takeTurns(bench, servers, await bench.using(startIdleWork()));
      return [
        ...latencyRows('with an embedded core', rounds.on, rounds.off),
        ...latencyRows('with a shadow that hangs', rounds.hung, rounds.off),
        ...busyRows(rounds.busy, rounds.off),
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

/**
 * Puts the load on each in turn, in another order each time, after as many uncounted requests on each: V8 compiles by use. Beside
 * the busy one another program computes for as long as all threads but the answering one did with an embedded core.
 */
async function takeTurns(
  bench: Bench,
  servers: Record<Kind, BenchServer>,
  work: BenchServer,
): Promise<Record<Kind, readonly Round[]>> {
  const requests = [...getUsers(KEYS).slice(0, 80), ...setLimits(KEYS).slice(0, 10), ...getStatus];
  const order = { connections: CONNECTIONS, requests, every: EVERY };
  const [warm, cycles, milliseconds] = bench.quick ? [600, 5, 2_000] : [1_500, 15, 3_000];
  for (const kind of KINDS) await bench.load.put(servers[kind], { ...order, until: { each: warm } });
  const rounds: Record<Kind, Round[]> = { off: [], on: [], hung: [], busy: [] };
  let share = 0;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const first = cycle % KINDS.length;
    for (const kind of [...KINDS.slice(first), ...KINDS.slice(0, first)]) {
      await sleep(SETTLED);
      await work.child.ask({ share: kind === 'busy' ? share : 0 });
      const { pid } = servers[kind].child;
      const before = mainThreadMilliseconds(pid);
      const round = await bench.load.put(servers[kind], { ...order, until: { milliseconds } });
      const answering = mainThreadMilliseconds(pid) - before;
      if (kind === 'on') share = round.busy - answering / round.elapsed;
      rounds[kind].push({ ...round, answering: (answering * 1_000) / round.answers });
    }
  }
  await work.child.ask({ share: 0 });
  await sleep(SETTLED);
  return rounds;
}

type Figure = 'p50' | 'p99' | 'answering';

/** Both medians, and that of the rounds' ratios. */
function against(name: Figure, rounds: readonly Round[], off: readonly Round[]) {
  const [one = 0, other = 0] = [rounds, off].map((each) => median(each.map((round) => round[name])));
  return { one, other, ratio: median(rounds.map((each, index) => each[name] / (off[index]?.[name] ?? Number.NaN))) };
}

function latencyRow(measure: string, name: Figure, rounds: readonly Round[], off: readonly Round[]): Row {
  const { one, other, ratio } = against(name, rounds, off);
  const text = (value: number) => (name === 'answering' ? `${value.toFixed(0)} µs` : timeText(value));
  return { measure, gateway: text(one), against: text(other), value: `${ratio.toFixed(3)} ×`, bar: '', met: null };
}

function latencyRows(how: string, shadowed: readonly Round[], off: readonly Round[]): readonly Row[] {
  const row = (name: Figure, most: number, spare: number): Row => {
    const { one, other, ratio } = against(name, shadowed, off);
    const measure = `500 requests a second through keyway shadow ${how}: ${name} against its proxy without a shadow`;
    return {
      ...latencyRow(measure, name, shadowed, off),
      bar: `≤ ${most} ×${spare > 0 ? ` or ${spare} ms more` : ''}`,
      met: ratio <= most || one - other <= spare,
    };
  };
  const answering = 'the same: processor time of the thread that answers, for each request';
  return [row('p50', 1.05, 0), row('p99', 1.1, 1), latencyRow(answering, 'answering', shadowed, off)];
}

/** What it costs clients that anything at all computes for as long as a shadow does. */
function busyRows(busy: readonly Round[], off: readonly Round[]): readonly Row[] {
  const measure = 'through that proxy, beside another program that computes as long at that priority';
  return (['p50', 'p99'] as const).map((name) => latencyRow(`${measure}: ${name}`, name, busy, off));
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

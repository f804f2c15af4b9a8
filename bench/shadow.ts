import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bench, inTurns, type Measure, medianRatio, type Row, timeText } from './measure.js';
import { residentBytes } from './process-figures.js';
import { getStatus, getUsers, listUsers, setLimits } from './requests.js';
import { TOKEN } from './sample-keys.js';
import { type BenchServer, startCommand, startRelay } from './servers.js';
import { median } from './statistics.js';

const KEYS = 1_000;
const MANY = 100_000;
/** 500 requests a second: each of so many connections sends one so often, ms. */
const CONNECTIONS = 10;
const EVERY = 20;
/** Milliseconds between two looks whether a shadow has begun. */
const LOOK_EVERY = 100;

export const shadow: Measure = {
  name: 'shadow',
  async run(bench) {
    const target = await bench.using(startCommand(await bench.file(KEYS)));
    const hung = createServer(() => undefined);
    await new Promise<void>((resolve) => hung.listen(0, '127.0.0.1', resolve));
    const address = hung.address();
    const hungAt = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    try {
      const common = ['--target', `http://127.0.0.1:${target.port}/panel`];
      const folder = join(tmpdir(), `keyway-bench-shadow-${process.pid}`);
      const shadowed = ['shadow', ...common, '--token', TOKEN, '--report'];
      const relay = (args: readonly string[]) => bench.using(startRelay(args));
      const off = await relay(['record', ...common, '--revision', 'current', '--out', folder]);
      const on = await relay([...shadowed, `${folder}-on.json`, '--to', 'current']);
      const without = await relay([...shadowed, `${folder}-hung.json`, '--shadow', hungAt, '--shadow-token', 'x']);
      await untilBegun(`${folder}-on.json`);
      return [
        ...(await compared(bench, 'with an embedded core', on, off)),
        ...(await compared(bench, 'with a shadow that hangs', without, off)),
        memoryRow('the same', on, 200),
        await memoryOfMany(bench, `${folder}-many.json`),
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

async function compared(bench: Bench, how: string, server: BenchServer, off: BenchServer): Promise<readonly Row[]> {
  const requests = [...getUsers(KEYS).slice(0, 80), ...setLimits(KEYS).slice(0, 10), ...getStatus];
  const until = { milliseconds: bench.quick ? 2_000 : 6_000 };
  const turn = (each: BenchServer) => () =>
    bench.load.put(each, { connections: CONNECTIONS, requests, until, every: EVERY });
  const pairs = await inTurns(bench.quick ? 2 : 7, turn(server), turn(off));
  const row = (name: 'p50' | 'p99', most: number, spare: number): Row => {
    const [one, other] = [
      median(pairs.gateway.map((each) => each[name])),
      median(pairs.against.map((each) => each[name])),
    ];
    const ratio = medianRatio(pairs, (gateway, against) => gateway[name] / against[name]);
    return {
      measure: `500 requests a second through keyway shadow ${how}: ${name} against keyway record`,
      gateway: timeText(one),
      against: timeText(other),
      value: `${ratio.toFixed(3)} ×`,
      bar: `≤ ${most} ×${spare > 0 ? ` or ${spare} ms more` : ''}`,
      met: ratio <= most || one - other <= spare,
    };
  };
  return [row('p50', 1.05, 0), row('p99', 1.1, 1)];
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

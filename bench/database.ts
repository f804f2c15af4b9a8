import { execFile } from 'node:child_process';
import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openDatabaseBackend } from '../src/homes/database/backend.js';
import { systemClock, systemRandom } from '../src/platform/system-ports.js';
import { reports } from './feed.js';
import type { LoadOrder } from './load.js';
import type { LoadRound } from './load-process.js';
import { type Bench, countText, inTurns, type Measure, type Row, rateRow, timeText } from './measure.js';
import { type Postgres, postgresBinaries, startPostgres } from './postgres.js';
import { processorSeconds, residentBytes } from './process-figures.js';
import { createUser, getStatus, getUsers, listUsers } from './requests.js';
import { TOKEN } from './sample-keys.js';
import { type BenchServer, freePort, startCommand, startOverDatabase } from './servers.js';
import { median, quantile } from './statistics.js';

const KEYS = 100_000;

/** A measure over a PostgreSQL of its own that holds so many keys. */
function overDatabase(
  name: string,
  keys: number,
  measure: (bench: Bench, postgres: Postgres) => Promise<readonly Row[]>,
): Measure {
  return {
    name,
    async run(bench) {
      const binaries = await postgresBinaries();
      if (binaries === null) throw new Error('npm has no PostgreSQL for this platform');
      const postgres = await startPostgres(binaries);
      try {
        const file = await bench.file(keys);
        const log = { debug() {}, info() {}, warn() {}, error() {} };
        const backend = await openDatabaseBackend({
          url: postgres.url(),
          clock: systemClock,
          random: systemRandom,
          log,
        });
        await backend.document.put(await buffer(createReadStream(file))).finally(backend.close);
        return await measure(bench, postgres);
      } finally {
        await postgres.remove();
      }
    },
  };
}

const reads = overDatabase('database-reads', KEYS, async (bench, postgres) => {
  const [length, rounds, starts] = bench.quick ? [700, 3, 1] : [700, 7, 3];
  // Two processes of the same program may differ by some percent for as long as they live: several are started of each.
  const servers: { readonly shared: BenchServer; readonly own: BenchServer }[] = [];
  for (let start = 0; start < starts; start += 1) {
    const shared = await bench.using(startOverDatabase(postgres.url()));
    servers.push({ shared, own: await bench.using(startCommand(await bench.file(KEYS))) });
  }
  const rows: Row[] = [];
  for (const [words, requests] of [
    ['GET /server/status', getStatus],
    ['GET /users/{key}', getUsers(KEYS)],
    ['GET /users', listUsers],
  ] as const) {
    const turn = (server: BenchServer) => () =>
      bench.load.put(server, { connections: 4, requests, until: { milliseconds: length } });
    const pairs: { gateway: LoadRound[]; against: LoadRound[] } = { gateway: [], against: [] };
    for (const { shared, own } of servers) {
      await inTurns(1, turn(shared), turn(own));
      const { gateway, against } = await inTurns(rounds, turn(shared), turn(own));
      pairs.gateway.push(...gateway);
      pairs.against.push(...against);
    }
    rows.push(rateRow(`${words} at 100k keys over PostgreSQL against the file`, pairs, 0.95));
  }
  return rows;
});

/** Entries a second, and of a report. */
const FED = 40_000;
const ENTRIES = 1_000;
const CONNECTIONS = 16;
const FEED_FLAGS = ['--feed-token', TOKEN];

const writes = overDatabase('database-writes', KEYS, async (bench, postgres) => {
  const server = await bench.using(startOverDatabase(postgres.url()));
  const one = () => bench.load.put(server, { connections: 1, requests: createUser, until: { each: 100 } });
  const many = () => bench.load.put(server, { connections: 64, requests: createUser, until: { each: 1 } });
  await one();
  const single = (await one()).p50;
  await many();
  const together = median([(await many()).elapsed, (await many()).elapsed, (await many()).elapsed]);
  return [
    row('one POST /users at 100k keys over PostgreSQL, median', timeText(single), '≤ 10 ms', single <= 10),
    row('64 concurrent POST /users, until all are answered', timeText(together), '≤ 200 ms', together <= 200),
  ];
});

const feed = overDatabase('database-feed', KEYS, async (bench, postgres) => {
  const feedPort = await freePort();
  const flags = ['--feed-bind', `127.0.0.1:${feedPort}`, ...FEED_FLAGS];
  const fed = await bench.using(startOverDatabase(postgres.url(), flags, null));
  const other = await bench.using(startOverDatabase(postgres.url(), [], null));
  const second = await bench.secondLoad();
  const milliseconds = bench.quick ? 3_000 : 10_000;
  const requests = reports(KEYS, 100, 'durable');
  const door = { port: feedPort, child: fed.child };
  const report = (order: Pick<LoadOrder, 'until' | 'every'>) =>
    bench.load.put(door, { connections: CONNECTIONS, requests, ...order });
  await report({ until: { milliseconds: 2_000 } });
  const until = { milliseconds };
  const rate = (await report({ until })).rate * ENTRIES;
  // A little more: at the beginning and at the end not all of them report.
  const every = (CONNECTIONS * ENTRIES * 1000) / (FED * 1.08);
  const [paced, created] = await Promise.all([
    report({ until, every }),
    second.put(other, { connections: 1, requests: createUser, until }),
  ]);
  const beside = paced.rate * ENTRIES;
  return [
    row(
      'usage entries a second, durable, reports of 1,000',
      `${countText(rate)}/s`,
      `≥ ${countText(FED)}/s`,
      rate >= FED,
    ),
    row(
      `creates at another gateway beside ${countText(beside)} entries a second, p99`,
      timeText(created.p99),
      '≤ 50 ms',
      beside >= FED ? created.p99 <= 50 : 'unsure',
    ),
  ];
});

const seen = overDatabase('database-seen', 1000, async (bench, postgres) => {
  const rows: Row[] = [];
  for (const [words, flags, bar] of [
    ['with NOTIFY', [], 300],
    // Nobody listens there.
    ['without', ['--database-listen-url', 'postgres://127.0.0.1:9/none'], 1_200],
  ] as const) {
    const one = await bench.using(startOverDatabase(postgres.url()));
    const other = await bench.using(startOverDatabase(postgres.url(), flags));
    await sleep(1000);
    const times: number[] = [];
    for (let n = 0; n < (bench.quick ? 20 : 100); n += 1) {
      const name = `seen-${words.length}-${n}`;
      await ask(one, 'POST', '/users', { access_key: name });
      const began = performance.now();
      // A list asks nobody; a single read would look the key up.
      while (!(await (await ask(other, 'GET', '/users')).text()).includes(`"${name}"`)) await sleep(5);
      times.push(performance.now() - began);
      await sleep(Math.random() * 200);
    }
    const p99 = quantile(times, 0.99);
    rows.push(row(`a change seen by another gateway, p99, ${words}`, timeText(p99), `≤ ${bar} ms`, p99 <= bar));
  }
  return rows;
});

const start = overDatabase('database-start-100k', 100_000, async (bench, postgres) => {
  const server = await bench.using(startOverDatabase(postgres.url()));
  const resident = residentBytes(server.child.pid, 'highest');
  return [
    row(
      'start with 100k keys in PostgreSQL to first answer',
      timeText(server.firstAnswer),
      '≤ 5 s',
      server.firstAnswer <= 5_000,
    ),
    row(
      'the same: resident at its highest',
      `${(resident / 2 ** 20).toFixed(0)} MiB`,
      '≤ 300 MiB',
      resident <= 300 * 2 ** 20,
    ),
  ];
});

/** The longest answer of another client beside the first read of the configuration, and beside a replacement of every key's limit. */
const configuration = overDatabase('database-config', 200_000, async (bench, postgres) => {
  const server = await bench.using(startOverDatabase(postgres.url()));
  const until = { milliseconds: bench.quick ? 5_000 : 10_000 };
  const status = (): Promise<LoadRound> => bench.load.put(server, { connections: 1, requests: getStatus, until });
  await status();
  const alone = await status();
  const besides = async (what: string, work: Promise<unknown>): Promise<Row> => {
    const began = performance.now();
    const ended = work.then(() => performance.now() - began);
    for (let slowest = 0; ; ) {
      slowest = Math.max(slowest, (await status()).slowest);
      const took = await Promise.race([ended, null]);
      if (took === null) continue;
      const words = `longest GET /server/status beside ${what} of 200k keys (${timeText(took)})`;
      const more = slowest - alone.slowest;
      return {
        ...row(words, timeText(slowest), '≤ 100 ms more', more <= 100),
        against: `without it: ${timeText(alone.slowest)}`,
      };
    }
  };
  const read = await besides('the first GET /server/config', readConfiguration(server));
  const { access_keys: keys, ...others } = JSON.parse(await readFile(await bench.file(200_000), 'utf8')) as {
    readonly access_keys: readonly object[];
  };
  const limited = { ...others, access_keys: keys.map((key) => ({ ...key, limit_bytes: 1 })) };
  return [read, await besides('a PUT /server/config', ask(server, 'PUT', '/server/config', limited))];
});

const large = overDatabase('database-large', 100_000, async (bench, postgres) => {
  const server = await bench.using(startOverDatabase(postgres.url()));
  await readConfiguration(server);
  const read = residentBytes(server.child.pid, 'highest');
  const file = await bench.file(100_000);
  const flags = ['--replace', '--config', file, '--data-dir', `${file}.data`, '--database', postgres.url()];
  const imported = await highestOf(['database', 'import', ...flags]);
  return [
    row('100k keys: resident at its highest once GET /server/config was answered', ...mebibytes(read)),
    row('database import --replace of 100k keys over as many: resident at its highest', ...mebibytes(imported)),
  ];
});

const mebibytes = (bytes: number) =>
  [`${(bytes / 2 ** 20).toFixed(0)} MiB`, '≤ 300 MiB', bytes <= 300 * 2 ** 20] as const;

async function readConfiguration(server: BenchServer): Promise<void> {
  await (await ask(server, 'GET', '/server/config')).arrayBuffer();
}

/** Runs a command of Keyway to its end; resolves to the resident bytes that it had at its highest. Rejects where it fails. */
async function highestOf(args: readonly string[]): Promise<number> {
  const cli = fileURLToPath(new URL('../src/cli.js', import.meta.url));
  const running = promisify(execFile)(process.execPath, [cli, ...args]);
  let highest = 0;
  const timer = setInterval(() => {
    try {
      highest = residentBytes(running.child.pid ?? 0, 'highest');
    } catch {
      clearInterval(timer); // It has ended.
    }
  }, 20);
  await running.finally(() => clearInterval(timer));
  return highest;
}

const idle = overDatabase('database-idle', KEYS, async (bench, postgres) => {
  for (let n = 0; n < 3; n += 1) await bench.using(startOverDatabase(postgres.url()));
  await sleep(3_000);
  const [before, began] = [processorOfAll(postgres.pid()), performance.now()];
  await sleep(bench.quick ? 5_000 : 30_000);
  const share = (processorOfAll(postgres.pid()) - before) / ((performance.now() - began) / 1000);
  return [
    row(
      "PostgreSQL's processor with 3 idle gateways",
      `${(share * 100).toFixed(2)} %`,
      '≤ 2 % of a core',
      share <= 0.02,
    ),
  ];
});

/** What another gateway's writes wait for where one stands still in the middle of its own, against both running. */
const stand = overDatabase('database-stand', 10_000, async (bench, postgres) => {
  const start = async () => {
    const port = await freePort();
    const api = await bench.using(
      startOverDatabase(postgres.url(), ['--feed-bind', `127.0.0.1:${port}`, ...FEED_FLAGS]),
    );
    return { api, feed: { port, child: api.child } };
  };
  const [standing, other] = [await start(), await start()];
  const [creates, counts, otherCounts] = [await bench.secondLoad(), await bench.secondLoad(), await bench.secondLoad()];
  const [milliseconds, rounds] = bench.quick ? [4_000, 1] : [15_000, 3];
  const until = { milliseconds };
  const usage = reports(10_000, 10, 'durable');
  const round = (stands: boolean) => async () => {
    const [created, counted] = await Promise.all([
      bench.load.put(other.api, { connections: 1, requests: createUser, until }),
      otherCounts.put(other.feed, { connections: 1, requests: usage, until }),
      creates.put(standing.api, { connections: 4, requests: createUser, until }),
      counts.put(standing.feed, { connections: 2, requests: usage, until }),
      stands ? standAgainAndAgain(standing.api.child.pid, milliseconds) : undefined,
    ]);
    return [created.slowest, counted.slowest] as const;
  };
  await round(false)();
  const pairs = await inTurns(rounds, round(true), round(false));
  return ['create', 'durable report of 1,000'].map((words, at) => {
    const [beside, alone] = [pairs.gateway, pairs.against].map((all) => Math.max(...all.map((one) => one[at] ?? 0)));
    const more = (beside ?? 0) - (alone ?? 0);
    return {
      ...row(`longest ${words} while another gateway stands`, `${timeText(beside ?? 0)}`, '≤ 100 ms more', more <= 100),
      against: `while it runs: ${timeText(alone ?? 0)}`,
    };
  });
});

/** SIGSTOPs a process at random moments, for one to three seconds each, until so much time has passed. */
async function standAgainAndAgain(pid: number, milliseconds: number): Promise<void> {
  for (const end = performance.now() + milliseconds; performance.now() < end; ) {
    await sleep(Math.random() * 500);
    process.kill(pid, 'SIGSTOP');
    try {
      await sleep(1_000 + Math.random() * 2_000);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }
}

export const databaseMeasures: readonly Measure[] = [
  reads,
  writes,
  feed,
  seen,
  start,
  configuration,
  large,
  idle,
  stand,
];

function row(measure: string, value: string, bar: string, met: Row['met']): Row {
  return { measure, gateway: 'keyway serve --database', against: '', value, bar, met };
}

async function ask({ port }: BenchServer, method: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${port}/panel/api${path}`;
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(`${method} ${path} is answered ${answer.status}`);
  return answer;
}

/** Of a process and those that it has started, in seconds. */
function processorOfAll(pid: number): number {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(Number(name)) === pid);
  return [pid, ...children.map(Number)].reduce((sum, one) => sum + processorSeconds(one), 0);
}

function parentOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0; // It has ended meanwhile.
  }
}

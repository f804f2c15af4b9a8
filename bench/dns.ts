/**
 * What the resolver must reach: 300,000 blocked names, look-ups, refreshes and answers a second. Runs alone too:
 * `node dist/bench/dns.js [--quick]`.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Child, SERVER_CORE, startChild } from './child.js';
import { loadDns } from './dns-load.js';
import { blockedName, freeName, listText } from './dns-names.js';
import type { RefreshFigures } from './dns-server.js';
import type { SetFigures } from './dns-set.js';
import { countText, type Measure, type Row, timeText } from './measure.js';
import { processorSeconds } from './process-figures.js';
import { tableText } from './table.js';

const NAMES = 300_000;
const OUTSTANDING = 200;
const MB = 1e6;

/** Measures everything of the resolver; with `quick` only for a moment each. */
export async function run({ quick = false } = {}): Promise<readonly Row[]> {
  return [...(await measureSet()), ...(await measureServer(quick))];
}

export const dns: Measure = { name: 'dns', run };

function row(measure: string, value: string, bar: string, met: boolean, against = ''): Row {
  return { measure, gateway: 'embedded resolver', against, value, bar, met };
}

async function measureSet(): Promise<readonly Row[]> {
  const child = startChild(new URL('./dns-set.js', import.meta.url), [], SERVER_CORE);
  try {
    const figures = setFigures(await child.hear());
    const { resident, lookUpsPerSecond, pauseMs, loadMs } = figures;
    return [
      row('300,000 blocked names: resident', `${(resident / MB).toFixed(0)} MB`, '≤ 60 MB', resident <= 60 * MB),
      row(
        'the same: look-ups, for a second of one core',
        `${countText(lookUpsPerSecond)}/s`,
        '≥ 500,000/s',
        lookUpsPerSecond >= 500_000,
      ),
      row(
        'the same: longest pause while they load',
        timeText(pauseMs),
        '≤ 50 ms',
        pauseMs <= 50,
        `${timeText(loadMs)} in all`,
      ),
    ];
  } finally {
    await child.stop();
  }
}

async function measureServer(quick: boolean): Promise<readonly Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-dns-bench-'));
  const upstream = await startUpstream();
  const list = join(folder, 'list.txt');
  await writeFile(list, listText(NAMES));
  const server = startChild(
    new URL('./dns-server.js', import.meta.url),
    [upstream.url, pathToFileURL(list).href],
    SERVER_CORE,
  );
  try {
    const port = portOf(await server.hear());
    const cached = Array.from({ length: 1000 }, (_, index) => freeName(index));
    const blocked = Array.from({ length: 1000 }, (_, index) => blockedName(index * 299));
    await loadDns({ port, names: cached, outstanding: 50, until: upstream.asked(cached.length) });
    await loadDns({ port, names: [...cached, ...blocked], outstanding: OUTSTANDING, until: sleep(quick ? 500 : 3000) });
    const time = quick ? 1000 : 8000;
    return [
      await rateOf({ what: 'cached', server, port, names: cached, time, code: 0 }),
      await rateOf({ what: 'blocked', server, port, names: blocked, time, code: 3 }),
      ...(await refreshUnderLoad(server, port, { cached, list, quick })),
    ];
  } finally {
    await server.stop();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Rate {
  readonly what: string;
  readonly server: Child;
  readonly port: number;
  readonly names: readonly string[];
  readonly time: number;
  /** What every reply must say. */
  readonly code: number;
}

/** The rate by the clock informs; the bar is about what one core does, whoever else uses it meanwhile. */
async function rateOf({ what, server, port, names, time, code }: Rate): Promise<Row> {
  const before = processorSeconds(server.pid);
  const load = await loadDns({ port, names, outstanding: OUTSTANDING, until: sleep(time) });
  const rate = load.answered / (processorSeconds(server.pid) - before);
  const right = load.codes.get(code) === load.answered && load.lost === 0;
  const times = `p50 ${timeText(load.p50)}, p99 ${timeText(load.p99)}, ${load.lost} lost`;
  const byClock = `${countText(load.perSecond)}/s by the clock, ${times}`;
  const measure = `${what} answers over UDP, ${OUTSTANDING} outstanding, for a second of one core`;
  return row(measure, `${countText(rate)}/s`, '≥ 20,000/s', right && rate >= 20_000, byClock);
}

interface UnderLoad {
  readonly cached: readonly string[];
  readonly list: string;
  readonly quick: boolean;
}

async function refreshUnderLoad(
  server: Child,
  port: number,
  { cached, list, quick }: UnderLoad,
): Promise<readonly Row[]> {
  const refreshes: RefreshFigures[] = [];
  const refreshing = async (): Promise<void> => {
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      // A changed file is read anew.
      await writeFile(list, listText(NAMES));
      refreshes.push(refreshFigures(await server.ask({})));
    }
  };
  const load = await loadDns({ port, names: cached, outstanding: OUTSTANDING, until: refreshing() });
  const pause = Math.max(...refreshes.map((refresh) => refresh.pause));
  const times = refreshes.map(({ time }) => timeText(time)).join(', ');
  const answers = `${countText(load.answered)} answers, ${countText(load.perSecond)}/s, p99 ${timeText(load.p99)}`;
  return [
    row(
      'refreshes of 300,000 names under that load: longest pause',
      timeText(pause),
      '≤ 50 ms',
      pause <= 50,
      `took ${times}`,
    ),
    row('the same: lost queries', String(load.lost), '0', load.lost === 0, answers),
  ];
}

interface Upstream {
  readonly url: string;
  /** Resolves when it was asked so many times. */
  asked(times: number): Promise<void>;
  close(): Promise<void>;
}

/** A DoH server without TLS: it only fills the cache. */
async function startUpstream(): Promise<Upstream> {
  let asked = 0;
  const server = createServer(async (request, response) => {
    asked += 1;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const query = Buffer.concat(chunks);
    let end = 12;
    while ((query[end] ?? 0) !== 0) end += (query[end] ?? 0) + 1;
    const question = query.subarray(12, end + 5);
    const header = Buffer.from('000081800001000100000000', 'hex');
    const record = Buffer.from('c00c00010001000151800004c0000201', 'hex');
    response.writeHead(200, { 'content-type': 'application/dns-message' });
    response.end(Buffer.concat([header, question, record]));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    async asked(times) {
      while (asked < times) await sleep(20);
    },
    url: `http://127.0.0.1:${port}/dns-query`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function numbersOf<N extends string>(message: unknown, names: readonly N[]): Record<N, number> {
  const found = new Map(typeof message === 'object' && message !== null ? Object.entries(message) : []);
  const entries = names.map((name) => [name, Number(found.get(name))] as const);
  return Object.fromEntries(entries) as Record<N, number>; // One entry for each of the names.
}

function setFigures(message: unknown): SetFigures {
  return numbersOf(message, ['names', 'resident', 'loadMs', 'pauseMs', 'lookUpsPerSecond']);
}

function refreshFigures(message: unknown): RefreshFigures {
  return numbersOf(message, ['names', 'time', 'pause']);
}

function portOf(message: unknown): number {
  return numbersOf(message, ['port']).port;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(tableText(await run({ quick: process.argv.includes('--quick') })));
}

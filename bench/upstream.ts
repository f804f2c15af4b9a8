import { LOAD_CORE, startChild } from './child.js';
import type { LoadRound } from './load-process.js';
import { type Bench, inTurns, type Measure, medianRatio, type Pairs, type Row, rateRow, timeText } from './measure.js';
import type { PollOrder, PollResult } from './poll-client.js';
import { processorSeconds, residentBytes } from './process-figures.js';
import { getStatus, getUsers, listUsers, setLimits } from './requests.js';
import { TOKEN } from './sample-keys.js';
import { type BenchServer, startFront, startUpstream } from './servers.js';
import { median } from './statistics.js';

const KEYS = 100_000;

interface InFront {
  readonly upstream: BenchServer;
  readonly front: BenchServer;
}

/** A server with its keys, and a gateway in front of it that has its list. */
async function inFront(bench: Bench, core?: number, cost?: number): Promise<InFront> {
  const upstream = await bench.using(startUpstream(KEYS, core, cost));
  const front = await bench.using(startFront(upstream.port));
  await bench.load.put(front, { connections: 1, requests: listUsers, until: { each: 1 } });
  return { upstream, front };
}

export const upstreamLists: Measure = {
  name: 'upstream-list',
  async run(bench) {
    const { upstream, front } = await inFront(bench);
    const turn = (server: BenchServer) => () =>
      bench.load.put(server, {
        connections: 4,
        requests: listUsers,
        until: { milliseconds: bench.quick ? 1500 : 3000 },
      });
    const pairs = await inTurns(bench.quick ? 3 : 7, turn(front), turn(upstream));
    return [rateRow('in front of a server: GET /users at 100k keys against the server itself', pairs, 5)];
  },
};

/** What one of these takes more through the gateway: alone, one after the other. */
async function added(bench: Bench, sides: InFront, requests: readonly string[]): Promise<Pairs<LoadRound>> {
  const until = { milliseconds: bench.quick ? 500 : 1000 };
  const turn = (server: BenchServer) => () => bench.load.put(server, { connections: 1, requests, until });
  await inTurns(1, turn(sides.front), turn(sides.upstream));
  return inTurns(bench.quick ? 3 : 11, turn(sides.front), turn(sides.upstream));
}

export const upstreamAdded: Measure = {
  name: 'upstream-added',
  async run(bench) {
    // A server elsewhere does not take the gateway's time.
    const sides = await inFront(bench, LOAD_CORE);
    const asked = [
      { what: 'GET /users/{key}', requests: getUsers(KEYS), bar: 1.5 },
      { what: 'GET /server/status', requests: getStatus, bar: 0.5 },
      { what: 'PUT /users/{key}/limit', requests: setLimits(KEYS), bar: 1.5 },
    ];
    const rows: Row[] = [];
    for (const { what, requests, bar } of asked) {
      const pairs = await added(bench, sides, requests);
      const time = (side: 'gateway' | 'against') => median(pairs[side].map(({ p50 }) => p50));
      const more = medianDifference(pairs);
      const processor = median(pairs.gateway.map(({ busy, elapsed, answers }) => (busy * elapsed) / answers));
      rows.push({
        measure: `in front of a server: ${what}, added at the median`,
        gateway: `${timeText(time('gateway'))} (processor time ${timeText(processor)})`,
        against: `the server itself ${timeText(time('against'))}`,
        value: timeText(more),
        bar: `≤ ${bar} ms`,
        met: more <= bar,
      });
    }
    return rows;
  },
};

function medianDifference(pairs: Pairs<LoadRound>): number {
  return medianRatio(pairs, (gateway, against) => gateway.p50 - against.p50);
}

const PANELS = { panels: 50, every: 5_000, token: TOKEN };

/** What a list of so many keys cost real servers, ms. */
const REAL_COST = 130;

export const upstreamPanels: Measure = {
  name: 'upstream-panels',
  async run(bench) {
    const { front, panels, rows } = await polled(bench, 'in front of a server');
    // Single reads go through to the server, so that what it spends on panels was counted without them.
    const meanwhile = panels(bench.quick ? 10_000 : 20_000);
    const until = { milliseconds: bench.quick ? 6_000 : 15_000 };
    const reads = await bench.load.put(front, { connections: 2, requests: getUsers(KEYS), until });
    await meanwhile;
    const resident = residentBytes(front.child.pid, 'highest');
    return [
      ...rows,
      row('the same: p99 of GET /users/{key}', `p50 ${timeText(reads.p50)}`, reads.p99, 25, timeText),
      row('the same: resident at its highest', 'keyway serve', resident / MB, 250, (mb) => `${mb.toFixed(0)} MB`),
    ];
  },
};

export const upstreamPanelsReal: Measure = {
  name: 'upstream-panels-real',
  run: async (bench) =>
    (await polled(bench, `the same, where a list costs the server ${REAL_COST} ms`, REAL_COST)).rows,
};

/** Panels poll, and go on when they are asked to. */
async function polled(bench: Bench, where: string, cost?: number) {
  const { upstream, front } = await inFront(bench, undefined, cost);
  const panels = await startPanels(bench, front);
  const { pid } = upstream.child;
  await panels(10_000);
  const before = { busy: processorSeconds(pid), lists: await listsOf(upstream), at: performance.now() };
  const given = await panels(bench.quick ? 20_000 : 60_000);
  const busy = (processorSeconds(pid) - before.busy) * 1000;
  const made = (await listsOf(upstream)) - before.lists;
  const share = (busy / (performance.now() - before.at)) * 100;
  const what = `${where}: 50 panels poll ${KEYS / 1000}k keys every 5 s`;
  const each = made === 0 ? 'none asked for' : `${made} asked for, ${timeText(busy / made)} of processor each`;
  const rows = [
    row(`${what}: the server's share of a core`, `${given.lists} lists, ${each}`, share, 3, percentText),
    row('the same: age of the lists given out, p99', agesText(given), given.p99, 7_000, timeText),
  ];
  return { front, panels, rows };
}

async function listsOf(upstream: BenchServer): Promise<number> {
  const { lists } = (await upstream.child.ask({})) as { readonly lists: number }; // upstream-server.ts
  return lists;
}

const MB = 1e6;
const percentText = (percent: number) => `${percent.toFixed(1)} %`;
const agesText = ({ p50, oldest }: PollResult) => `p50 ${timeText(p50)}, oldest ${timeText(oldest)}`;

/** A row about a value that has to stay below a bar of the same unit. */
function row(measure: string, gateway: string, value: number, bar: number, text: (value: number) => string): Row {
  return { measure, gateway, against: '', value: text(value), bar: `≤ ${text(bar)}`, met: value <= bar };
}

/** Panels on the load's core; what is given back has them poll for so many milliseconds. */
async function startPanels(bench: Bench, front: BenchServer): Promise<(milliseconds: number) => Promise<PollResult>> {
  const child = startChild(new URL('./poll-client.js', import.meta.url), [], LOAD_CORE);
  await child.hear();
  await bench.using(Promise.resolve({ port: 0, child }));
  return async (milliseconds) => {
    const order: PollOrder = { ...PANELS, port: front.port, milliseconds };
    const { result, problem } = (await child.ask(order)) as { result?: PollResult; problem?: string }; // poll-client.ts
    if (result === undefined) throw new Error(problem);
    return result;
  };
}

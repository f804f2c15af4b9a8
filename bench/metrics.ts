import type { LoadRound } from './load-process.js';
import { type Bench, inTurns, type Measure, medianRatio, type Pairs, type Row, timeText } from './measure.js';
import { createUser, getMetrics, getStatus, getUsers, listUsers } from './requests.js';
import { type BenchServer, startCommand, startWithOps } from './servers.js';
import { median } from './statistics.js';

const MANY = 100_000;
const FEW = 100;
const READ_BAR_MS = 20;
const COST_BAR = 0.03;
const CONNECTIONS = 32;

/** Reads the metrics, again and again, of a gateway that has answered several kinds of requests. */
async function readMetrics({ load, quick }: Bench, server: BenchServer & { readonly opsPort: number }) {
  const { child, opsPort: port } = server;
  for (const requests of [getStatus, getUsers(FEW), listUsers, createUser]) {
    await load.put(server, { connections: 1, requests, until: { each: 3 } });
  }
  const order = { connections: 1, requests: getMetrics, until: { each: quick ? 20 : 200 } };
  await load.put({ child, port }, order);
  return load.put({ child, port }, order);
}

/** Milliseconds of processor time for each answer. */
function processorTime({ busy, elapsed, answers }: LoadRound): number {
  return (busy * elapsed) / answers;
}

async function compareReads({ load, quick }: Bench, counted: BenchServer, plain: BenchServer) {
  const turn = (server: BenchServer) => () =>
    load.put(server, { connections: CONNECTIONS, requests: getStatus, until: { milliseconds: 500 } });
  await inTurns(quick ? 1 : 4, turn(counted), turn(plain));
  return inTurns(quick ? 3 : 60, turn(counted), turn(plain));
}

/** By the median of the pairs: what others on the machine do falls on some of them. */
function costRow(pairs: Pairs<LoadRound>): Row {
  const cost = medianRatio(pairs, (counted, plain) => processorTime(counted) / processorTime(plain)) - 1;
  const text = (rounds: readonly LoadRound[]) => `${(median(rounds.map(processorTime)) * 1000).toFixed(1)} µs`;
  return {
    measure: 'what metrics cost of GET /server/status, by processor time for each answer',
    gateway: `${text(pairs.gateway)} with --ops-bind`,
    against: `${text(pairs.against)} without`,
    value: `${(cost * 100).toFixed(1)} %`,
    bar: `≤ ${COST_BAR * 100} %`,
    met: cost <= COST_BAR,
  };
}

export const metrics: Measure = {
  name: 'metrics',
  async run(bench) {
    const many = await bench.using(startWithOps(await bench.file(MANY)));
    const few = await bench.using(startWithOps(await bench.file(FEW)));
    const [ofMany, ofFew] = [await readMetrics(bench, many), await readMetrics(bench, few)];
    const time = ofMany.p50;
    await many.child.stop();
    await few.child.stop();
    const counted = await bench.using(startWithOps(await bench.file(FEW)));
    const plain = await bench.using(startCommand(await bench.file(FEW)));
    return [
      {
        measure: 'GET /metrics at 100k keys',
        gateway: `${timeText(time)} (p99 ${timeText(ofMany.p99)})`,
        against: `${timeText(ofFew.p50)} at 100 keys`,
        value: timeText(time),
        bar: `≤ ${READ_BAR_MS} ms`,
        met: time <= READ_BAR_MS,
      },
      costRow(await compareReads(bench, counted, plain)),
    ];
  },
};

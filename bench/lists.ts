import { setTimeout } from 'node:timers/promises';
import { type Bench, inTurns, type Measure, type Row, rateRow, timeText } from './measure.js';
import { createUser, getUsers, listUsers, listUsersIn } from './requests.js';
import { type BenchServer, startEmbedded, startNaive } from './servers.js';
import { median } from './statistics.js';

const CONNECTIONS = 4;

function listMeasure(name: string, keys: number, changing: boolean, bar: number): Measure {
  return {
    name,
    async run(bench) {
      const gateway = await bench.using(startEmbedded(await bench.file(keys)));
      const naive = await bench.using(startNaive(await bench.file(keys)));
      const changesPerSecond = changing ? keys / 100 : 0;
      const turn = (server: BenchServer, milliseconds: number) => async () => {
        await server.child.ask({ changesPerSecond });
        const order = { connections: CONNECTIONS, requests: listUsers, until: { milliseconds } };
        const round = await bench.load.put(server, order);
        await server.child.ask({ changesPerSecond: 0 });
        return round;
      };
      const [length, rounds] = bench.quick ? [700, 3] : [1500, 7];
      await inTurns(1, turn(gateway, length), turn(naive, length));
      const pairs = await inTurns(rounds, turn(gateway, length), turn(naive, length));
      const what = changing ? ', 1 % of the counters changing each second' : ', counters idle';
      return [rateRow(`GET /users at ${keys / 1000}k keys against (b)${what}`, pairs, bar)];
    },
  };
}

export const lists: readonly Measure[] = [
  listMeasure('list-10k', 10_000, false, 10),
  listMeasure('list-100k', 100_000, false, 20),
  listMeasure('list-10k-changing', 10_000, true, 5),
  listMeasure('list-100k-changing', 100_000, true, 5),
];

const P99_BAR = 25;

export const userBesideLists: Measure = {
  name: 'user-beside-lists',
  async run(bench) {
    const keys = 100_000;
    const server = await bench.using(startEmbedded(await bench.file(keys)));
    const rows: Row[] = [];
    for (const changing of [false, true]) {
      await server.child.ask({ changesPerSecond: changing ? keys / 100 : 0 });
      rows.push(await besideLists(bench, server, changing));
    }
    return rows;
  },
};

async function besideLists(bench: Bench, server: BenchServer, changing: boolean): Promise<Row> {
  const listing = await bench.secondLoad();
  const milliseconds = bench.quick ? 1000 : 2000;
  const p99s: number[] = [];
  const listTimes: number[] = [];
  for (let round = 0; round < (bench.quick ? 2 : 7); round += 1) {
    // The lists begin before the reads and end after them.
    const lists = listing.put(server, {
      connections: 2,
      requests: listUsers,
      until: { milliseconds: milliseconds + 400 },
    });
    const reads = setTimeout(200).then(() =>
      bench.load.put(server, { connections: 2, requests: getUsers(100_000), until: { milliseconds } }),
    );
    const [list, read] = await Promise.all([lists, reads]);
    if (round === 0) continue;
    p99s.push(read.p99);
    listTimes.push(list.p50);
  }
  const p99 = median(p99s);
  return {
    measure: `p99 of GET /users/{key} beside 2 connections that list 100k keys${changing ? ', counters changing' : ''}`,
    gateway: timeText(p99),
    against: `a list takes ${timeText(median(listTimes))}`,
    value: timeText(p99),
    bar: changing ? '' : `≤ ${P99_BAR} ms`,
    met: changing ? null : p99 <= P99_BAR,
  };
}

export const compressedLists: Measure = {
  name: 'list-compressed',
  async run(bench) {
    const server = await bench.using(startEmbedded(await bench.file(100_000)));
    // The first write after a start keeps a version of the file, compressed, which is not what is counted here.
    await bench.load.put(server, { connections: 1, requests: createUser, until: { each: 1 } });
    await setTimeout(bench.quick ? 1000 : 3000);
    const rows: Row[] = [];
    for (const coding of ['gzip', 'br'] as const) rows.push(await compressedList(bench, server, coding));
    return rows;
  },
};

async function compressedList(bench: Bench, server: BenchServer, coding: 'gzip' | 'br'): Promise<Row> {
  const changes = bench.quick ? 2 : 5;
  const requests = listUsersIn(coding);
  const first: number[] = [];
  const again: number[] = [];
  const before = await compressionsOf(server);
  for (let change = 0; change < changes; change += 1) {
    await bench.load.put(server, { connections: 1, requests: createUser, until: { each: 1 } });
    // Four ask at once for what nobody has compressed yet, then ten times more.
    first.push((await bench.load.put(server, { connections: CONNECTIONS, requests, until: { each: 1 } })).p50);
    again.push((await bench.load.put(server, { connections: CONNECTIONS, requests, until: { each: 10 } })).p50);
  }
  const perChange = ((await compressionsOf(server)) - before) / changes;
  return {
    measure: `GET /users of 100k keys, ${coding}: compressions in 44 answers after a change`,
    gateway: timeText(median(again)),
    against: `${timeText(median(first))} the first time`,
    value: String(perChange),
    bar: '≤ 1',
    met: perChange <= 1,
  };
}

async function compressionsOf(server: BenchServer): Promise<number> {
  const answer = await server.child.ask({});
  if (typeof answer !== 'object' || answer === null || !('compressions' in answer)) throw new Error('no count');
  return Number(answer.compressions);
}

import type { LoadRound } from './load-process.js';
import type { Bench } from './measure.js';
import { inTurns, type Measure, type Pairs, rateRow } from './measure.js';
import { bareStatus, bareUser, getStatus, getUsers } from './requests.js';
import { type BenchServer, startBare, startCollected, startCommand, startEmbedded } from './servers.js';

const CONNECTIONS = 32;

/** Both under the same load, in short turns, after warming up. */
async function compare(
  { load, quick }: Bench,
  gateway: { readonly server: BenchServer; readonly requests: readonly string[] },
  against: { readonly server: BenchServer; readonly requests: readonly string[] },
): Promise<Pairs<LoadRound>> {
  const turn = (side: typeof gateway, milliseconds: number) => () =>
    load.put(side.server, { connections: CONNECTIONS, requests: side.requests, until: { milliseconds } });
  await inTurns(quick ? 1 : 3, turn(gateway, 700), turn(against, 700));
  return inTurns(quick ? 3 : 11, turn(gateway, 500), turn(against, 500));
}

export const statusAgainstBare: Measure = {
  name: 'status',
  async run(bench) {
    const server = await bench.using(startCommand(await bench.file(1000)));
    const bare = await bench.using(startBare());
    const pairs = await compare(bench, { server, requests: getStatus }, { server: bare, requests: bareStatus });
    return [rateRow('GET /server/status against bare Fastify', pairs, 0.85)];
  },
};

export const statusAfterCollection: Measure = {
  name: 'collected',
  async run(bench) {
    const server = await bench.using(startCollected(await bench.file(1000)));
    const fresh = await bench.using(startCommand(await bench.file(1000)));
    const pairs = await compare(bench, { server, requests: getStatus }, { server: fresh, requests: getStatus });
    return [rateRow('GET /server/status after collections of garbage against none', pairs, 0.85)];
  },
};

export const userAgainstBare: Measure = {
  name: 'user',
  async run(bench) {
    const keys = 100_000;
    const server = await bench.using(startEmbedded(await bench.file(keys)));
    const bare = await bench.using(startBare());
    const pairs = await compare(bench, { server, requests: getUsers(keys) }, { server: bare, requests: bareUser });
    return [rateRow('GET /users/{key} at 100k keys against bare Fastify', pairs, 0.85)];
  },
};

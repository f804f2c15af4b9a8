import { readFile, writeFile } from 'node:fs/promises';
import { convertFile } from '../src/document/convert/convert.js';
import { type Bench, inTurns, type Measure, medianRatio, type Pairs, type Row, timeText } from './measure.js';
import { createUser, listUsers } from './requests.js';
import { type BenchServer, startCommand } from './servers.js';
import { median } from './statistics.js';

const KEYS = 100_000;
const PAIRS = 20;
const BAR = 1.25;

/** The same work on a file of either layout with the same keys, 20 times in turns. */
export const layouts: Measure = {
  name: 'layouts',
  async run(bench) {
    const rounds = bench.quick ? 3 : PAIRS;
    const [inbounds, accessKeys] = [await inboundsFile(bench), await bench.file(KEYS)];
    const starts = await inTurns(rounds, startTime(bench, inbounds), startTime(bench, accessKeys));
    const [first, second] = [await bench.using(startCommand(inbounds)), await bench.using(startCommand(accessKeys))];
    const rows = [rowOf('start to first answer', starts)];
    for (const [what, requests] of [
      ['one POST /users alone', createUser],
      ['GET /users', listUsers],
    ] as const) {
      const turn = (server: BenchServer) => async () => {
        return (await bench.load.put(server, { connections: 1, requests, until: { each: 1 } })).elapsed;
      };
      // The first write after a start keeps a version of the file, and the first list is made from nothing.
      await inTurns(3, turn(first), turn(second));
      rows.push(rowOf(what, await inTurns(rounds, turn(first), turn(second))));
    }
    return rows;
  },
};

async function inboundsFile(bench: Bench): Promise<string> {
  const path = await bench.file(KEYS);
  await writeFile(path, convertFile(await readFile(path), { layout: 'inbounds', schema: null }).bytes);
  return path;
}

function startTime(bench: Bench, path: string): () => Promise<number> {
  return async () => {
    const server = await bench.using(startCommand(path));
    await server.child.stop();
    return server.firstAnswer;
  };
}

function rowOf(what: string, pairs: Pairs<number>): Row {
  const ratio = medianRatio(pairs, (inbounds, accessKeys) => inbounds / accessKeys);
  return {
    measure: `${what} at 100k keys: the layout with inbounds against the other, time`,
    gateway: timeText(median(pairs.gateway)),
    against: timeText(median(pairs.against)),
    value: `${ratio.toFixed(2)} ×`,
    bar: `≤ ${BAR} ×`,
    met: ratio <= BAR,
  };
}

import { overDatabase } from './database.js';
import { type Bench, type Measure, type Row, timeText } from './measure.js';
import { TOKEN } from './sample-keys.js';
import { type BenchServer, startCommand, startOverDatabase } from './servers.js';
import { median } from './statistics.js';

const ITEMS = 10_000;
const KEYS = 1_000;

/** Milliseconds of one batch of named creates, from its request to its end. */
async function timeBatch({ port }: BenchServer, round: number): Promise<number> {
  const items = Array.from({ length: ITEMS }, (_, index) => ({ op: 'create', name: `Round ${round} ${index}` }));
  const began = performance.now();
  const answer = await fetch(`http://127.0.0.1:${port}/panel/keyway/v1/keys/batch?wait=30`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ items }),
  });
  const text = await answer.text();
  if (answer.status !== 200 || !text.includes(`"done":${ITEMS}`))
    throw new Error(`${answer.status} ${text.slice(0, 200)}`);
  return performance.now() - began;
}

async function rowOf(bench: Bench, place: string, server: BenchServer, bar: number): Promise<Row> {
  const times: number[] = [];
  for (let round = 0; round < (bench.quick ? 1 : 3); round += 1) times.push(await timeBatch(server, round));
  const time = median(times);
  return {
    measure: `a batch of ${ITEMS} named creates over ${place}, to its end`,
    gateway: timeText(time),
    against: '',
    value: timeText(time),
    bar: `≤ ${timeText(bar)}`,
    met: time <= bar,
  };
}

export const batches: readonly Measure[] = [
  {
    name: 'batch-file',
    async run(bench) {
      return [await rowOf(bench, 'a file', await bench.using(startCommand(await bench.file(KEYS))), 2_000)];
    },
  },
  overDatabase('batch-database', KEYS, async (bench, postgres) => [
    await rowOf(bench, 'a database', await bench.using(startOverDatabase(postgres.url())), 5_000),
  ]),
];

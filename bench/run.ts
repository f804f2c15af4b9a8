/** `npm run bench [-- --only name]… [--quick] [--strict]`: measures what the gateway must reach, and prints one table. */
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { canPin, LOAD_CORE, SERVER_CORE } from './child.js';
import { databaseMeasures } from './database.js';
import { dns } from './dns.js';
import { durableCreates } from './durable-creates.js';
import { feedRates, listsBesideFeed, manyCounters } from './feed.js';
import { compressedLists, lists, userBesideLists } from './lists.js';
import { type LoadProcess, startLoad } from './load-process.js';
import type { Bench, Measure, Row } from './measure.js';
import { smallServer, startWithManyKeys } from './process-measures.js';
import { writeSampleFile } from './sample-keys.js';
import { statusAfterCollection, statusAgainstBare, userAgainstBare } from './small-answers.js';
import { tableText } from './table.js';
import { upstreamAdded, upstreamLists, upstreamPanels, upstreamPanelsReal } from './upstream.js';

const MEASURES: readonly Measure[] = [
  statusAgainstBare,
  statusAfterCollection,
  userAgainstBare,
  ...lists,
  userBesideLists,
  durableCreates,
  startWithManyKeys,
  smallServer,
  compressedLists,
  feedRates,
  listsBesideFeed,
  manyCounters,
  dns,
  upstreamLists,
  upstreamAdded,
  upstreamPanels,
  upstreamPanelsReal,
  ...databaseMeasures,
];

/** Runs one measure with servers and files of its own, and leaves nothing behind. */
async function runAlone(measure: Measure, load: LoadProcess, quick: boolean): Promise<readonly Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-bench-'));
  const stops: (() => Promise<void>)[] = [];
  let files = 0;
  const bench: Bench = {
    quick,
    load,
    async file(keys) {
      files += 1;
      const path = join(await mkdtemp(join(folder, 'server-')), `server-${files}.json`);
      await writeSampleFile(path, keys);
      return path;
    },
    async using(starting) {
      const server = await starting;
      stops.push(server.child.stop);
      return server;
    },
    async secondLoad() {
      const second = await startLoad();
      stops.push(second.stop);
      return second;
    },
  };
  try {
    return await measure.run(bench);
  } finally {
    for (const stop of stops) await stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function machineText(): string {
  const [cpu] = cpus();
  const place = canPin
    ? `servers on core ${SERVER_CORE}, load on core ${LOAD_CORE}`
    : 'processes are not kept to a core here (no taskset, or one core)';
  const load = loadavg()[0]?.toFixed(2);
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  return `${date} UTC · ${cpu?.model.trim()} · ${availableParallelism()} cores · Node ${process.version} · load before ${load} · ${place}`;
}

async function main(): Promise<number> {
  const options = {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean' },
    strict: { type: 'boolean' },
  } as const;
  const { only, quick = false, strict = false } = parseArgs({ options }).values;
  const unknown = only?.filter((name) => !MEASURES.some((measure) => measure.name === name)) ?? [];
  if (unknown.length > 0) {
    console.error(`no such measure: ${unknown.join(', ')} (there are ${MEASURES.map(({ name }) => name).join(', ')})`);
    return 2;
  }
  console.log(`${machineText()}${quick ? ' · quick: figures are not for comparing' : ''}\n`);
  const load = await startLoad();
  const rows: Row[] = [];
  let broken = false;
  for (const measure of MEASURES.filter(({ name }) => only?.includes(name) ?? true)) {
    process.stderr.write(`${measure.name} …\n`);
    try {
      rows.push(...(await runAlone(measure, load, quick)));
    } catch (error) {
      broken = true;
      console.error(`${measure.name} could not be measured:`, error);
    }
  }
  await load.stop();
  console.log(tableText(rows));
  return broken || (strict && rows.some(({ met }) => met === false)) ? 1 : 0;
}

process.exitCode = await main();

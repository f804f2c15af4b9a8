/**
 * What replaying has to reach: `node dist/bench/replay.js` (or `npm run bench` for everything else).
 * 500 scenarios on embedded cores under 10 s; the recording proxy under 1 ms at the median on one connection.
 */
import { Agent, createServer, request } from 'node:http';
import { join } from 'node:path';
import { current } from '../revisions/current.js';
import { packFolder } from '../src/commands/replay/run.js';
import { playEmbedded } from '../src/embedded/play.js';
import { createFileSystem } from '../src/platform/file-system.js';
import { runInOrder } from '../src/replay/play/in-order.js';
import { readScenarioFiles } from '../src/replay/play/scenario-files.js';
import { startProxy } from '../src/replay/record/proxy.js';
import { Recorder } from '../src/replay/record/recorder.js';

const SCENARIOS = 500;
const REQUESTS = 3000;
const WARM_UP = 500;

async function playFiveHundred(): Promise<string> {
  const folders = ['earliest', 'dns', 'current', 'recorded'].map((name) => join(packFolder(), name));
  const files = (await readScenarioFiles(folders, createFileSystem())).filter((file) => file.kind === 'scenario');
  const list = Array.from({ length: SCENARIOS }, (_, index) => files[index % files.length]).filter(
    (file) => file !== undefined,
  );
  const options = { revision: null, timeoutMilliseconds: 10_000, isStopped: () => false };
  const begun = performance.now();
  const results = await runInOrder(list, 4, {
    work: (file) => playEmbedded(file, options),
    onDone: () => undefined,
    isStopped: () => false,
  });
  const seconds = (performance.now() - begun) / 1000;
  const equal = results.filter(({ outcome }) => outcome === 'equal').length;
  return `${equal} of ${SCENARIOS} scenarios equal on embedded cores in ${seconds.toFixed(2)} s (at most 10)`;
}

const BODY = '{"ok":true,"data":{"version":"0.3.6","uptime_seconds":1,"active_users":0,"total_users":2}}';

/** Sorted times of single requests over one connection, in milliseconds. */
async function times(origin: string): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const found: number[] = [];
  for (let count = 0; count < WARM_UP + REQUESTS; count += 1) {
    const begun = performance.now();
    await new Promise<void>((resolve, reject) => {
      const asked = request(`${origin}/panel/api/server/status`, { agent }, (answer) => {
        answer.resume();
        answer.on('end', resolve);
      });
      asked.on('error', reject);
      asked.end();
    });
    if (count >= WARM_UP) found.push(performance.now() - begun);
  }
  agent.destroy();
  return found.sort((a, b) => a - b);
}

async function proxyLatency(): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(BODY);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const base = { apiRoot: '/panel/api', base: '/panel', revision: 'current', date: '2026-11-21', keepValues: false };
  const recorder = new Recorder({ ...base, traits: current });
  const proxy = await startProxy({
    origin,
    listen: { host: '127.0.0.1', port: 0 },
    onExchange: (exchange) => setImmediate(() => recorder.add(exchange)),
    onFailure: (reason) => console.error(reason),
  });
  const median = (sorted: readonly number[]) => sorted[Math.floor(sorted.length / 2)] ?? 0;
  const direct = median(await times(origin));
  const through = median(await times(proxy.url));
  await proxy.close();
  server.close();
  const added = through - direct;
  return `the recording proxy adds ${added.toFixed(3)} ms at the median (${direct.toFixed(3)} to ${through.toFixed(3)}; at most 1)`;
}

console.log(await playFiveHundred());
console.log(await proxyLatency());

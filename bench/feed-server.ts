/** The gateway over the file that is its first argument, with its store of counters, and the feed beside it. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createGateway } from '../src/index.js';
import { systemClock, systemRandom } from '../src/platform/system-ports.js';
import { startFeed } from '../src/serve/feed.js';
import { TOKEN } from './sample-keys.js';
import { endWithParent } from './server-side.js';

// For the measure of memory: a collection on demand.
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const [, , configPath = ''] = process.argv;
const silent = { debug() {}, info() {}, warn() {}, error: console.error };
const app = await createGateway({ mounts: [{ revision: 'current' }], configPath, loginGuard: 'off', log: silent });
const feed = await startFeed(
  app.keyway,
  { feedBind: '127.0.0.1:0', feedToken: TOKEN },
  { clock: systemClock, random: systemRandom, log: silent },
);
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.on('message', async () => {
  // Buffers that went with the first are given back by the next.
  for (let round = 0; round < 3; round += 1) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  process.send?.({ ...process.memoryUsage() });
});
endWithParent(() => app.close());
process.send?.({ port: Number(new URL(url).port), feedPort: Number(new URL(feed.url).port) });

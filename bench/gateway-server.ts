/**
 * The gateway over the file that is its first argument, embedded, so that the sample counters can be set and changed at
 * the core's port as a data plane does it, and compressions be counted.
 */
import { syncBuiltinESMExports } from 'node:module';
import zlib from 'node:zlib';
import { sampleCounters, sampleKeyName } from './sample-keys.js';
import { announcePort, changeSteadily, endWithParent } from './server-side.js';

let compressions = 0;

/** Replaces functions of `node:zlib`, for whoever imports them later, by ones that count their calls. */
function countCalls(...names: readonly (keyof typeof zlib)[]): void {
  for (const name of names) {
    const compress = zlib[name];
    if (typeof compress !== 'function') throw new Error(`node:zlib has no function ${name}`);
    const value = new Proxy(compress, {
      apply(target, self, args) {
        compressions += 1;
        return Reflect.apply(target, self, args);
      },
    });
    Object.defineProperty(zlib, name, { value });
  }
}

countCalls('gzip', 'gzipSync', 'createGzip', 'brotliCompress', 'brotliCompressSync', 'createBrotliCompress');
syncBuiltinESMExports();
const { createGateway } = await import('../src/index.js');

const [, , configPath = ''] = process.argv;
const app = await createGateway({ mounts: [{ revision: 'current' }], configPath, loginGuard: 'off' });
const { local } = app.keyway;
if (local === null) throw new Error('a gateway whose state lives elsewhere');
const { keys } = local;
const names = Array.from({ length: keys.size }, (_, index) => sampleKeyName(index));

function setCounters(index: number, round: number): void {
  const { bytesUp, bytesDown, connections } = sampleCounters(index, round);
  keys.setCounters(names[index] ?? '', {
    bytesUp: BigInt(bytesUp),
    bytesDown: BigInt(bytesDown),
    connections: BigInt(connections),
  });
}

for (let index = 0; index < names.length; index += 1) setCounters(index, 0);
const change = changeSteadily(names.length, setCounters);
process.on('message', ({ changesPerSecond, among }: { changesPerSecond?: number; among?: number }) => {
  if (changesPerSecond !== undefined) change(changesPerSecond, among);
  process.send?.({ compressions });
});
await app.listen({ host: '127.0.0.1', port: 0 });
endWithParent(() => app.close());
announcePort(app.server);

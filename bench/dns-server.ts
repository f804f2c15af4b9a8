/** A process with a resolver: the upstream and a list are its arguments. It refreshes when it is told to. */
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { DEFAULT_DNS } from '../src/core/model.js';
import { createResolver } from '../src/dns/resolver.js';

export interface RefreshFigures {
  readonly names: number;
  readonly time: number;
  /** The longest time for which the event loop stood still. */
  readonly pause: number;
}

const [dohUpstream = '', list = ''] = process.argv.slice(2);
const complain = (fields: object, message: string): void => {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
};
const resolver = createResolver({
  copyFolder: null,
  listFolder: dirname(fileURLToPath(list)),
  clock: { now: () => Date.now(), monotonic: () => performance.now() },
  log: { debug() {}, info() {}, warn: complain, error: complain },
});

async function refreshed(order: () => void): Promise<RefreshFigures> {
  const before = resolver.stats().lastRefresh;
  const start = performance.now();
  let pause = 0;
  let last = start;
  const timer = setInterval(() => {
    pause = Math.max(pause, performance.now() - last);
    last = performance.now();
  }, 1);
  order();
  while (resolver.stats().lastRefresh === before) await new Promise((resolve) => setTimeout(resolve, 1));
  clearInterval(timer);
  return { pause, time: performance.now() - start, names: resolver.stats().lists[0]?.names ?? 0 };
}

process.on('message', () => {
  void refreshed(() => resolver.refreshBlocklists()).then((figures) => process.send?.(figures));
});
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));
resolver.configure({ ...DEFAULT_DNS, enabled: true, localPort: 0, dohUpstream, adblockUrls: [list] }, null);
await refreshed(() => resolver.start());
process.send?.({ port: resolver.stats().listening?.port ?? 0 });

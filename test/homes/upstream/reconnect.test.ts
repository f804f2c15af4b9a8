import { expect, it } from 'vitest';
import type { UpstreamTrouble } from '../../../src/client/server.js';
import { createReconnect } from '../../../src/homes/upstream/reconnect.js';
import { createFakeServer } from '../../client/fake-server.js';
import { line } from './staged.js';
import { createWorld } from './world.js';

it('a server whose status answers and whose lists do not has these asked for again, until nothing is away', async () => {
  const world = createWorld();
  const { clock, timers, sleep } = world;
  const server = createFakeServer({ revision: line('current'), monotonic: clock.monotonic, sleep });
  const troubles: UpstreamTrouble[] = [{ of: 'lists', kind: 'away', since: 0, reason: 'for a test' }];
  let retries = 0;
  const reconnect = createReconnect({
    ...{ clock, timers, tells: () => true, readsNames: () => false },
    server: { ...server, troubles: () => troubles },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    load: async () => undefined,
    look: async () => undefined,
    isNeeded: () => false,
    onBack: () => {
      retries += 1;
    },
    onLine() {},
  });
  await reconnect.open();
  server.becomes('away');
  await world.pass(20_000);
  expect(retries).toBe(4);
  troubles.length = 0;
  await world.pass(60_000);
  expect(retries).toBe(5);
  reconnect.close();
});

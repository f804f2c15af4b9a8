import { expect, it, onTestFinished } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { AskedServer, saysSame } from '../../src/shadow/asked-server.js';
import { openCore } from '../../src/shadow/sides.js';
import { collectGarbage } from '../collect-garbage.js';

const PORTS = {
  lines: { all: REVISIONS, resolve: resolveRevision },
  clock: systemClock,
  random: systemRandom,
};

/** An embedded core of a line whose keys have these names and limits. */
async function coreOf(line: string, keys: readonly (string | object)[]) {
  const token = 'core-token';
  const beginning = JSON.stringify({ mode: 'server', api: { enabled: true, token }, access_keys: keys });
  const core = await openCore(line, beginning, PORTS);
  onTestFinished(() => core.close());
  return core;
}

it.each(
  REVISIONS.map(({ id }) => id),
)('takes the keys of an embedded core of %s as its list has them', async (line) => {
  const named = { access_key: 'a b/ü', name: ' "Anna" ', limit_bytes: 2 ** 60 };
  const core = await coreOf(line, ['bare', named, { access_key: 'empty', name: '' }]);
  const { server } = core;
  const { status } = await server.send('POST', '/users', { access_key: 'made', limit_bytes: 5n });
  expect(status).toBe(200);
  const asAnswered = new AskedServer(server.found, async () => 'Bearer core-token');
  const [taken, listed] = [await server.keys(), await asAnswered.keys()];
  expect([...taken.keys()].toSorted()).toEqual([...listed.keys()].toSorted());
  for (const [key, record] of taken) {
    const other = listed.get(key);
    expect(other !== undefined && saysSame(record, other, [server.found.revision]), key).toBe(true);
  }
});

it('keeps no list of an embedded core in memory once its keys were taken', async () => {
  const keys = Array.from({ length: 20_000 }, (_, index) => ({
    access_key: `key-${index}`,
    name: `Customer ${index}`,
  }));
  const { server } = await coreOf('current', keys);
  const change = (limit: bigint) => server.send('PUT', '/users/key-1/limit', { limit_bytes: limit });
  const buffered = async () => {
    await collectGarbage();
    return process.memoryUsage().arrayBuffers / 1e6;
  };
  await change(1n);
  await change(2n);
  const before = await buffered();
  expect((await server.keys()).size).toBe(20_000);
  await change(3n);
  expect((await server.keys()).get('key-1')?.limitBytes).toBe(3n);
  // Two texts of the list would be 7 MB.
  expect((await buffered()) - before, 'megabytes outside the heap').toBeLessThan(2);
});

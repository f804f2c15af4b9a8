import { expect, it } from 'vitest';
import { createKey } from '../../ports/key-changes.js';
import { key, LOSSY, staged } from './staged.js';

it('a lost write of a running server is said once where it cannot be made again, however many there are and however often it is tried', async () => {
  let isRefusing = false;
  const { world, server, backend, lines } = await staged({
    trip: (call) => ({
      ...LOSSY.trip(call),
      ...(isRefusing && call === 'create' ? { lost: 'before' as const } : {}),
    }),
  });
  await world.pass(5_000);
  for (let n = 0; n < 30; n += 1) await world.until(createKey(backend, key(`k${n}`)));
  isRefusing = true;
  for (let n = 0; n < 30; n += 1) server.outside({ remove: `k${n}` });
  await world.pass(120_000);
  expect(lines.filter(({ message }) => /made again yet/.test(message))).toMatchObject([{ count: 30 }]);
  isRefusing = false;
  await world.pass(40_000);
  expect([server.keys.size, backend.status().unsettled]).toEqual([30, 0]);
  await backend.close();
});

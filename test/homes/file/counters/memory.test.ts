import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readStored } from '../../../../src/homes/file/counters/stored.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';
import { feedStage, report, until } from '../../../feed/stage.js';

it('a report that was acknowledged in memory becomes durable by itself, with its id', async () => {
  const stage = await feedStage({ keys: ['a'] });
  const answer = await stage.post('/v1/usage?ack=memory', report('r', ['a', 1, 2, 3]));
  expect(answer.body).toEqual({ durable: false, repeated: false, unknown_keys: [] });
  const stored = () => readStored(createFileSystem(), join(stage.folder, 'server.json.keyway'), null);
  await until(async () => (await stored()).reports?.includes('r') === true);
  expect((await stored()).counters).toMatchObject([{ accessKey: 'a', bytesUp: 1n, bytesDown: 2n, connections: 3n }]);
});

it('100,000 remembered reports are there after a restart, and the one before them is not', async () => {
  const stage = await feedStage({ keys: ['a'] });
  for (let number = 0; number <= 100_000; number += 1)
    await stage.gateway.backend.count({ id: `r${number}`, entries: [] }, 'memory');
  await stage.close();
  const later = await feedStage(stage);
  const again = async (id: string) => (await later.post('/v1/usage', report(id, ['a', 1, 1]))).body;
  expect(await again('r1')).toMatchObject({ repeated: true });
  expect(await again('r100000')).toMatchObject({ repeated: true });
  expect(await again('r0')).toMatchObject({ repeated: false });
  expect(later.gateway.core.keys.get('a')?.counters?.bytesUp).toBe(1n);
});

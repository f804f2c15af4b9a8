import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRecordsFile } from '../../../../src/files/records-file.js';
import { FORMAT } from '../../../../src/homes/file/counters/store-file.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';
import { feedStage, report, until } from '../../../feed/stage.js';

const bytesOf = (stage: Awaited<ReturnType<typeof feedStage>>) =>
  ['alpha', 'beta'].map((key) => String(stage.gateway.core.keys.get(key)?.counters?.bytesUp));

describe('while Keyway serves', () => {
  it('a data folder that is removed gets everything again, also where nothing is reported afterwards', async () => {
    const stage = await feedStage({ keys: ['alpha', 'beta'] });
    await stage.post('/v1/usage', report('a', ['alpha', 5, 0], ['beta', 7, 0]));
    const data = join(stage.folder, 'server.json.keyway');
    await rm(data, { recursive: true, maxRetries: 5 });
    await until(() => stage.lines.some((line) => line.includes('made again')));
    await stage.close();
    const again = await feedStage(stage);
    expect(bytesOf(again)).toEqual(['5', '7']);
    expect((await again.post('/v1/usage', report('a', ['alpha', 5, 0]))).body).toMatchObject({ repeated: true });
  });

  it('a data folder that is removed gets notes and the like again, also where nothing changes afterwards', async () => {
    const stage = await feedStage({ keys: ['alpha'] });
    const data = join(stage.folder, 'server.json.keyway');
    const kept = async (kind: 'notes' | 'events') => {
      return [...(await readRecordsFile(createFileSystem(), data)).of(kind).values()];
    };
    await stage.gateway.local?.records.change([{ kind: 'notes', id: 'alpha', body: '"of alpha"' }]);
    // The last write of all.
    await expect.poll(() => kept('events')).not.toEqual([]);
    await rm(data, { recursive: true, maxRetries: 5 });
    await until(() => stage.lines.some((line) => line.includes('made again')));
    await expect.poll(() => kept('notes')).toEqual(['"of alpha"']);
  });

  it('counters alone that are removed are written whole with the next report, which says that they were not at first', async () => {
    const stage = await feedStage({ keys: ['alpha', 'beta'] });
    await stage.post('/v1/usage', report('a', ['alpha', 5, 0]));
    await rm(join(stage.folder, 'server.json.keyway', `counters-${FORMAT}`), { recursive: true });
    const lost = await stage.post('/v1/usage', report('b', ['beta', 7, 0]));
    expect(lost.status).toBe(503);
    expect((await stage.post('/v1/usage', report('b', ['beta', 7, 0]))).body).toMatchObject({ durable: true });
    await stage.close();
    expect(bytesOf(await feedStage(stage))).toEqual(['5', '7']);
  });
});

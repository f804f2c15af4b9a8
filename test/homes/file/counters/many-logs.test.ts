import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FORMAT } from '../../../../src/homes/file/counters/store-file.js';
import { bytesUp, dataFolder, openStore } from './store-folder.js';

it('processes that come and go, as commands do, leave no ever longer row of logs', async () => {
  const folder = await dataFolder();
  for (let count = 1; count <= 110; count += 1) {
    const { store, report } = await openStore(folder, ['alpha']);
    await report(`r${count}`, [['alpha', 1n]]);
    await store.close();
  }
  expect((await readdir(join(folder, `counters-${FORMAT}`))).length).toBeLessThan(102);
  const opened = await openStore(folder, ['alpha']);
  expect([bytesUp(opened, 'alpha'), opened.reports.all().length]).toEqual([110n, 110]);
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FileSystemPort } from '../../../../src/core/ports.js';
import { createStoreLog } from '../../../../src/homes/file/counters/store-log.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-store-log-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A file system whose syncs of files wait until they are let go. */
function slowly(): { readonly fileSystem: FileSystemPort; hold(): () => void } {
  const system = createFileSystem();
  let held = Promise.resolve();
  return {
    fileSystem: {
      ...system,
      sync: async (path) => {
        await held;
        await system.sync(path);
      },
    },
    hold() {
      let release = () => {};
      held = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}

it.each([
  ['begins', 0],
  ['is added to', 1],
])('a log that %s while the log turns is not added to afterwards: its end would go with it', async (_what, before) => {
  const { fileSystem, hold } = slowly();
  const log = createStoreLog(fileSystem, folder, 1, { nextNumber: 1, previous: null, stateNumber: 0 });
  for (let batch = 0; batch < before; batch += 1) await log.add(Buffer.from([1]));
  const release = hold();
  const onItsWay = log.add(Buffer.from([2]));
  const number = log.turn();
  release();
  await onItsWay;
  expect(number).toBe(2);
  await log.add(Buffer.from([3]));
  expect([...(await fileSystem.list(folder))].sort()).toEqual(['log-0000000001', 'log-0000000002']);
});

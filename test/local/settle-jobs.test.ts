import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { writeState } from '../../src/local/counters/lines.js';
import { readStored } from '../../src/local/counters/stored.js';
import { settleRequest } from '../../src/local/settle-jobs.js';
import { createFileSystem } from '../../src/platform/file-system.js';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

it('says of a restore that nobody else does that it is done, also where it took longer than others are waited for', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-settle-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const fileSystem = createFileSystem();
  let now = 0;
  const clock = {
    now: () => 0,
    monotonic: () => {
      now += 200_000;
      return now;
    },
  };
  const [configPath, dataFolder] = [join(folder, 'server.json'), join(folder, 'data')];
  const configuration = Buffer.from('{"mode":"server","access_keys":["a"]}');
  const counters = [{ accessKey: 'a', bytesUp: 7n, bytesDown: 0n, connections: 0n, createdAt: 0, leftAt: null }];
  const state = { configuration, counters, reports: [], sources: null };
  const others = { fileSystem, clock, log: silent, progress: { show() {}, clear() {} } };
  const place = { configPath, dataFolder, inPlace: false, ...others };
  await settleRequest(place, 'restore', writeState(state, 0), configuration);
  const stored = await readStored(fileSystem, dataFolder, configPath);
  expect(stored).toMatchObject({ configuration, counters: [{ accessKey: 'a', bytesUp: 7n }] });
});

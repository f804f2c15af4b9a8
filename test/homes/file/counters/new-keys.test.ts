import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { KeyRegistry } from '../../../../src/core/keys/registry.js';
import { openCountersStore } from '../../../../src/homes/file/counters/store.js';
import { FORMAT } from '../../../../src/homes/file/counters/store-file.js';
import { createStoredParts } from '../../../../src/homes/file/counters/stored.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';

let dataFolder = '';
beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'keyway-new-keys-'));
});
afterEach(() => rm(dataFolder, { recursive: true, force: true }));

const log = { debug() {}, info() {}, warn() {}, error() {} };
const MANY = Array.from({ length: 10_000 }, (_, index) => ({
  accessKey: `key-${index}`,
  name: null,
  limitBytes: null,
}));

async function open(now: () => number, monotonic: () => number) {
  const keys = new KeyRegistry(now, { tracksChanges: true });
  keys.replaceAll(MANY);
  const clock = { now, monotonic };
  const fileSystem = createFileSystem();
  const parts = { ...createStoredParts(), keys };
  const store = await openCountersStore({ fileSystem, dataFolder, ...parts, clock, log, countersWriteMilliseconds: 5 });
  return { keys, store };
}

it('a great many keys that a configuration brings are written a while after, with the time when they came', async () => {
  let passed = 0;
  const first = await open(
    () => 1000,
    () => passed,
  );
  const fileSystem = createFileSystem();
  const folder = join(dataFolder, `counters-${FORMAT}`);
  await vi.waitFor(async () => {
    passed += 6000;
    expect((await fileSystem.list(folder)).some((name) => name.startsWith('state-'))).toBe(true);
  }, 20_000);
  await first.store.close();
  const second = await open(
    () => 2000,
    () => 0,
  );
  expect(second.keys.get('key-9999')?.counters?.createdAt).toBe(1000);
  expect(second.keys.takeUnlisted()).toBe(false);
  await second.store.close();
});

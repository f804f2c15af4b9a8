import { expect, it } from 'vitest';
import type { LogPort } from '../../../src/core/ports.js';
import { openLocalBackend } from '../../../src/homes/file/backend.js';
import { createMemoryFiles } from '../../../src/platform/memory-files.js';

it('a listener that fails is named in the log, and keeps no other from being told of a change', async () => {
  const said: unknown[] = [];
  const log: LogPort = { debug() {}, info() {}, warn() {}, error: (fields) => said.push(fields) };
  const clock = { now: () => 7, monotonic: () => 7 };
  const backend = await openLocalBackend({ configPath: null, fileSystem: createMemoryFiles(), clock, log });
  const told: string[] = [];
  backend.onChange(() => {
    throw new Error('a resolver that cannot follow');
  });
  backend.onChange((reason) => told.push(reason));
  await backend.changeDns({ enabled: true });
  expect([told, said]).toEqual([['saved'], [{ reason: 'a resolver that cannot follow' }]]);
  await backend.close();
});

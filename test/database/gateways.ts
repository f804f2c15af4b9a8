import { onTestFinished } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { type DatabaseBackend, type DatabaseBackendOptions, openDatabaseBackend } from '../../src/database/backend.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';

const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** A backend over the database that closes with the test. */
export async function openBackend(
  url: string,
  options: Partial<DatabaseBackendOptions> = {},
): Promise<DatabaseBackend> {
  const backend = await openDatabaseBackend({
    url,
    clock: systemClock,
    random: systemRandom,
    log: silent,
    lookUpMilliseconds: 1,
    ...options,
  });
  onTestFinished(() => backend.close());
  return backend;
}

/** Resolves once the backend has seen all that was committed before. */
export async function seesAll({ live }: DatabaseBackend): Promise<void> {
  await live?.key('a key that nobody has');
}

import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { UsageReport } from '../../../src/core/backend.js';
import type { AccessKey } from '../../../src/core/model.js';
import type { LogPort } from '../../../src/core/ports.js';
import {
  type DatabaseBackend,
  type DatabaseBackendOptions,
  openDatabaseBackend,
} from '../../../src/homes/database/backend.js';
import { systemClock, systemRandom } from '../../../src/platform/system-ports.js';
import { query } from './database.js';

/** For what says nothing of interest to a test. */
export const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

const urls = new WeakMap<DatabaseBackend, string>();

/** A backend over the database that closes with the test. */
export async function openBackend(
  url: string,
  options: Partial<DatabaseBackendOptions> = {},
): Promise<DatabaseBackend> {
  const all = { clock: systemClock, random: systemRandom, log: silent, lookUpMilliseconds: 1, pollMilliseconds: 100 };
  const backend = await openDatabaseBackend({ url, ...all, ...options });
  urls.set(backend, url);
  onTestFinished(() => backend.close());
  return backend;
}

/** Resolves once the backend shows all that was committed before. */
export async function seesAll(backend: DatabaseBackend): Promise<void> {
  const [heads] = await query(
    urls.get(backend) ?? '',
    "select (select number from keyway.heads where name = 'state') as state, (select number from keyway.heads where name = 'counters') as counters",
  );
  const isSeen = () => {
    const { state, counters, connections } = backend.status().seen;
    const batch = BigInt(String(heads?.counters));
    return state >= BigInt(String(heads?.state)) && counters >= batch && connections >= batch;
  };
  while (!isSeen()) await pause(5);
}

export const key = (accessKey: string, name: string | null = null, limitBytes: bigint | null = null): AccessKey => ({
  accessKey,
  name,
  limitBytes,
});

/** Of one key, as many bytes up as down. */
export const report = (
  id: string | null,
  accessKey: string,
  bytes: bigint,
  connections: bigint | null = null,
): UsageReport => ({
  id,
  entries: [{ accessKey, bytesUp: bytes, bytesDown: bytes, connections }],
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { KeyRegistry } from '../../../../src/core/keys/registry.js';
import type { FileSystemPort } from '../../../../src/core/ports.js';
import type { StoreFormat } from '../../../../src/homes/file/counters/formats.js';
import {
  createRememberedReports,
  type RememberedReports,
} from '../../../../src/homes/file/counters/remembered-reports.js';
import { type CountersStore, openCountersStore } from '../../../../src/homes/file/counters/store.js';
import { createStoredParts } from '../../../../src/homes/file/counters/stored.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';
import { systemClock } from '../../../../src/platform/system-ports.js';

export interface OpenStore {
  readonly keys: KeyRegistry;
  readonly reports: RememberedReports;
  readonly store: CountersStore;
  /** What was logged as a warning or an error, with its fields. */
  readonly complaints: readonly string[];
  /** What else was logged. */
  readonly lines: readonly string[];
  report(id: string, entries: readonly (readonly [string, bigint])[]): Promise<void>;
}

/** A data folder of its own that goes with the test. */
export async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-store-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens the store over real files; these keys are what the configuration has. */
export async function openStore(
  folder: string,
  registered: readonly string[],
  options: {
    readonly compactBytes?: number;
    readonly formats?: readonly StoreFormat[];
    readonly fileSystem?: FileSystemPort;
  } = {},
): Promise<OpenStore> {
  const keys = new KeyRegistry(() => 7, { tracksChanges: true });
  const records = registered.map((accessKey) => ({ accessKey, name: null, limitBytes: null }));
  keys.replaceAll(records);
  const reports = createRememberedReports();
  const complaints: string[] = [];
  const lines: string[] = [];
  const write = (to: string[]) => (fields: object, message: string) => {
    to.push(`${message} ${JSON.stringify(fields)}`);
  };
  const log = { debug: write(lines), info: write(lines), warn: write(complaints), error: write(complaints) };
  const ports = { fileSystem: createFileSystem(), clock: systemClock, log };
  const store = await openCountersStore({
    ...ports,
    dataFolder: folder,
    ...{ ...createStoredParts(), keys, reports },
    countersWriteMilliseconds: 0,
    ...options,
  });
  keys.replaceAll(records);
  onTestFinished(() => store.close());
  return {
    keys,
    reports,
    store,
    complaints,
    lines,
    async report(id, entries) {
      keys.addUsage(entries.map(([accessKey, bytesUp]) => ({ accessKey, bytesUp, bytesDown: 0n, connections: null })));
      reports.add(id);
      await store.flush();
    },
  };
}

export function bytesUp({ keys }: OpenStore, accessKey: string): bigint | undefined {
  return keys.get(accessKey)?.counters?.bytesUp;
}

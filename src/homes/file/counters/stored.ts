import { setTimeout as sleep } from 'node:timers/promises';
import { KeyRegistry } from '../../../core/keys/registry.js';
import type { KeptCounters } from '../../../core/keys/types.js';
import type { AccessKey } from '../../../core/model.js';
import type { FileSystemPort } from '../../../core/ports.js';
import { readDocument } from '../../../document/document.js';
import { dataFolderAt } from '../../../files/data-folder.js';
import { readTarget, sameFile, type TargetFile } from '../../../files/write-file.js';
import { failureCode, failureWords } from '../../../platform/failure-words.js';
import { exists } from '../../../platform/presence.js';
import { CountersStoreError, newestFormat, STORE_FORMATS } from './formats.js';
import type { StoredState } from './lines.js';
import { findSource, sourceIn } from './open-folder.js';
import { PostedCounters } from './posted-counters.js';
import type { StoreRecord } from './records.js';
import { createRenewals, decideRenewals, type Renewals } from './recreated-keys.js';
import { createRememberedReports, type RememberedReports } from './remembered-reports.js';
import type { StoredSources } from './source-lines.js';

const ATTEMPTS = 400;
const PAUSE_MS = 5;
const DAMAGED_ATTEMPTS = 3;

class DamagedStoreError extends CountersStoreError {}

/** A state whose counters are all in memory. */
export interface ReadState extends Omit<StoredState, 'notes'> {
  readonly counters: readonly KeptCounters[];
}

/**
 * Reads configuration file, counters and remembered reports as they were durable at one moment, even while a Keyway
 * serves them. The sizes of the store are taken while the configuration file stays the same, and a store only appends to
 * what it has. Without a configuration path it reads counters and reports alone. Changes nothing. Rejects with
 * `CountersStoreError` or the file system's error.
 */
export async function readStored(
  fileSystem: FileSystemPort,
  dataFolder: string,
  configurationPath: string | null,
): Promise<ReadState> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      const found = await readOnce(fileSystem, dataFolder, configurationPath);
      if (found !== null) return found;
    } catch (error) {
      // A list of files that was read while they changed may lack one.
      if (error instanceof DamagedStoreError && attempt < DAMAGED_ATTEMPTS) continue;
      // A new state was written meanwhile, and the listed files are gone.
      const isGone = failureCode(error) === 'ENOENT' && attempt < ATTEMPTS - 1;
      if (!isGone || !(await exists(fileSystem, dataFolder))) throw error;
    }
    await sleep(PAUSE_MS);
  }
  throw new CountersStoreError(
    'the configuration file is being written all the time, or a write of it was interrupted: start Keyway, which ends that, and try again',
  );
}

/** Null when the configuration file changed meanwhile. */
async function readOnce(
  fileSystem: FileSystemPort,
  dataFolder: string,
  configurationPath: string | null,
): Promise<ReadState | null> {
  // A file that is being overwritten in place is half the old one and half the new.
  if (configurationPath !== null && (await exists(fileSystem, dataFolderAt(dataFolder).inPlaceCopy))) return null;
  const file = configurationPath === null ? null : await readConfiguration(fileSystem, configurationPath);
  // Files that an earlier Keyway has left there do not count.
  await newestFormat(fileSystem, dataFolder, STORE_FORMATS);
  const { format, folder, files } = await findSource(fileSystem, dataFolder, STORE_FORMATS);
  if (file !== null && !sameFile(file.stat, await fileSystem.stat(file.realPath))) return null;
  const owner = createStoredParts();
  const { keys, reports, renewals, sources } = owner;
  const { damage } = await format.read(fileSystem, folder, files, (record) => take(record, owner));
  if (damage.length > 0) {
    throw new DamagedStoreError(
      `the store of counters in ${folder} is damaged: ${damage.join('; ')}. Keyway moves it aside when it starts and goes on with what can be read; "keyway counters export --from ${folder}" shows what that is`,
    );
  }
  if (file !== null) decideRenewals(renewals, keys, keysOf(file.bytes), 0);
  return {
    configuration: file?.bytes ?? null,
    counters: [...keys.allKept()],
    reports: reports.all(),
    sources: storedSources(sources),
  };
}

async function readConfiguration(fileSystem: FileSystemPort, path: string): Promise<TargetFile> {
  return readTarget(fileSystem, path).catch((cause: unknown) => {
    throw new CountersStoreError(`The configuration file ${path} cannot be read: ${failureWords(cause)}`, { cause });
  });
}

/** The readable part of a store in this folder, such as a damaged one that was moved aside. */
export interface Salvage {
  readonly counters: readonly KeptCounters[];
  /** The unreadable parts, one sentence each. */
  readonly damage: readonly string[];
}

/** Changes nothing. Rejects with `CountersStoreError` when there is no store, else with the file system's error. */
export async function readSalvage(fileSystem: FileSystemPort, folder: string): Promise<Salvage> {
  const { format, files } = await sourceIn(fileSystem, folder, STORE_FORMATS);
  if (files.length === 0) throw new CountersStoreError(`${folder} holds no counters`);
  const owner = createStoredParts();
  const { damage } = await format.read(fileSystem, folder, files, (record) => take(record, owner));
  return { counters: [...owner.keys.allKept()], damage };
}

/** Everything that a store holds, in memory. */
export interface StoredParts {
  readonly keys: KeyRegistry;
  readonly reports: RememberedReports;
  readonly renewals: Renewals;
  readonly sources: PostedCounters;
}

/** Empty parts to read a store into. */
export function createStoredParts(): StoredParts {
  const keys = new KeyRegistry(() => 0);
  // Without clocks of its own: times are as they were kept.
  const clock = { now: () => 0, monotonic: () => 0 };
  const sources = new PostedCounters({ keys, count: (report) => keys.addUsage(report), clock });
  return { keys, reports: createRememberedReports(), renewals: createRenewals(), sources };
}

function storedSources(sources: PostedCounters): StoredSources {
  const all = sources.all();
  return { sources: all, bases: all.flatMap(({ name }) => [...sources.bases(name)]) };
}

export function take(record: StoreRecord, { keys, reports, renewals, sources }: StoredParts): void {
  if (record.kind === 'counters') keys.load(record.counters);
  else if (record.kind === 'dropped') keys.loadDropped(record.accessKey);
  else if (record.kind === 'renewing') renewals.takeOver(record.renewal);
  else if (record.kind === 'settled') renewals.settle(record.accessKey);
  else if (record.kind === 'report') reports.add(record.id);
  else if (record.kind === 'noReports') reports.restore([]);
  else if (record.kind === 'source') sources.load(record.source);
  else if (record.kind === 'base') sources.loadBase(record.base);
  else if (record.kind === 'sourceForgotten') sources.loadForgotten(record.name);
}

/** None, where the bytes are no configuration. */
function keysOf(bytes: Buffer): readonly AccessKey[] {
  try {
    return readDocument(bytes).configuration.keys;
  } catch {
    return [];
  }
}

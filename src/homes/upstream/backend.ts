import { join } from 'node:path';
import type { UpstreamServer } from '../../client/server.js';
import type { Backend } from '../../core/backend.js';
import { LocalRecords } from '../../core/kept-records.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { ListenerConfig } from '../../core/model.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort, RandomPort } from '../../core/ports.js';
import { inDataFolder } from '../../files/foreign.js';
import { holdForServing } from '../../files/hold.js';
import { createKeptVersions } from '../../files/kept-versions.js';
import { lockPorts } from '../../files/lock.js';
import { openRecordsFile } from '../../files/records-file.js';
import { removeStaleTemporaries } from '../../files/write-file.js';
import { withBulkKey } from './bulk-key.js';
import { createKnownKeys, KNOWN_KEYS_FILE } from './known-keys.js';
import { createServerState, type ServerStateStatus } from './state.js';
import { withOwnTexts } from './struck-configuration.js';
import { systemTimers, type TimersPort } from './timers.js';
import { NO_WRITE_JOURNAL, openWriteJournal, WRITE_JOURNAL_FILE } from './write-journal.js';

export interface UpstreamBackendOptions {
  readonly server: UpstreamServer;
  /** The folder for what outlives this process; it belongs to that server. Null for none. */
  readonly dataFolder: string | null;
  /** The given credentials of the server's listener; those that are not given are read from its configuration. Default null. */
  readonly listener?: ListenerConfig;
  /** Lists are what was last known while the server is away; default false. */
  readonly servesStale?: boolean;
  /** True reads DNS and outbound settings at the start, for a resolver here; default false. */
  readonly readsSettings?: boolean;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  readonly progress?: ProgressPort;
  readonly timers?: TimersPort;
}

/** The state of a running server, through its own management API (design: "In front of a running server"). */
export interface UpstreamBackend extends Backend {
  status(): ServerStateStatus;
}

/** The time between two looks at the hold of the data folder, ms. */
const HOLD_LOOKS = 1_000;

/**
 * Opens the data folder, and loads what the server has; one that is away is waited for while serving. Rejects with an `Error`
 * whose message is for people where the folder cannot be had, or the server lets nobody in with these credentials.
 */
export async function openUpstreamBackend(options: UpstreamBackendOptions): Promise<UpstreamBackend> {
  const { dataFolder, fileSystem } = options;
  return dataFolder === null
    ? open(options)
    : inDataFolder(fileSystem, { dataFolder, configPath: null }, () => open(options));
}

async function open(options: UpstreamBackendOptions): Promise<UpstreamBackend> {
  const { dataFolder, fileSystem, clock, log, timers = systemTimers } = options;
  const server = withBulkKey(options.server, { clock, wait: timers.wait });
  const hold =
    dataFolder === null
      ? null
      : await holdForServing({
          ...lockPorts(fileSystem),
          log,
          dataFolder,
          configurationPath: null,
          owner: server.name,
          lookMilliseconds: HOLD_LOOKS,
        });
  try {
    if (hold !== null)
      for (const name of [WRITE_JOURNAL_FILE, KNOWN_KEYS_FILE])
        await removeStaleTemporaries(fileSystem, join(hold.folder.path, name));
    const journal =
      hold === null
        ? NO_WRITE_JOURNAL
        : withOwnTexts(await openWriteJournal({ fileSystem, folder: hold.folder.path, log }), server.texts);
    const versions = hold === null ? null : createKeptVersions({ fileSystem, folder: hold.folder.versions, clock });
    const knownKeys =
      hold === null
        ? null
        : (keys: KeyReader) =>
            createKnownKeys({ server, keys, fileSystem, folder: hold.folder.path, clock, timers, log });
    const records =
      hold === null ? new LocalRecords() : await openRecordsFile({ fileSystem, folder: hold.folder.path, log, hold });
    const onClosed = async () => {
      await journal.close();
      await records.close();
      await versions?.idle();
      await hold?.release();
    };
    const { readsSettings = false, listener = null, servesStale = false } = options;
    const state = createServerState({
      ...options,
      server,
      timers,
      readsSettings,
      listener,
      servesStale,
      journal,
      versions,
      knownKeys,
      records,
      onClosed,
    });
    await state.open();
    return { ...state.backend, records };
  } catch (error) {
    server.close();
    await hold?.release();
    throw error;
  }
}

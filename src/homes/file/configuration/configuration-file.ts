import { resolve } from 'node:path';
import type { ConfigurationFingerprint, ConfigurationPatch, VersionSource } from '../../../core/backend.js';
import type { ConfigurationObserverPort } from '../../../core/configuration-observer.js';
import { DomainError, messageOf } from '../../../core/errors.js';
import type { KeptRecords } from '../../../core/kept-records.js';
import { onMonotonicClock } from '../../../core/kept-time.js';
import type { ConfigurationChange, ServerConfiguration } from '../../../core/model.js';
import type { FileSystemPort } from '../../../core/ports.js';
import { inTurns } from '../../../core/steps.js';
import { StartWatch } from '../../../document/check/start-watch.js';
import { ConfigurationShapeError, type ReadConfiguration, readDocument } from '../../../document/document.js';
import { toReplacement } from '../../../document/replacement.js';
import { type Hold, holdForServing } from '../../../files/hold.js';
import { createInPlaceWriting, type InPlaceWriting } from '../../../files/in-place.js';
import { createKeptVersions } from '../../../files/kept-versions.js';
import { lockPorts } from '../../../files/lock.js';
import type { VersionsOptions } from '../../../files/versions-of-file.js';
import { readTarget, removeStaleTemporaries, type TargetFile } from '../../../files/write-file.js';
import { failureCode, failureWords } from '../../../platform/failure-words.js';
import type { ProcessesPort } from '../../../platform/processes.js';
import { compactJsonSteps, JsonSyntaxError } from '../../../wire/json/json.js';
import { type FileServer, oldestReading } from '../../../wire/traits/server-file.js';
import { SETTLED_AFTER } from '../../../wire/traits/storing.js';
import { type ChangeJournal, createChangeJournal } from './change-journal.js';
import { CommitQueue } from './commit-queue.js';
import { EditWatch } from './edit-watch.js';
import { FileState, type ServedFile } from './file-state.js';
import { FileWrites } from './file-writes.js';
import { InboundsWatch } from './inbounds-watch.js';
import { BrokenFileError, type FoundFile, KnownFile, readFirst } from './known-file.js';
import { changeCount } from './pending-changes.js';
import { type ReloadListener, Reloads } from './reloads.js';
import { presentPart, UnconfirmedChanges } from './unconfirmed-changes.js';
import type { WholeContent } from './whole-content.js';

/**
 * The configuration file of a server on disk. Changes whose write failed stay pending, are laid over every configuration
 * that is handed out, and go with the next write.
 */
export interface ConfigurationFile {
  /**
   * Writes the change durably, together with whatever else waits, over what the file holds now. Resolves, after the write
   * that contains it, to everything that this write carried: the same object for all who shared it. Rejects with
   * `DomainError('savedInMemory')` when that write failed, the change then staying pending; with `saveFailed` where it is
   * given up.
   */
  save(change: ConfigurationChange): Promise<ConfigurationChange>;
  /** The file as one compact JSON value, numbers spelled as in the file. Rejects with configRead/Strip/ParseFailed. */
  readAsJson(): Promise<readonly Buffer[]>;
  /** Replaces the whole file with this JSON text, pretty-printed. Rejects with configModeMissing/Format/WriteFailed. */
  replace(body: Buffer): Promise<void>;
  /** Makes a patch by the smallest edit, over what the file holds now. Rejects as the port's does. */
  patch(patch: ConfigurationPatch): Promise<ConfigurationFingerprint>;
  /** Keeps a version as the port does. */
  keepVersion(): Promise<void>;
  readonly versions: VersionSource;
  /** Called synchronously with each configuration that became live from outside or by `replace`. */
  onReload(listener: ReloadListener): void;
  /** The last good configuration, with the changes that are not written yet laid over it. */
  load(): ServerConfiguration;
  status(): ConfigurationFileStatus;
  /** So many keys are gone from the file that were there when a Keyway last served it. */
  goneMeanwhile(keys: number): void;
  /** The data folder, which is this process's as the file is. */
  readonly hold: Hold;
  /**
   * Makes the file, byte for byte, this content; the present one is kept first. It is live when this resolves, for
   * listeners with the reason `restored`. Rejects with the reason why these bytes are no configuration, with
   * `configWriteFailed` or `ContentChangedError`. Resolves to the changes whose write had failed.
   */
  restore(bytes: Buffer, how?: WholeContent): Promise<ConfigurationChange>;
  /** The servers that start from the file, or did before a write of Keyway's. */
  started(): readonly FileServer[];
  /** Remembers in these records the servers that do not start any more, and recalls those of a Keyway before. */
  rememberStarts(records: KeptRecords): void;
  /** Finishes every write that was accepted, tries what is pending once more, and gives the data folder back. */
  close(): Promise<void>;
}

export interface ConfigurationFileStatus {
  readonly writing: boolean;
  /** Why the last write failed; null after one that did not. */
  readonly lastWriteError: string | null;
  /** Why whatever is written into the file would be lost at present; null when it would stay. */
  readonly takenError: string | null;
  /** Why the file cannot be read as a configuration at present; null when it can. */
  readonly parseError: string | null;
  /** The reason why a file with inbounds is not live as it stands, when a server writes it, too; null while nothing is wrong. */
  readonly inboundsError: string | null;
  /** The reason why a server does not start any more from what Keyway has written; null while nothing is wrong. */
  readonly startError: string | null;
  /** The number of keys, rule lists and DNS settings that are changed in memory and not in the file. */
  readonly pendingChanges: number;
}

export interface ConfigurationFileOptions extends VersionsOptions {
  /** The servers that may read the file; default none that is known. */
  readonly servers?: readonly FileServer[];
  /** Gives a change up for good if its write fails, for a process that ends then. Default false. */
  readonly givesUpUnsaved?: boolean;
  /** Milliseconds that a server of the same file may take to read a change; 0 without such a server. Default 7 s. */
  readonly unconfirmedMilliseconds?: number;
  /** Milliseconds between checks of the file, 0 for never; default 500. */
  readonly pollMilliseconds?: number;
  /** Asks the system for events of the folder, too; default true. */
  readonly watch?: boolean;
  /** The processes that may hold the file; by default as `/proc` tells them, which needs Linux. */
  readonly processes?: ProcessesPort;
  readonly observer?: ConfigurationObserverPort;
  /** Waits before the file is read again; for tests. */
  readonly wait?: (milliseconds: number) => Promise<void>;
}

/** The configuration file cannot be served from at start; the message says why. */
export class ConfigurationFileError extends Error {
  /** `missing`: there is no file; `unreadable`: the system refuses; `broken`: it is not a configuration. */
  readonly reason: 'missing' | 'unreadable' | 'broken';

  constructor(path: string, cause: unknown) {
    super(`The configuration file ${path} cannot be read: ${failureWords(cause)}`, { cause });
    this.name = 'ConfigurationFileError';
    const code = failureCode(cause);
    this.reason = cause instanceof BrokenFileError ? 'broken' : code === 'ENOENT' ? 'missing' : 'unreadable';
  }
}

const POLL_MS = 500;

/**
 * Takes the configuration file and its data folder, and serves from them until `close`. Rejects with `InUseError`,
 * `DataFolderError` or `ConfigurationFileError`.
 *
 * A change whose write failed stays pending. It is not tried again by itself: the next write, the next reload of an edited
 * file, the first look that finds a file mended, or `close` carries it.
 */
export async function createConfigurationFile(options: ConfigurationFileOptions): Promise<ConfigurationFile> {
  const { fileSystem, clock, dataFolder, log, pollMilliseconds = POLL_MS } = options;
  const { processes, wait } = { ...lockPorts(fileSystem), ...options };
  const path = resolve(options.path);
  const held = { fileSystem, processes, wait, log, dataFolder, configurationPath: path };
  const hold = await holdForServing({ ...held, lookMilliseconds: pollMilliseconds }).catch(async (error: unknown) => {
    // A user who may not read the file usually may not write to its folder either: report the file.
    throw (await refusedReading(fileSystem, path)) ?? error;
  });
  try {
    const { folder } = hold;
    const versions = createKeptVersions({ fileSystem, folder: folder.versions, clock });
    const overwriting = createInPlaceWriting({ fileSystem, copyPath: folder.inPlaceCopy, log, keep: versions.keep });
    const first = await openFile({ fileSystem, path, wait, log }, overwriting);
    const { unconfirmed, journal } = await openUnconfirmed(options, processes, hold, first);
    const { observer, watch = true, servers = [], givesUpUnsaved = false } = options;
    const own = await processes.own();
    const served: ServedFile = {
      ...{ path, fileSystem, clock, log, wait, pollMilliseconds, watch, servers, givesUpUnsaved },
      process: own === null ? 'this process' : `process ${own.pid}`,
      ...(observer && { observer }),
      ...{ hold, versions, journal, overwriting: options.inPlace ? overwriting : null },
      state: new FileState(first.configuration, unconfirmed),
      inbounds: new InboundsWatch({ path, log, legacyListReading: oldestReading(servers) }),
      starts: new StartWatch({ of: { file: path }, log, servers: () => servers }),
    };
    // Where it is not, the next look is to ask again.
    await served.overwriting?.checkThere(path).catch(() => {
      served.state.reading = 'unavailable';
    });
    return serve(served, first);
  } catch (error) {
    await hold.release();
    throw error;
  }
}

async function refusedReading(fileSystem: FileSystemPort, path: string): Promise<ConfigurationFileError | null> {
  try {
    await (await fileSystem.open(path)).close();
    return null;
  } catch (error) {
    return new ConfigurationFileError(path, error);
  }
}

type FirstReading = FoundFile & ReadConfiguration;

/** Reads the file for the first time, after ending what an earlier Keyway has left half-done. */
async function openFile(
  { fileSystem, path, wait, log }: Pick<ServedFile, 'fileSystem' | 'path' | 'wait' | 'log'>,
  overwriting: InPlaceWriting,
): Promise<FirstReading> {
  try {
    await overwriting.recover(path);
    const first = await readFirst({ fileSystem, path, wait });
    const { bytes, lists, wrongLists } = first.document;
    // Served, it would have no keys, and the next write would make that last.
    if (lists.length === 0 && wrongLists.length > 0)
      throw new BrokenFileError(bytes, {
        cause: new ConfigurationShapeError(`${wrongLists.join(', ')}: expected an array`),
      });
    await removeStaleTemporaries(fileSystem, first.target.realPath).catch((error: unknown) => {
      log.debug({ file: path, reason: failureWords(error) }, 'left-over temporary files could not be removed');
    });
    return first;
  } catch (error) {
    throw new ConfigurationFileError(path, error);
  }
}

/** Takes over the changes that the previous Keyway recorded as unconfirmed. */
async function openUnconfirmed(
  { fileSystem, clock, log, unconfirmedMilliseconds: milliseconds = SETTLED_AFTER }: ConfigurationFileOptions,
  processes: ProcessesPort,
  { folder }: Hold,
  { target, configuration }: FirstReading,
): Promise<{ readonly unconfirmed: UnconfirmedChanges; readonly journal: ChangeJournal }> {
  const unconfirmed = new UnconfirmedChanges(clock.monotonic, milliseconds);
  const boot = await processes.boot();
  const journal = createChangeJournal({ path: folder.unreadChanges, boot, milliseconds, fileSystem, clock, log });
  const { written: noted, intended } = await journal.read();
  for (const { at, former, written } of noted) unconfirmed.record(former, written, onMonotonicClock(clock, at));
  if (intended !== null) {
    const made = { former: intended.former, written: presentPart(intended.written, configuration) };
    if (changeCount(made.written) > 0) {
      unconfirmed.record(made.former, made.written, onMonotonicClock(clock, intended.at));
      await journal.add(made);
    }
  }
  // Before the file changes: after another kill, what was written before would count again.
  const superseded = unconfirmed.findSuperseded(configuration, onMonotonicClock(clock, writtenAt(target)));
  if (changeCount(superseded) > 0) {
    unconfirmed.record(superseded, superseded);
    await journal.add({ former: superseded, written: superseded });
  }
  return { unconfirmed, journal };
}

/** Milliseconds since the epoch. */
const writtenAt = ({ stat }: TargetFile): number => Number(stat.mtimeNs / 1_000_000n);

function serve(served: ServedFile, first: FirstReading): ConfigurationFile {
  const { fileSystem, clock, path, log, hold, versions, journal, overwriting, state, inbounds, starts } = served;
  const { mode } = first.configuration;
  if (mode !== 'server')
    log.warn(
      { file: path, mode },
      `${path}: the mode is not "server": no server starts from it, and edits are not applied`,
    );
  inbounds.look(first.document);
  starts.found(first.document);
  const reloads = new Reloads(served);
  reloads.reapply(first, onMonotonicClock(clock, writtenAt(first.target)));
  const file = new KnownFile(served, first, (...edit) => reloads.found(...edit));
  const writes = new FileWrites(served, file, reloads);
  const queue = new CommitQueue((changes) => writes.commit(changes));
  const writePending = async () => {
    if (changeCount(state.pending) > 0) await queue.add({}).catch(() => undefined);
  };
  void writePending();
  hold.onMadeAgain(() => {
    versions.forget();
    state.keepsNext = true;
  });
  const watch = new EditWatch(served, first.target.realPath, file, reloads, queue);
  let closing: Promise<void> | null = null;

  async function close(): Promise<void> {
    watch.stop();
    await queue.idle();
    await writePending();
    const lost = changeCount(state.pending);
    if (lost > 0) log.error({ file: path, changes: lost }, 'changes were not written into the configuration file');
    // The next edit may be bad, and this the last good content before it.
    if (writes.hasWritten) await versions.keep(file.document.bytes).catch(() => undefined);
    await versions.idle();
    await journal.close();
    await hold.release().catch((error: unknown) => {
      log.warn({ file: path, reason: failureWords(error) }, 'the file and its data folder could not be given back');
    });
  }

  function refuseWhenClosing(): void {
    if (closing !== null) throw new DomainError('configWriteFailed', 'Keyway is shutting down');
  }

  return {
    hold,
    load: () => state.live(),
    save: async (change) => {
      if (closing !== null) throw new DomainError('saveFailed', 'Keyway is shutting down');
      state.accepted.add(change);
      return queue.add(change);
    },
    restore: async (bytes, how) => {
      refuseWhenClosing();
      const whole = readDocument(bytes);
      const waiting = await queue.exclusive(() => writes.putWhole(whole, 'restored', how));
      void writePending();
      return waiting;
    },
    started: () => starts.started,
    rememberStarts(records) {
      starts.remember(records);
      starts.found(file.document);
    },
    goneMeanwhile: (keys) => reloads.goneMeanwhile(keys, file.document.bytes),
    replace: async (body) => {
      refuseWhenClosing();
      const whole = toReplacement(body, { read: readDocument });
      await queue.exclusive(() => writes.putWhole(whole, 'replaced'));
    },
    patch: async (patch) => {
      refuseWhenClosing();
      return queue.exclusive(() => writes.patch(patch));
    },
    keepVersion: () => queue.exclusive(() => writes.keepVersion()),
    versions: {
      list: versions.list,
      read: versions.read,
      present: async () => (await readTarget(fileSystem, path)).bytes,
    },
    readAsJson: () => {
      // Only while it is being overwritten does the file hold half a configuration.
      if (overwriting !== null) return queue.exclusive(() => readAsCompactJson(fileSystem, path));
      return readAsCompactJson(fileSystem, path);
    },
    onReload: (listener) => reloads.onReload(listener),
    status: () => ({
      writing: writes.isWriting,
      lastWriteError: writes.lastError,
      takenError: overwriting?.taken() ?? null,
      parseError: reloads.parseError,
      inboundsError: inbounds.trouble,
      startError: starts.trouble,
      pendingChanges: changeCount(state.pending),
    }),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** The file at `path` as one compact JSON value, in pieces. Rejects with configRead/Strip/ParseFailed. */
async function readAsCompactJson(fileSystem: FileSystemPort, path: string): Promise<readonly Buffer[]> {
  const { bytes } = await readTarget(fileSystem, path).catch((error: unknown) => {
    throw new DomainError('configReadFailed', failureWords(error));
  });
  try {
    return await inTurns(compactJsonSteps(bytes));
  } catch (error) {
    const comments = error instanceof JsonSyntaxError && error.step === 'comments';
    throw new DomainError(comments ? 'configStripFailed' : 'configParseFailed', messageOf(error));
  }
}

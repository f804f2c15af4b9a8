import { resolve } from 'node:path';
import type { ConfigurationFingerprint, ConfigurationPatch } from '../../../core/backend.js';
import type { ConfigurationObserverPort } from '../../../core/configuration-observer.js';
import { DomainError } from '../../../core/errors.js';
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
import { isMeantContent } from '../../../files/meant-content.js';
import type { VersionsOptions } from '../../../files/rewrite-file.js';
import { readTarget, removeStaleTemporaries, type TargetFile } from '../../../files/write-file.js';
import { failureCode, failureWords } from '../../../platform/failure-words.js';
import type { ProcessesPort } from '../../../platform/processes.js';
import { compactJsonSteps, JsonSyntaxError } from '../../../wire/json/json.js';
import { type FileServer, oldestReading } from '../../../wire/traits/server-file.js';
import { SETTLED_AFTER } from '../../../wire/traits/storing.js';
import { CommitQueue } from './commit-queue.js';
import { EditWatch } from './edit-watch.js';
import { FileState, type ServedFile } from './file-state.js';
import { FileWrites } from './file-writes.js';
import { InboundsWatch } from './inbounds-watch.js';
import { BrokenFileError, type FoundFile, KnownFile, readFirst } from './known-file.js';
import { changeCount } from './pending-changes.js';
import { ReappliedChanges } from './reapplied-changes.js';
import { type ReloadListener, Reloads } from './reloads.js';
import { createUnreadJournal, type UnreadJournal } from './unread-journal.js';

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
   * Makes the file, byte for byte, what a backup has; the present content is kept first. It is live when this resolves,
   * for listeners with the reason `restored`. Rejects with the reason why these bytes are no configuration, or with
   * `configWriteFailed`. The changes whose write failed come over it, unless `dropWaiting` gives them up; resolves to
   * those that were given up.
   */
  restore(bytes: Buffer, options?: { readonly dropWaiting?: boolean }): Promise<ConfigurationChange>;
  /** The changes whose write failed. */
  waiting(): ConfigurationChange;
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
  /** A change whose write fails is given up, and nothing of it comes later: for a process that ends then. Default false. */
  readonly givesUpUnsaved?: boolean;
  /** The time that a server beside may take to read a change of the file, in milliseconds; 0 where there is none. Default 7 s. */
  readonly unreadMilliseconds?: number;
  /** The time between looks at the file, in milliseconds, 0 for never; default 500. */
  readonly pollMilliseconds?: number;
  /** The system is asked for events of the folder, too; default true. */
  readonly watch?: boolean;
  /** The processes that may hold the file; by default as `/proc` tells them, which needs Linux. */
  readonly processes?: ProcessesPort;
  readonly observer?: ConfigurationObserverPort;
  /** Waits before the file is read again; for tests. */
  readonly wait?: (milliseconds: number) => Promise<void>;
}

/** The configuration file cannot be served from at start; the message says why. */
export class ConfigurationFileError extends Error {
  /** `missing`: there is none; `unreadable`: the system refuses; `broken`: it is no configuration. */
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
    // Whoever may not read the file may not write beside it, as a rule: the file is what is to be said.
    throw (await refusedReading(fileSystem, path)) ?? error;
  });
  try {
    const { folder } = hold;
    const versions = createKeptVersions({ fileSystem, folder: folder.versions, clock });
    const overwriting = createInPlaceWriting({ fileSystem, copyPath: folder.inPlaceCopy, log, keep: versions.keep });
    const first = await openFile({ fileSystem, path, wait, log }, overwriting);
    const { reapplied, journal } = await openUnread(options, processes, hold, first);
    const { observer, watch = true, servers = [], givesUpUnsaved = false } = options;
    const own = await processes.own();
    const served: ServedFile = {
      ...{ path, fileSystem, clock, log, wait, pollMilliseconds, watch, servers, givesUpUnsaved },
      process: own === null ? 'this process' : `process ${own.pid}`,
      ...(observer && { observer }),
      ...{ hold, versions, journal, overwriting: options.inPlace ? overwriting : null },
      state: new FileState(first.configuration, reapplied),
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

/** Takes over what the Keyway before noted for servers beside, unless a person has replaced the file since. */
async function openUnread(
  { fileSystem, clock, log, unreadMilliseconds: milliseconds = SETTLED_AFTER }: ConfigurationFileOptions,
  processes: ProcessesPort,
  { folder }: Hold,
  { target, configuration }: FirstReading,
): Promise<{ readonly reapplied: ReappliedChanges; readonly journal: UnreadJournal }> {
  const reapplied = new ReappliedChanges(clock.monotonic, milliseconds);
  const boot = await processes.boot();
  const journal = createUnreadJournal({ path: folder.unreadChanges, boot, milliseconds, fileSystem, clock, log });
  const isMeant = await isMeantContent(fileSystem, folder, target.bytes, { atStart: true });
  for (const { at, former, written } of isMeant ? [] : await journal.read())
    reapplied.record(former, written, onMonotonicClock(clock, at));
  // Before the file changes: after another kill, what was written before would count again.
  const superseded = reapplied.findSuperseded(configuration, onMonotonicClock(clock, writtenAt(target)));
  if (changeCount(superseded) > 0) {
    reapplied.record(superseded, superseded);
    await journal.add({ at: clock.now(), former: superseded, written: superseded });
  }
  return { reapplied, journal };
}

/** Milliseconds since the epoch. */
const writtenAt = ({ stat }: TargetFile): number => Number(stat.mtimeNs / 1_000_000n);

function serve(served: ServedFile, first: FirstReading): ConfigurationFile {
  const { fileSystem, clock, path, log, hold, versions, overwriting, state, inbounds, starts } = served;
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
    restore: async (bytes, restoreOptions) => {
      refuseWhenClosing();
      const whole = readDocument(bytes);
      return queue.exclusive(() => writes.putWhole(whole, 'restored', restoreOptions));
    },
    waiting: () => state.pending,
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
    throw new DomainError(comments ? 'configStripFailed' : 'configParseFailed', failureWords(error));
  }
}

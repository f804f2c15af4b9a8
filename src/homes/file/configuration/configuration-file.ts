import { resolve } from 'node:path';
import type { ConfigurationObserverPort } from '../../../core/configuration-observer.js';
import { DomainError } from '../../../core/errors.js';
import type { ConfigurationChange, ServerConfiguration } from '../../../core/model.js';
import type { ClockPort, FileSystemPort, LogPort } from '../../../core/ports.js';
import { type ReadConfiguration, readDocument } from '../../../document/document.js';
import { toReplacement } from '../../../document/replacement.js';
import { type Hold, holdForServing } from '../../../files/hold.js';
import { createInPlaceWriting, type InPlaceWriting } from '../../../files/in-place.js';
import { createKeptVersions, type KeptVersions } from '../../../files/kept-versions.js';
import { lockPorts } from '../../../files/lock.js';
import { isMeantContent } from '../../../files/meant-content.js';
import { removeStaleTemporaries } from '../../../files/write-file.js';
import { failureCode, failureWords } from '../../../platform/failure-words.js';
import type { ProcessesPort } from '../../../platform/processes.js';
import type { RootListBeside } from '../../../wire/traits/file-reading.js';
import { SETTLED_AFTER } from '../../../wire/traits/storing.js';
import { createCommitQueue } from './commit-queue.js';
import { readAsCompactJson } from './configuration-json.js';
import { createEditCheck } from './edit-check.js';
import { startEditWatch } from './edit-watch.js';
import { createFileState, present } from './file-state.js';
import { FileWrites } from './file-writes.js';
import { InboundsWatch } from './inbounds-watch.js';
import { BrokenFileError, createKnownFile, type FoundFile, readFirst } from './known-file.js';
import { createLiveConfiguration } from './live-configuration.js';
import { changeCount } from './pending-changes.js';
import { createUnreadChanges, type UnreadChanges } from './reapplied-changes.js';
import { createReloads, type ReloadListener } from './reloads.js';
import { createUnreadJournal, type UnreadJournal } from './unread-journal.js';

/**
 * The configuration file of a server on disk. Changes whose write failed stay pending, are laid over every configuration
 * that is handed out, and go with the next write.
 */
export interface ConfigurationFile {
  /**
   * Writes the change durably, together with whatever else waits, over what the file holds now. Resolves, after the write
   * that contains it, to everything that this write carried: the same object for all who shared it. Rejects with
   * `DomainError('saveFailed')` when that write failed, the change then staying pending.
   */
  save(change: ConfigurationChange): Promise<ConfigurationChange>;
  /** The file as one compact JSON value, numbers spelled as in the file. Rejects with configRead/Strip/ParseFailed. */
  readAsJson(): Promise<readonly Buffer[]>;
  /** Replaces the whole file with this JSON text, pretty-printed. Rejects with configModeMissing/Format/WriteFailed. */
  replace(body: Buffer): Promise<void>;
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
  /** Finishes every write that was accepted, tries what is pending once more, and gives the data folder back. */
  close(): Promise<void>;
}

export interface ConfigurationFileStatus {
  /** A write is on its way. */
  readonly writing: boolean;
  /** Why the last write failed; null after one that did not. */
  readonly lastWriteError: string | null;
  /** Why the file cannot be read as a configuration at present; null when it can. */
  readonly parseError: string | null;
  /** What of a file with inbounds is not live because a server writes it, too; null while nothing is wrong. */
  readonly inboundsError: string | null;
  /** How many keys, rule lists and DNS settings are changed in memory and not in the file. */
  readonly pendingChanges: number;
}

export interface ConfigurationFileOptions {
  readonly path: string;
  readonly dataFolder: string;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** Overwrites the file instead of replacing it: for one that is a mount point. Default false. */
  readonly inPlace?: boolean;
  /** Refuses to replace a file with inbounds for keys by one without; default: it is done, and logged as an error. */
  readonly guard?: boolean;
  /** What its servers read of a root list beside inbounds; default `union`. */
  readonly rootListBeside?: RootListBeside;
  /** How long a server beside may take to read a change of the file, in milliseconds; 0 where there is none. Default 7 s. */
  readonly unreadMilliseconds?: number;
  /** How often the file is looked at, 0 for never; default 500. */
  readonly pollMilliseconds?: number;
  /** Whether the system is asked for events of the folder, too; default true. */
  readonly watch?: boolean;
  /** Who holds the file and its data folder; by default as `/proc` tells it, which needs Linux: elsewhere give `createProcesses(pid)`. */
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
  const { fileSystem, dataFolder, log, pollMilliseconds = POLL_MS } = options;
  const { processes, wait } = { ...lockPorts(fileSystem), ...options };
  const path = resolve(options.path);
  const held = { fileSystem, processes, wait, log, dataFolder, configurationPath: path };
  const hold = await holdForServing({ ...held, lookMilliseconds: pollMilliseconds });
  try {
    const { folder } = hold;
    const versions = createKeptVersions({ fileSystem, folder: folder.versions, clock: options.clock });
    const overwriting = createInPlaceWriting({ fileSystem, copyPath: folder.inPlaceCopy, log, keep: versions.keep });
    const opened = await openFile({ ...options, path, wait }, overwriting);
    const unread = await openUnread(options, processes, { ...opened, hold });
    return serve({ ...options, path, wait, pollMilliseconds }, { ...opened, versions, overwriting, hold, unread });
  } catch (error) {
    await hold.release();
    throw error;
  }
}

type Options = ConfigurationFileOptions & Pick<Required<ConfigurationFileOptions>, 'wait'>;

type ServeOptions = Options & Pick<Required<ConfigurationFileOptions>, 'pollMilliseconds'>;

/** Reads the file for the first time, after ending what an earlier Keyway has left half-done. */
async function openFile(options: Options, overwriting: InPlaceWriting): Promise<FirstReading> {
  const { fileSystem, path, wait, log } = options;
  try {
    await overwriting.recover(path);
    const first = await readFirst({ fileSystem, path, wait });
    await removeStaleTemporaries(fileSystem, first.target.realPath).catch((error: unknown) => {
      log.debug({ file: path, reason: failureWords(error) }, 'left-over temporary files could not be removed');
    });
    return first;
  } catch (error) {
    throw new ConfigurationFileError(path, error);
  }
}

type FirstReading = FoundFile & ReadConfiguration;

interface Opened extends FirstReading {
  readonly versions: KeptVersions;
  readonly overwriting: InPlaceWriting;
  readonly hold: Hold;
  readonly unread: Unread;
}

/** What a server beside may not have read, and how it is noted. */
interface Unread {
  readonly changes: UnreadChanges;
  readonly journal: UnreadJournal;
  /** When the file was last written, on the clock of the changes. */
  readonly writtenAt: number;
}

/** Takes over what the Keyway before noted, unless a person has replaced the file since. */
async function openUnread(
  { fileSystem, clock, log, unreadMilliseconds = SETTLED_AFTER }: ConfigurationFileOptions,
  processes: ProcessesPort,
  { target, hold: { folder } }: Pick<Opened, 'target' | 'hold'>,
): Promise<Unread> {
  const changes = createUnreadChanges(clock.monotonic, unreadMilliseconds);
  const journal = createUnreadJournal({
    path: folder.unreadChanges,
    boot: await processes.boot(),
    milliseconds: unreadMilliseconds,
    fileSystem,
    clock,
    log,
  });
  const monotonic = (epoch: number) => clock.monotonic() - (clock.now() - epoch);
  const isMeant = await isMeantContent(fileSystem, folder, target.bytes, { atStart: true });
  for (const { at, former, written } of isMeant ? [] : await journal.read())
    changes.wrote(former, written, monotonic(at));
  return { changes, journal, writtenAt: monotonic(Number(target.stat.mtimeNs / 1_000_000n)) };
}

function serve(options: ServeOptions, opened: Opened): ConfigurationFile {
  const { fileSystem, path, wait, log } = options;
  const { versions, hold, unread } = opened;
  const overwriting = options.inPlace ? opened.overwriting : null;
  const state = createFileState(createLiveConfiguration(opened.configuration), unread.changes);
  const { rootListBeside = 'union' } = options;
  const inbounds = new InboundsWatch({ path, log, state, rootListBeside });
  inbounds.look(opened.document);
  const reloads = createReloads({
    ...options,
    state,
    versions,
    inbounds,
  });
  reloads.giveAgain(opened, unread.writtenAt);
  const isMeant = async (bytes: Buffer) => unread.changes.isAny() && isMeantContent(fileSystem, hold.folder, bytes);
  const file = createKnownFile({ fileSystem, path, wait, isMeant, onEdit: reloads.found }, opened);
  const { renew } = hold;
  const note = async (former: ConfigurationChange, written: ConfigurationChange) => {
    unread.changes.wrote(former, written);
    await unread.journal.add({ at: options.clock.now(), former, written });
  };
  const writes = new FileWrites({
    ...options,
    rootListBeside,
    state,
    file,
    versions,
    reloads,
    inbounds,
    overwriting,
    renew,
    note,
  });
  const queue = createCommitQueue((changes: readonly ConfigurationChange[]) => writes.commit(changes));
  if (changeCount(state.pending) > 0) queue.add({}).catch(() => undefined);
  hold.onMadeAgain(() => {
    versions.forget();
    state.keepsNext = true;
  });
  const watch = startEditWatch({
    fileSystem,
    path,
    realPath: opened.target.realPath,
    pollMilliseconds: options.pollMilliseconds,
    watch: options.watch ?? true,
    check: createEditCheck({
      path,
      fileSystem,
      pollMilliseconds: options.pollMilliseconds,
      state,
      file,
      reloads,
      queue,
    }),
  });
  const closing = createClosing(async () => {
    watch.stop();
    await queue.idle();
    if (changeCount(state.pending) > 0) await queue.add({}).catch(() => undefined);
    const lost = changeCount(state.pending);
    if (lost > 0) log.error({ file: path, changes: lost }, 'changes were not written into the configuration file');
    // What the file holds may be the last good content before whatever comes.
    if (state.isNewest) await versions.keep(file.document().bytes).catch(() => undefined);
    await versions.idle();
    await hold.release().catch((error: unknown) => {
      log.warn({ file: path, reason: failureWords(error) }, 'the file and its data folder could not be given back');
    });
  });

  function refuseWhenClosing(): void {
    if (closing.begun()) throw new DomainError('configWriteFailed', 'Keyway is shutting down');
  }

  return {
    hold,
    load: () => present(state),
    save: async (change) => {
      if (closing.begun()) throw new DomainError('saveFailed');
      state.accepted.add(change);
      return queue.add(change);
    },
    restore: async (bytes, restoreOptions) => {
      refuseWhenClosing();
      const whole = readDocument(bytes);
      return queue.exclusive(() => writes.putWhole(whole, 'restored', restoreOptions));
    },
    waiting: () => state.pending,
    goneMeanwhile: (keys) => reloads.goneMeanwhile(keys, file.document().bytes),
    replace: async (body) => {
      refuseWhenClosing();
      const whole = toReplacement(body, { read: readDocument });
      await queue.exclusive(() => writes.putWhole(whole, 'replaced'));
    },
    readAsJson: () => {
      // Only while it is being overwritten does the file hold half a configuration.
      if (overwriting !== null) return queue.exclusive(() => readAsCompactJson(fileSystem, path));
      return readAsCompactJson(fileSystem, path);
    },
    onReload: reloads.onReload,
    status: () => ({
      writing: state.writing,
      lastWriteError: state.writeError,
      parseError: state.parseError,
      inboundsError: state.inboundsError,
      pendingChanges: changeCount(state.pending),
    }),
    close: closing.close,
  };
}

/** Closes once, however often it is asked to. */
function createClosing(close: () => Promise<void>) {
  let closing: Promise<void> | null = null;
  return {
    begun: () => closing !== null,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

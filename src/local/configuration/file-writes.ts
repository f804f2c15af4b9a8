import type { ConfigurationObserverPort, ConfigurationWrite } from '../../core/configuration-observer.js';
import { DomainError } from '../../core/errors.js';
import { createSpareRoom } from '../../core/keys/spare-room.js';
import type { ConfigurationChange } from '../../core/model.js';
import type { ClockPort, FileStat, FileSystemPort, LogPort } from '../../core/ports.js';
import { createFailure, failureWords } from '../../platform/failure-words.js';
import { unlessMissing } from '../../platform/presence.js';
import type { InPlaceWriting } from '../file/in-place.js';
import type { KeptVersions } from '../file/kept-versions.js';
import { createTarget, readTarget, replaceTarget, TargetChangedError, type TargetFile } from '../file/write-file.js';
import type { CommitQueue } from './commit-queue.js';
import { toReplacement } from './configuration-json.js';
import { type FileEdits, MANY_KEYS } from './file-edits.js';
import type { ConfigurationFormat, DocumentReading, FoundFile, KnownFile } from './known-file.js';
import type { LiveConfiguration } from './live-configuration.js';
import { changeCount, mergeChanges } from './pending-changes.js';

/** What goes into the file. */
export interface FileWrites {
  /** Writes all that is pending and these changes at once; per change what the write carried, or an error. Never rejects. */
  commit(changes: readonly ConfigurationChange[]): Promise<readonly (Error | ConfigurationChange)[]>;
  replace(body: Buffer): Promise<void>;
  /**
   * Makes the file these bytes. Rejects as `replace` does, and with the format's own error before anything is written.
   * With `dropWaiting`, the changes whose write failed are given up with it; resolves to those.
   */
  restore(bytes: Buffer, options?: { readonly dropWaiting?: boolean }): Promise<ConfigurationChange>;
  /** The changes whose write failed. */
  pending(): ConfigurationChange;
  writing(): boolean;
  lastError(): string | null;
}

export interface FileWritesOptions<D extends { readonly bytes: Buffer }> {
  readonly path: string;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly format: ConfigurationFormat<D>;
  readonly file: KnownFile<D>;
  readonly live: LiveConfiguration;
  readonly queue: CommitQueue<ConfigurationChange, ConfigurationChange>;
  readonly versions: KeptVersions;
  readonly edits: FileEdits<D>;
  /** Rejects while the file or its data folder is not this process's. */
  readonly renew: () => Promise<void>;
  /** Null where the file is replaced. */
  readonly overwriting: InPlaceWriting | null;
  /** As `ConfigurationFileOptions` says. */
  readonly guard?: boolean;
  readonly observer?: ConfigurationObserverPort;
}

const WRITE_ATTEMPTS = 20;
const HOUR_MS = 3_600_000;
const KEYS_LOST =
  'the file has inbounds, and the new one has no inbound with the protocol "ostp", so that its keys would go: it may be an old panel\'s copy';

export function createFileWrites<D extends { readonly bytes: Buffer }>(options: FileWritesOptions<D>): FileWrites {
  const { path, fileSystem, clock, log, format, file, live, queue, versions, edits, overwriting } = options;
  let pending: ConfigurationChange = {};
  let writing = false;
  let lastError: string | null = null;
  /** What failed last was the reading of the file: with that, the reason is gone. */
  let unread = false;
  let lastKept = Number.NEGATIVE_INFINITY;
  const spare = createSpareRoom();

  async function put(target: TargetFile, content: Buffer): Promise<FileStat | null> {
    if (overwriting !== null) return overwriting.replace(target, content);
    return replaceTarget(fileSystem, target, content);
  }

  /** Tries until the file is not changed by others meanwhile. */
  async function undisturbed<T>(attempt: () => Promise<T>): Promise<T> {
    unread = false;
    await options.renew();
    for (let attempts = 0; attempts < WRITE_ATTEMPTS; attempts++) {
      await overwriting?.recover(path);
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof TargetChangedError)) throw error;
      }
    }
    throw createFailure('EAGAIN', `${path} is being written by another program all the time`);
  }

  /** Reads the file for a write; when that fails, the next reading that does not is no edit alone. */
  async function reading<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      unread = true;
      edits.unreadable();
      throw error;
    }
  }

  async function write(change: ConfigurationChange): Promise<ConfigurationChange> {
    const found = await reading(file.settled);
    const { document, refused } = applyParts(found.document, change);
    if (document === found.document) {
      await file.makeDurable(found);
    } else {
      await keepBeforeChange(found);
      file.attempts(document);
      file.holds(document, await put(found.target, document.bytes));
      if (!versions.isKeeping(found.document.bytes)) spare.retire(found.document.bytes);
    }
    return refused;
  }

  /** A part that has no place in this file (rules where there is no outbound) must not hold up the others. */
  function applyParts(document: D, { keys, rules, dns }: ConfigurationChange) {
    const parts: ConfigurationChange[] = [
      ...(keys ? [{ keys }] : []),
      ...(dns ? [{ dns }] : []),
      ...(rules ? [{ rules }] : []),
    ];
    let changed = document;
    let refused: ConfigurationChange = {};
    for (const part of parts) {
      try {
        changed = format.change(changed, part, spare.room);
      } catch (error) {
        refused = mergeChanges(refused, part);
        failed(error);
      }
    }
    return { document: changed, refused };
  }

  /** A version that nobody else has must be safe before it goes; the hourly one may come about beside the write. */
  async function keepBeforeChange({ document: { bytes } }: FoundFile<D>): Promise<void> {
    if (edits.keepsNext()) {
      await versions.keep(bytes);
      edits.kept();
    } else if (Math.abs(clock.now() - lastKept) >= HOUR_MS) {
      versions.keep(bytes).catch((error: unknown) => {
        log.error({ file: path, reason: failureWords(error) }, 'a version of the configuration file could not be kept');
      });
    } else return;
    lastKept = clock.now();
  }

  async function commit(changes: readonly ConfigurationChange[]): Promise<readonly (Error | ConfigurationChange)[]> {
    const change = changes.reduce(mergeChanges, pending);
    if (changeCount(change) === 0) {
      if (unread) succeeded();
      return changes.map(() => change);
    }
    const ended = beginning('changes', changeCount(change));
    writing = true;
    try {
      const refused = await undisturbed(() => write(change));
      pending = refused;
      const carried = without(change, refused);
      live.wrote(carried);
      if (changeCount(refused) === 0) succeeded();
      ended({ failed: changeCount(refused) > 0 });
      return changes.map((one) => (isRefused(one, refused) ? new DomainError('saveFailed') : carried));
    } catch (error) {
      pending = change;
      failed(error);
      ended({ failed: true });
      return changes.map(() => new DomainError('saveFailed'));
    } finally {
      writing = false;
    }
  }

  /** To be called before a write; what it gives tells the observer how it ended. */
  function beginning(kind: ConfigurationWrite['kind'], changes: number) {
    const began = clock.monotonic();
    return (end: Pick<ConfigurationWrite, 'failed'>): void => {
      options.observer?.wrote({ kind, changes, milliseconds: clock.monotonic() - began, ...end });
    };
  }

  async function replaceWith({ document, configuration }: DocumentReading<D>, reason: WholeReason): Promise<void> {
    const present = await reading(() => unlessMissing(readTarget(fileSystem, path)));
    // Whoever restores a backup says what the file is to be: that is no old panel's copy.
    const losesKeys = reason === 'replaced' && format.losesKeys(documentOf(present), document);
    if (losesKeys && options.guard === true) throw new DomainError('configRefused', KEYS_LOST);
    const forever = losesKeys || edits.wouldRemove(configuration) > MANY_KEYS;
    // The last good content goes first where the file holds something else by now.
    if (forever) await versions.keep(file.document().bytes, { forever });
    if (present !== null) await versions.keep(present.bytes, { forever });
    file.attempts(document);
    const stat =
      present === null ? await createTarget(fileSystem, path, document.bytes) : await put(present, document.bytes);
    file.holds(document, stat);
    if (losesKeys) log.error({ file: path }, `${KEYS_LOST}; the version before is kept for ever`);
  }

  /** What is there now as a document; where it is none, the last that was. */
  function documentOf(present: TargetFile | null): D {
    const known = file.document();
    if (present === null || present.bytes.equals(known.bytes)) return known;
    try {
      return format.read(present.bytes).document;
    } catch {
      return known; // What cannot be read holds no keys that could be lost.
    }
  }

  /** Resolves to the changes that were given up. */
  async function putWhole(whole: DocumentReading<D>, reason: WholeReason, drop = false): Promise<ConfigurationChange> {
    return queue.exclusive(async () => {
      const ended = beginning('whole', 1);
      writing = true;
      try {
        await undisturbed(() => replaceWith(whole, reason));
        const dropped = drop ? pending : {};
        if (drop) pending = {};
        succeeded();
        ended({ failed: false });
        edits.replaced(whole, reason);
        return dropped;
      } catch (error) {
        if (error instanceof DomainError) throw error;
        failed(error);
        ended({ failed: true });
        throw new DomainError('configWriteFailed', failureWords(error));
      } finally {
        writing = false;
      }
    });
  }

  /** Says it once, until the reason is another one. */
  function failed(error: unknown): void {
    const reason = failureWords(error);
    if (reason !== lastError) log.error({ file: path, reason }, 'the configuration file could not be written');
    lastError = reason;
  }

  function succeeded(): void {
    unread = false;
    if (lastError !== null) log.info({ file: path }, 'the configuration file can be written again');
    lastError = null;
  }

  return {
    commit,
    replace: async (body) => {
      await putWhole(toReplacement(body, format), 'replaced');
    },
    restore: async (bytes, { dropWaiting = false } = {}) => putWhole(format.read(bytes), 'restored', dropWaiting),
    pending: () => pending,
    writing: () => writing,
    lastError: () => lastError,
  };
}

type WholeReason = 'replaced' | 'restored';

/** The parts of the change that the other one does not have. */
function without(change: ConfigurationChange, refused: ConfigurationChange): ConfigurationChange {
  const { keys, rules, dns } = change;
  return {
    ...(keys && !refused.keys && { keys }),
    ...(rules && !refused.rules && { rules }),
    ...(dns && !refused.dns && { dns }),
  };
}

function isRefused(change: ConfigurationChange, refused: ConfigurationChange): boolean {
  return changeCount(without(change, refused)) < changeCount(change);
}

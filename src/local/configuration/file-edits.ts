import type { ReloadReason } from '../../core/backend.js';
import type { ConfigurationObserverPort } from '../../core/configuration-observer.js';
import type { ConfigurationChange, ServerConfiguration } from '../../core/model.js';
import type { FileSystemPort, LogPort } from '../../core/ports.js';
import { failureCode, failureWords } from '../../platform/failure-words.js';
import type { KeptVersions } from '../file/kept-versions.js';
import type { CommitQueue } from './commit-queue.js';
import { BrokenFileError, type DocumentReading, type KnownFile } from './known-file.js';
import type { LiveConfiguration } from './live-configuration.js';
import { changeCount, layOver, mergeChanges, removedKeys } from './pending-changes.js';

/** Told of each configuration that became live from outside or as a whole, in that turn of the event loop. */
export type ReloadListener = (configuration: ServerConfiguration, reason: ReloadReason) => void;

/** What comes from outside: edits of the file, and who is told. */
export interface FileEdits<D> {
  /** The live configuration with all that is not written yet laid over it. */
  present(): ServerConfiguration;
  onReload(listener: ReloadListener): void;
  /** The file holds something new, which nobody here has written. */
  found(before: Buffer, reading: DocumentReading<D>): void;
  /** The file was replaced by this, through the API or from a backup. */
  replaced(reading: DocumentReading<D>, reason: 'replaced' | 'restored'): void;
  /** How many keys are live now and would not be with this configuration. */
  wouldRemove(configuration: ServerConfiguration): number;
  /** Looks whether the file was edited; never rejects. */
  check(): Promise<void>;
  /** The file could not be read for a write: it is read at the next check, and what waits goes as soon as it can be. */
  unreadable(): void;
  parseError(): string | null;
  /** Whether a version must be kept before the next write: the first after a start, and after every change from outside. */
  keepsNext(): boolean;
  kept(): void;
  /** What was kept is gone: one must be kept before the next write. */
  keepsAgain(): void;
}

export interface FileEditsOptions<D> {
  readonly file: KnownFile<D>;
  readonly live: LiveConfiguration;
  readonly queue: CommitQueue<ConfigurationChange, ConfigurationChange>;
  readonly versions: KeptVersions;
  readonly log: LogPort;
  readonly path: string;
  readonly fileSystem: FileSystemPort;
  /** The changes whose write failed. */
  readonly pending: () => ConfigurationChange;
  readonly observer?: ConfigurationObserverPort;
}

/** A change from outside that removes more keys than this may be a mishap: the version before is kept for ever. */
export const MANY_KEYS = 10;

export function createFileEdits<D extends { readonly bytes: Buffer }>(options: FileEditsOptions<D>): FileEdits<D> {
  const { file, live, queue, versions, log, path, pending } = options;
  const listeners: ReloadListener[] = [];
  const broken = createBrokenState(log, path, () => options.observer?.reloaded('edited', 'refused'));
  let keepsNext = true;
  let lastSeen: string | null = null;
  let seenTwice = false;
  /** The last reading failed, by a check or for a write. */
  let failing = false;

  function unwritten(): ConfigurationChange {
    return queue.uncommitted().reduce(mergeChanges, pending());
  }

  function present(): ServerConfiguration {
    return layOver(live.present(), unwritten());
  }

  function wouldRemove(configuration: ServerConfiguration): number {
    return isServer(configuration) ? removedKeys(present(), layOver(configuration, unwritten())) : 0;
  }

  function goLive({ configuration }: DocumentReading<D>, reason: ReloadReason): number {
    if (!isServer(configuration)) {
      log.warn({ file: path, mode: configuration.mode }, 'the configuration is not applied: its mode is not "server"');
      options.observer?.reloaded(reason, 'refused');
      return 0;
    }
    const removed = wouldRemove(configuration);
    live.becomes(configuration);
    const next = present();
    log.info({ file: path, reason, keys: next.keys.length }, 'the configuration file was read again');
    if (removed > MANY_KEYS) {
      log.warn({ file: path, removed }, `${removed} keys were removed; the version before is kept for ever`);
    }
    for (const listener of listeners) tell(() => listener(next, reason));
    options.observer?.reloaded(reason, 'applied');
    return removed;
  }

  function tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      log.error({ file: path, reason: failureWords(error) }, 'a reload of the configuration could not be followed');
    }
  }

  function keep(bytes: Buffer, forever: boolean): void {
    versions.keep(bytes, { forever }).catch((error: unknown) => {
      log.error({ file: path, reason: failureWords(error) }, 'a version of the configuration file could not be kept');
    });
  }

  function found(before: Buffer, reading: DocumentReading<D>): void {
    keepsNext = true;
    const removed = goLive(reading, 'edited');
    if (removed > MANY_KEYS) keep(before, true);
    keep(reading.document.bytes, false);
  }

  function unreadable(): void {
    failing = true;
    lastSeen = null;
  }

  async function look(): Promise<void> {
    try {
      const { touched } = await file.look();
      broken.ends();
      // The file can be read, so that what waits for a write goes with this occasion; without any, that it can is news.
      if (failing || (touched && changeCount(pending()) > 0)) queue.add({}).catch(() => undefined);
      failing = false;
    } catch (error) {
      broken.meets(error);
      failing = true;
      // What could not be read at all may be read the next time, although it looks the same from outside.
      if (!(error instanceof BrokenFileError)) lastSeen = null;
    }
  }

  async function check(): Promise<void> {
    // A write reads the file itself.
    if (queue.busy()) return;
    const seen = await signatureOf(options.fileSystem, path);
    // Two edits within a tick of the system's clock look like one: what has changed is read once more the next time.
    if (seen === lastSeen && seenTwice) return;
    seenTwice = seen === lastSeen;
    lastSeen = seen;
    await queue.exclusive(look);
  }

  return {
    present,
    onReload: (listener) => {
      listeners.push(listener);
    },
    found,
    replaced: (reading, reason) => {
      keepsNext = true;
      broken.ends();
      goLive(reading, reason);
    },
    wouldRemove,
    check,
    unreadable,
    parseError: broken.reason,
    keepsNext: () => keepsNext,
    kept: () => {
      keepsNext = false;
    },
    keepsAgain: () => {
      keepsNext = true;
    },
  };
}

function isServer({ mode }: ServerConfiguration): boolean {
  return mode === 'server';
}

async function signatureOf(fileSystem: FileSystemPort, path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await fileSystem.stat(path);
    return [dev, ino, size, mtimeNs, ctimeNs].join(':');
  } catch (error) {
    return failureCode(error) ?? 'unknown';
  }
}

/** Says once per distinct content what is wrong; a content seen a single time may be one that is being written. */
function createBrokenState(log: LogPort, path: string, refused: () => void) {
  let reason: string | null = null;
  let seen: Buffer | string | null = null;
  let logged = false;

  return {
    reason: () => reason,
    ends: () => {
      if (logged) log.info({ file: path }, 'the configuration file can be read again');
      reason = null;
      seen = null;
      logged = false;
    },
    meets: (error: unknown) => {
      reason = failureWords(error);
      const now = error instanceof BrokenFileError ? error.bytes : reason;
      const again = Buffer.isBuffer(now) && Buffer.isBuffer(seen) ? now.equals(seen) : now === seen;
      if (again && !logged) {
        log.warn({ file: path, reason }, 'the configuration file cannot be read; the last good state stays live');
        refused();
      }
      logged = again;
      seen = now;
    },
  };
}

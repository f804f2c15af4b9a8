import type { ConfigurationChange } from '../../../core/model.js';
import type { FileStat, FileSystemPort } from '../../../core/ports.js';
import { TICK_MS } from '../../../files/write-file.js';
import { failureCode } from '../../../platform/failure-words.js';
import type { CommitQueue } from './commit-queue.js';
import type { FileState } from './file-state.js';
import { BrokenFileError, type KnownFile } from './known-file.js';
import { changeCount } from './pending-changes.js';
import type { Reloads } from './reloads.js';

export interface FileEditsOptions {
  readonly path: string;
  readonly fileSystem: FileSystemPort;
  readonly pollMilliseconds: number;
  readonly state: FileState;
  readonly file: KnownFile;
  readonly reloads: Reloads;
  readonly queue: CommitQueue<ConfigurationChange, ConfigurationChange>;
}

/** What looks whether the file was edited; never rejects. */
export function createEditCheck(options: FileEditsOptions): (isPolled: boolean) => Promise<void> {
  const { path, fileSystem, pollMilliseconds, state, file, reloads, queue } = options;
  let lastSeen: string | null = null;
  /** How long the same has been seen, by the looks from time to time; ms. */
  let seenFor = 0;
  let isSettled = false;

  async function look(): Promise<void> {
    try {
      const { touched } = await file.look();
      reloads.readable();
      // The file can be read, so that what waits for a write goes with this occasion; without any, that it can is news.
      if (state.isUnreadable || (touched && changeCount(state.pending) > 0)) queue.add({}).catch(() => undefined);
      state.isUnreadable = false;
    } catch (error) {
      reloads.unreadable(error, file.document().bytes);
      state.isUnreadable = true;
      if (!(error instanceof BrokenFileError)) state.looksAgain = true;
    }
  }

  return async (isPolled) => {
    // A write reads the file itself.
    if (queue.busy()) return;
    const stat = await fileSystem.stat(path).catch((error: unknown) => failureCode(error) ?? 'unknown');
    const seen = typeof stat === 'string' ? stat : signatureOf(stat);
    // Two edits within a tick of the file system's clock look like one: what has changed is read until that is over.
    const isNew = seen !== lastSeen || state.looksAgain;
    if (!isNew && isSettled) return;
    if (isNew) seenFor = 0;
    else if (isPolled) seenFor += pollMilliseconds;
    const isKnown = typeof stat !== 'string' && !state.looksAgain && !state.isUnreadable && file.isKnown(stat);
    isSettled = isKnown || seenFor > TICK_MS;
    lastSeen = seen;
    if (isKnown) return;
    state.looksAgain = false;
    await queue.exclusive(look);
  };
}

function signatureOf({ dev, ino, size, mtimeNs, ctimeNs }: FileStat): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

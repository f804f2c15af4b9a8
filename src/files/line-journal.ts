import { dirname } from 'node:path';
import type { FileSystemPort } from '../core/ports.js';
import { createWhole, temporaryPath } from './write-file.js';

export interface LineJournalOptions {
  readonly fileSystem: FileSystemPort;
  readonly path: string;
  /** Returns all the lines that count, with those which are being written. */
  readonly whole: (lines: string) => string;
  /** False leaves the syncing of what is appended to the caller; what is written anew is synced in any case. Default true. */
  readonly syncs?: boolean;
}

const FILE_MODE = 0o600;
/** Bytes that are appended at least before the file is written anew. */
const LEAST_APPENDED = 256 * 1024;

/**
 * A file of lines, each of which counts over those before it. Its reader passes over what is torn. The first write makes the
 * file anew: the last line of the process before may be torn.
 */
export function createLineJournal({ fileSystem, path, whole, syncs = true }: LineJournalOptions) {
  /** Bytes appended since the file was written anew; infinite where nobody knows what it ends with. */
  let appended = Number.POSITIVE_INFINITY;
  let most = LEAST_APPENDED;

  async function append(lines: string): Promise<void> {
    const content = Buffer.from(lines);
    const after = appended + content.length;
    appended = Number.POSITIVE_INFINITY;
    await fileSystem.append(path, content);
    if (syncs) await fileSystem.sync(path);
    appended = after;
  }

  async function writeAnew(lines: string): Promise<void> {
    const content = Buffer.from(whole(lines));
    const temporary = temporaryPath(path);
    appended = Number.POSITIVE_INFINITY;
    await createWhole(fileSystem, { path, temporary }, async () => {
      await fileSystem.create(temporary, content, FILE_MODE, 'folder');
      await fileSystem.sync(temporary);
    });
    await fileSystem.syncFolder(dirname(path));
    appended = 0;
    most = Math.max(LEAST_APPENDED, content.length);
  }

  return {
    // One that cannot be appended to, such as one that somebody has removed, may still be written anew.
    /**
     * Appends lines, or writes the file anew with all that count. One call at a time. Rejects with the file system's error:
     * then nobody knows what the file holds, and the next call writes it anew.
     */
    write: (lines: string): Promise<void> =>
      appended > most ? writeAnew(lines) : append(lines).catch(() => writeAnew(lines)),
    /** Has the next call write the file anew. */
    distrust(): void {
      appended = Number.POSITIVE_INFINITY;
    },
  };
}

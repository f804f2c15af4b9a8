import { dirname } from 'node:path';
import type { FileSystemPort } from '../core/ports.js';
import { createWhole, temporaryPath } from './write-file.js';

export interface LineJournalOptions {
  readonly fileSystem: FileSystemPort;
  readonly path: string;
  /** Returns all valid lines, including those of this write, as of the call, whenever they are read. */
  readonly whole: (lines: string) => Iterable<string>;
  /** Syncs each line, a rewritten file alone, or nothing, before a write resolves. Default `lines`. */
  readonly syncs?: 'lines' | 'rewritten' | 'nothing';
}

export type LineJournal = ReturnType<typeof createLineJournal>;

const FILE_MODE = 0o600;
/** The approximate number of characters that are encoded in one turn of the event loop. */
const PIECE = 1024 * 1024;
/** The least number of bytes that are appended before the file is rewritten. */
const LEAST_APPENDED = 256 * 1024;

/**
 * Keeps a file of lines, each of which overrides those before it. Its reader must skip torn lines. The first write
 * rewrites the file, because the last line of the previous process may be torn.
 */
export function createLineJournal({ fileSystem, path, whole, syncs = 'lines' }: LineJournalOptions) {
  /** Bytes appended since the file was rewritten; infinite if it is unknown what the file ends with. */
  let appended = Number.POSITIVE_INFINITY;
  let most = LEAST_APPENDED;
  let distrusts = 0;

  async function append(lines: string): Promise<void> {
    const content = Buffer.from(lines);
    const [before, begunAt] = [appended, distrusts];
    appended = Number.POSITIVE_INFINITY;
    await fileSystem.append(path, content);
    if (syncs === 'lines') await fileSystem.sync(path);
    if (begunAt === distrusts) appended = before + content.length;
  }

  async function rewrite(lines: string): Promise<void> {
    const all = whole(lines);
    const temporary = temporaryPath(path);
    const begunAt = distrusts;
    let size = 0;
    appended = Number.POSITIVE_INFINITY;
    await createWhole(fileSystem, { path, temporary }, async () => {
      for (const piece of inPieces(all)) {
        if (size === 0) await fileSystem.create(temporary, piece, FILE_MODE, 'folder');
        else await fileSystem.append(temporary, piece);
        size += piece.length;
      }
      if (syncs !== 'nothing') await fileSystem.sync(temporary);
    });
    if (syncs !== 'nothing') await fileSystem.syncFolder(dirname(path));
    if (begunAt === distrusts) appended = 0;
    most = Math.max(LEAST_APPENDED, size);
  }

  return {
    // A file that cannot be appended to, for example because it was removed, may still be rewritten.
    /**
     * Appends lines, or rewrites the file with all valid ones. Calls must not overlap. Rejects with the file system's
     * error; the content of the file is then unknown, and the next call rewrites it.
     */
    write: (lines: string): Promise<void> =>
      appended > most ? rewrite(lines) : append(lines).catch(() => rewrite(lines)),
    /** Makes the next call rewrite the file, whatever becomes of one that is under way. */
    distrust(): void {
      appended = Number.POSITIVE_INFINITY;
      distrusts += 1;
    },
  };
}

/** Encodes lines in portions; at least one, which may be empty. */
function* inPieces(lines: Iterable<string>): Generator<Buffer, void> {
  let text = '';
  for (const line of lines) {
    text += line;
    if (text.length < PIECE) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text);
}

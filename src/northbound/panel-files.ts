import { join } from 'node:path';
import type { Readable } from 'node:stream';
import mime from 'mime';
import { messageOf } from '../core/errors.js';
import type { FileSystemPort, LogPort } from '../core/ports.js';
import { FIRST_BYTES, streamFrom } from './file-stream.js';
import type { ContentCoding } from './list-body.js';

/** One static file of an answer. */
export interface PanelFile {
  readonly content: Buffer | StreamedContent;
  readonly contentType: string;
  /** Further headers for the answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The content as the build has compressed it. */
  readonly compressed?: { readonly [Coding in ContentCoding]?: Buffer };
}

/** Content that is read while it is sent. Its consumer must read the stream to the end or destroy it. */
export interface StreamedContent {
  /** In bytes. */
  readonly size: number;
  readonly stream: Readable;
}

/** The static files of a panel build (protocol: "Static panel"). */
export interface PanelFiles {
  /** Finds the file at this percent-decoded path below the panel's root; null if it does not exist. */
  file(path: string): Promise<PanelFile | null>;
}

/** Makes browsers trust the content type instead of guessing from the content. */
const HEADERS = { 'x-content-type-options': 'nosniff' };

/** The most unreadable files that are named in the log; further ones are not logged. */
const MOST_NAMED = 100;

/**
 * Serves another panel build from a folder. Links are followed only within it, and nothing outside it is ever read. An
 * unreadable file is answered as a missing one and named in the log, once until it can be read again.
 */
export function panelFolder(folder: string, fileSystem: FileSystemPort, log: LogPort): PanelFiles {
  const unreadable = new Set<string>();

  function cannotBeRead(path: string, error: unknown): void {
    if (isMissing(error) || unreadable.has(path) || unreadable.size === MOST_NAMED) return;
    unreadable.add(path);
    const reason = messageOf(error);
    log.warn({ file: join(folder, path), reason }, 'a file of the panel cannot be read, and is answered as missing');
  }

  return {
    async file(path) {
      if (!isServed(path)) return null;
      try {
        const root = await fileSystem.realPath(folder);
        const target = await fileSystem.realPath(join(root, path));
        if (!target.startsWith(`${root}/`)) return null;
        const content = await readBeginning(fileSystem, target, (error) => cannotBeRead(path, error));
        unreadable.delete(path);
        return { content, contentType: contentType(path), headers: HEADERS };
      } catch (error) {
        cannotBeRead(path, error);
        return null;
      }
    },
  };
}

/** Reads a small file whole, and the first part of a large one, to find unreadable ones before the answer. */
async function readBeginning(
  fileSystem: FileSystemPort,
  path: string,
  onFailure: (error: unknown) => void,
): Promise<PanelFile['content']> {
  const file = await fileSystem.open(path);
  try {
    const piece = Buffer.allocUnsafe(Math.min(file.size, FIRST_BYTES));
    const first = piece.subarray(0, await file.read(piece, 0));
    if (first.length < file.size) {
      const stream = streamFrom(file, first).on('error', onFailure);
      return { size: file.size, stream };
    }
    await file.close();
    return first;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Guesses the content type from the extension (protocol: "Static panel"), without a charset like recorded servers. */
export function contentType(path: string): string {
  return mime.getType(path) ?? 'application/octet-stream';
}

/**
 * Tells whether a path may be served: nothing outside the folder, and nothing hidden, because `.env` and `.git` do not
 * belong to a panel (`.well-known` of RFC 8615 does).
 */
function isServed(path: string): boolean {
  return !/[\0\\]/.test(path) && path.split('/').every((part) => !part.startsWith('.') || part === '.well-known');
}

const MISSING: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EISDIR']);

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && MISSING.has(error.code);
}

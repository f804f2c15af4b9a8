import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A server's validators for its content, for asking again (RFC 9110 section 13.1). */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** The last good copy of a list. */
export interface ListCopy {
  readonly validators: Validators;
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number;
  chunks(): AsyncIterable<Buffer>;
}

/** A copy being written; `keep` makes it the last good one. */
export interface ListDraft {
  write(chunk: Buffer): Promise<void>;
  keep(validators: Validators): Promise<void>;
  discard(): Promise<void>;
}

export type ListStore = ReturnType<typeof createListStore>;

const PIECE_BYTES = 1 << 16;
const DRAFT = /\.\d+\.draft$/;

/**
 * Stores the last good copies of lists, a file each. Lists are up to 100 MB, so they are written and read in pieces;
 * the core's file system port knows only whole files. The folder is made for the first copy; `now` is in milliseconds
 * since the epoch.
 */
export function createListStore(folder: string, now: () => number) {
  const contentOf = (url: string) => join(folder, `${nameOf(url)}.list`);
  const validatorsOf = (url: string) => join(folder, `${nameOf(url)}.json`);
  let drafts = 0;

  return {
    /** Returns the copy, or null without one. */
    async find(url: string): Promise<ListCopy | null> {
      const path = contentOf(url);
      const found = await stat(path).catch(() => null);
      if (found === null) return null;
      return {
        validators: await readValidators(validatorsOf(url)),
        fetchedAt: found.mtimeMs,
        chunks: () => createReadStream(path, { highWaterMark: PIECE_BYTES }),
      };
    },
    async draft(url: string): Promise<ListDraft> {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      drafts += 1;
      const path = join(folder, `${nameOf(url)}.${drafts}.draft`);
      const file = await open(path, 'w', 0o600);
      return {
        write: (chunk) => writeWhole(file, chunk),
        async keep(validators) {
          await file.sync();
          await file.close();
          await rename(path, contentOf(url));
          // Written after the content: with the old validators the worst outcome is that a server sends the content
          // again.
          const draft = `${validatorsOf(url)}.${drafts}.draft`;
          await writeFile(draft, JSON.stringify({ url, ...validators }), { mode: 0o600 });
          await rename(draft, validatorsOf(url));
        },
        async discard() {
          await file.close();
          await rm(path, { force: true });
        },
      };
    },
    /** Removes abandoned drafts, and copies of other lists that are older than `olderThan` milliseconds. */
    async tidy(urls: readonly string[], olderThan: number): Promise<void> {
      const kept = new Set(urls.flatMap((url) => [`${nameOf(url)}.list`, `${nameOf(url)}.json`]));
      for (const name of await readdir(folder).catch(() => [])) {
        if (kept.has(name) || !(DRAFT.test(name) || /^[0-9a-f]{32}\.(list|json)$/.test(name))) continue;
        const path = join(folder, name);
        const found = await stat(path).catch(() => null);
        if (found !== null && (DRAFT.test(name) || now() - found.mtimeMs > olderThan)) await rm(path, { force: true });
      }
    },
  };
}

/** Returns a digest as the file name, because URLs may contain secrets and any character. */
function nameOf(url: string): string {
  return createHash('sha256').update(url).digest('hex').slice(0, 32);
}

async function writeWhole(file: FileHandle, chunk: Buffer): Promise<void> {
  let written = 0;
  while (written < chunk.length) written += (await file.write(chunk, written)).bytesWritten;
}

async function readValidators(path: string): Promise<Validators> {
  try {
    const read: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof read !== 'object' || read === null) return NO_VALIDATORS;
    return {
      etag: 'etag' in read && typeof read.etag === 'string' ? read.etag : null,
      lastModified: 'lastModified' in read && typeof read.lastModified === 'string' ? read.lastModified : null,
    };
  } catch {
    return NO_VALIDATORS;
  }
}

export const NO_VALIDATORS: Validators = { etag: null, lastModified: null };

/** Stores nothing. */
export const NO_STORE: ListStore = {
  find: async () => null,
  draft: async () => ({ write: async () => undefined, keep: async () => undefined, discard: async () => undefined }),
  tidy: async () => undefined,
};

import { join } from 'node:path';
import mime from 'mime';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort } from '../core/ports.js';
import type { ContentCoding } from './list-body.js';

/** One static file as it is answered. */
export interface PanelFile {
  readonly content: Buffer;
  readonly contentType: string;
  /** Further headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The content as it was compressed when it was built. */
  readonly compressed?: { readonly [Coding in ContentCoding]?: Buffer };
}

/** The static files of a panel build (spec: "Static panel"). */
export interface PanelFiles {
  /** The file at this path below the panel's root, already percent-decoded; null where there is none. */
  file(path: string): Promise<PanelFile | null>;
}

/** Serves another panel build from a folder. Links are followed only within it, and nothing outside it is ever read. */
export function panelFolder(folder: string, fileSystem: FileSystemPort): PanelFiles {
  return {
    async file(path) {
      if (!staysInside(path)) return null;
      try {
        const root = await fileSystem.realPath(folder);
        const target = await fileSystem.realPath(join(root, path));
        if (!target.startsWith(`${root}/`) || (await fileSystem.stat(target)).kind !== 'file') return null;
        return { content: await fileSystem.read(target, FILE_LIMITS.configuration), contentType: contentType(path) };
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
  };
}

/** Guessed from the extension (spec: "Static panel"), without a charset as recorded servers send it. */
export function contentType(path: string): string {
  return mime.getType(path) ?? 'application/octet-stream';
}

function staysInside(path: string): boolean {
  return !/[\0\\]/.test(path) && !path.split('/').some((part) => part === '..' || part === '.');
}

const MISSING: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EISDIR']);

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && MISSING.has(error.code);
}

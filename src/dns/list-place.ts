import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hostOf, httpUrl, isUrl, urlWithoutZone } from '../wire/dns-values.js';
import { ListError } from './list-lines.js';
import { reservedKind } from './reserved-addresses.js';

/** Why a list is not read at all, judged by its URL alone: its names are dropped, and it is not retried early. */
export class ListSkipped extends ListError {}

export type ListPlace =
  | { readonly kind: 'web'; readonly url: URL }
  /** The path is absolute, without symbolic links. */
  | { readonly kind: 'file'; readonly path: string };

/**
 * Finds the source of a URL's list. A caller who may change the DNS settings must not choose what Keyway reads on this
 * machine: only files below `folder` (null: none) are lists, after links are followed. Rejects with `ListSkipped`, or
 * with the system's error for a file that cannot be found there.
 */
export async function listPlace(text: string, folder: string | null): Promise<ListPlace> {
  if (/^file:/i.test(text)) return { kind: 'file', path: await pathBelow(folder, text) };
  const url = httpUrl(urlWithoutZone(text));
  const reserved = url === null ? null : reservedKind(hostOf(url));
  if (reserved !== null) throw new ListSkipped(`it is at ${reserved}`);
  if (url === null || !isUrl(text)) throw new ListSkipped('it is no http, https or file URL');
  return { kind: 'web', url };
}

async function pathBelow(folder: string | null, text: string): Promise<string> {
  if (folder === null)
    throw new ListSkipped('a file: list is read only below the folder of --list-folder: there is none');
  const outside = new ListSkipped('it is not below the folder of --list-folder');
  const written = pathOf(text);
  const root = await realpath(folder);
  const path = await realpath(written).catch((error: unknown) => {
    throw isBelow(written, folder) || isBelow(written, root) ? error : outside;
  });
  if (!isBelow(path, root)) throw outside;
  return path;
}

function pathOf(text: string): string {
  try {
    return fileURLToPath(text);
  } catch {
    throw new ListSkipped('it names no file of this machine');
  }
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '' && !isAbsolute(way) && way.split(sep)[0] !== '..';
}

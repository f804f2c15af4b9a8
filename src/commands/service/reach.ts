import { dirname } from 'node:path';
import type { FileStat, FileSystemPort } from '../../core/ports.js';
import type { SystemUser } from '../../platform/system-user.js';

/** Permission bits of a folder, as for its owner: passing through, and writing in it. */
const PASS = 0o1;
const WRITE = 0o3;

/** The user of a service that has a user of its own: nobody who owns anything. */
export const OWN_USER: SystemUser = { uid: -1, groups: [] };

function may({ uid, groups }: SystemUser, stat: FileStat, bits: number): boolean {
  if (uid === 0) return true;
  const shift = stat.uid === uid ? 6 : groups.includes(stat.gid) ? 3 : 0;
  return ((stat.mode >> shift) & bits) === bits;
}

/** The outermost folder above the path that the user may not pass; null where none is, so far as folders are there. */
export async function closedFolder(
  fileSystem: Pick<FileSystemPort, 'stat' | 'realPath'>,
  user: SystemUser,
  path: string,
): Promise<string | null> {
  for (const folder of foldersAbove(await fileSystem.realPath(path).catch(() => path))) {
    const stat = await fileSystem.stat(folder).catch(() => null);
    if (stat?.kind === 'folder' && !may(user, stat, PASS)) return folder;
  }
  return null;
}

/** Tells whether the user may make files in a folder; true for one that is not there. */
export async function mayWriteIn(
  fileSystem: Pick<FileSystemPort, 'stat'>,
  user: SystemUser,
  folder: string,
): Promise<boolean> {
  const stat = await fileSystem.stat(folder).catch(() => null);
  return stat === null || may(user, stat, WRITE);
}

/** The folders above a path, the root first. */
function foldersAbove(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === path ? [] : [...foldersAbove(folder), folder];
}

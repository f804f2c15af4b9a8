import { dirname } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';

/**
 * Tells whether a file is a mount: on another device than its folder or, if mounted from the same device, in the list
 * of mounts.
 */
export async function isMountPoint(fileSystem: FileSystemPort, realPath: string): Promise<boolean> {
  const file = await fileSystem.stat(realPath);
  const folder = await fileSystem.stat(dirname(realPath));
  return file.dev !== folder.dev || (await mountedFrom(fileSystem, realPath)) !== null;
}

/**
 * Returns the present path, within its own file system, of the file that is mounted here; null if the list of mounts
 * does not contain it.
 */
export async function mountedFrom(fileSystem: FileSystemPort, realPath: string): Promise<string | null> {
  const [, , , from, , ...rest] =
    (await mounts(fileSystem)).findLast(([, , , , point]) => unescaped(point) === realPath) ?? [];
  return rest.length === 0 ? null : unescaped(from);
}

/** Does work that writes at the path, which the system's error of a full disk does not name. Rejects as the work does. */
export async function namingFullDisk<T>(fileSystem: FileSystemPort, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!FULL.has(failureCode(error) ?? '')) throw error;
    const mount = await mountOf(fileSystem, path);
    const disk = mount === null ? '' : ` on the file system mounted at ${mount}`;
    throw new Error(`${path} cannot be written: ${failureWords(error)}${disk}`, { cause: error });
  }
}

const FULL = new Set(['ENOSPC', 'EDQUOT']);

/** Returns where the file system of a path is mounted; null if the system does not say. */
async function mountOf(fileSystem: FileSystemPort, path: string): Promise<string | null> {
  const points = (await mounts(fileSystem)).map(([, , , , point]) => unescaped(point));
  const above = points.filter((point) => point !== '' && `${path}/`.startsWith(point === '/' ? point : `${point}/`));
  return above.reduce<string | null>(
    (longest, point) => (point.length > (longest?.length ?? 0) ? point : longest),
    null,
  );
}

/** Returns the fields of each line of the list of mounts (proc_pid_mountinfo(5)), which only Linux has. */
async function mounts(fileSystem: FileSystemPort): Promise<readonly (readonly string[])[]> {
  const list = await fileSystem.read('/proc/self/mountinfo', FILE_LIMITS.mounts).catch((error: unknown) => {
    if (failureCode(error) !== null) return Buffer.alloc(0);
    throw error;
  });
  return list
    .toString('utf8')
    .split('\n')
    .map((line) => line.split(' '));
}

/** Decodes octal escapes, which the fields have for blanks and the like (proc_pid_mountinfo(5)). */
function unescaped(field = ''): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

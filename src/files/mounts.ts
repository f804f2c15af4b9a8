import { dirname } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort } from '../core/ports.js';
import { failureCode } from '../platform/failure-words.js';

/** A mounted file is on another device than its folder, or, where it comes from the same one, in the list of mounts. */
export async function isMountPoint(fileSystem: FileSystemPort, realPath: string): Promise<boolean> {
  const file = await fileSystem.stat(realPath);
  const folder = await fileSystem.stat(dirname(realPath));
  return file.dev !== folder.dev || (await mountedFrom(fileSystem, realPath)) !== null;
}

/** The present path, in its own file system, of the file that is mounted here; null where the list of mounts has none. */
export async function mountedFrom(fileSystem: FileSystemPort, realPath: string): Promise<string | null> {
  const mounts = await fileSystem.read('/proc/self/mountinfo', FILE_LIMITS.mounts).catch((error: unknown) => {
    // Only Linux has the list.
    if (failureCode(error) !== null) return Buffer.alloc(0);
    throw error;
  });
  const lines = mounts.toString('utf8').split('\n');
  const [, , , from, , ...rest] =
    lines.findLast((line) => unescaped(line.split(' ')[4]) === realPath)?.split(' ') ?? [];
  return rest.length === 0 ? null : unescaped(from);
}

/** Blanks and the like in the fields of a line are written as octal escapes (proc_pid_mountinfo(5)). */
function unescaped(field = ''): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

import { dirname } from 'node:path';
import type { FileSystemPort } from '../core/ports.js';
import { failureWords } from '../platform/failure-words.js';
import { isMountPoint } from './mounts.js';
import { temporaryPath } from './write-file.js';

/** A problem that a write of the configuration file would meet. */
export interface WritingProblem {
  readonly kind: 'missing' | 'notAFile' | 'mountPoint' | 'noMountPoint' | 'foreignOwner' | 'notWritable';
  /** One sentence that includes the remedy. */
  readonly message: string;
}

export interface TryWritingOptions {
  readonly fileSystem: FileSystemPort;
  /** The configuration file. */
  readonly path: string;
  readonly inPlace: boolean;
}

/** Tries out writing without changing the file. Never rejects; an empty list says that a write would succeed. */
export async function tryWriting({ fileSystem, path, inPlace }: TryWritingOptions): Promise<readonly WritingProblem[]> {
  try {
    const realPath = await fileSystem.realPath(path);
    const { kind } = await fileSystem.stat(realPath);
    if (kind !== 'file') {
      return [{ kind: 'notAFile', message: `${path} is no regular file: name the configuration file itself.` }];
    }
    const mounted = await isMountPoint(fileSystem, realPath);
    return inPlace
      ? await tryInPlace(fileSystem, realPath, mounted)
      : await tryReplacing(fileSystem, realPath, mounted);
  } catch (error) {
    return [
      {
        kind: 'missing',
        message: `${path} cannot be looked at (${failureWords(error)}): check the path and its folders.`,
      },
    ];
  }
}

async function tryInPlace(
  fileSystem: FileSystemPort,
  realPath: string,
  mounted: boolean,
): Promise<readonly WritingProblem[]> {
  const problems: WritingProblem[] = [];
  if (!mounted) {
    const message = `${realPath} is no mount point, so that it can be replaced at one stroke: leave out --in-place.`;
    problems.push({ kind: 'noMountPoint', message });
  }
  try {
    await fileSystem.checkWritable(realPath);
  } catch (error) {
    const message = `${realPath} cannot be overwritten (${failureWords(error)}): mount it writable, and run Keyway as a user who may write it.`;
    problems.push({ kind: 'notWritable', message });
  }
  return problems;
}

async function tryReplacing(
  fileSystem: FileSystemPort,
  realPath: string,
  mounted: boolean,
): Promise<readonly WritingProblem[]> {
  if (mounted) {
    const message = `${realPath} is a mount point and cannot be replaced: mount its folder instead of the file, or start with --in-place.`;
    return [{ kind: 'mountPoint', message }];
  }
  const { uid, gid, mode } = await fileSystem.stat(realPath);
  const temporary = temporaryPath(realPath);
  try {
    await fileSystem.create(temporary, Buffer.alloc(0), mode);
  } catch (error) {
    const message = `The folder ${dirname(realPath)} cannot be written to (${failureWords(error)}): make it writable for the user that Keyway runs as, because a change replaces the file in it.`;
    return [{ kind: 'notWritable', message }];
  }
  let remedy = 'run Keyway as that user';
  try {
    const made = await fileSystem.stat(temporary);
    if (made.uid === uid) remedy = `chgrp ${made.gid} ${realPath}`;
    if (made.uid !== uid || made.gid !== gid) await fileSystem.setOwner(temporary, uid, gid);
    return [];
  } catch (error) {
    const message = `${realPath} belongs to user ${uid}, group ${gid}, which Keyway may not give to a new file (${failureWords(error)}): ${remedy}.`;
    return [{ kind: 'foreignOwner', message }];
  } finally {
    await fileSystem.remove(temporary).catch(() => undefined);
  }
}

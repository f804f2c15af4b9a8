import { basename, dirname, join } from 'node:path';
import type { FileSystemPort, NewOwner } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { holderOf, InUseError, type Lock, type LockPlace, type LockPorts, takeLock } from './lock.js';
import { isMountPoint } from './mounts.js';
import { otherNames } from './write-file.js';

export type FileHold = ReturnType<typeof createFileHold>;

/** The errors of a folder that nothing can be written into. */
const READ_ONLY = new Set(['EACCES', 'EPERM', 'EROFS']);

interface Held {
  readonly realPath: string;
  readonly isMount: boolean;
  readonly lock: Lock | null;
}

/**
 * Holds the configuration file for this process alone, by a lock next to its real path, so that every path and every
 * data folder finds the same lock. There is no lock if nothing can be written there, or if the file alone is mounted,
 * because its folder differs in every container; the data folder's lock must do then. A file with further names (hard
 * links) is refused: another process may hold it by one of them, and replacing it would separate them.
 */
export function createFileHold(ports: LockPorts, path: string) {
  const { fileSystem } = ports;
  let held: Held | null = null;

  /** Takes the file. If it has vanished it may come back, so an earlier hold stays. */
  async function take(): Promise<void> {
    const realPath = await realPathOf(fileSystem, path);
    if (realPath === null) return;
    const before = held;
    if (before?.realPath === realPath) {
      held = { ...before, lock: before.isMount ? null : await takeFileLock(ports, realPath, before.lock) };
      return;
    }
    const isMount = await isMountPoint(fileSystem, realPath);
    const lock = isMount ? null : await takeFileLock(ports, realPath, null);
    try {
      if (lock !== null) await refuseOtherNames(fileSystem, realPath);
    } catch (error) {
      await lock?.release();
      throw error;
    }
    held = { realPath, isMount, lock };
    await before?.lock?.release();
  }

  /** Tells whether the path leads to the file that was taken, and its lock exists. */
  async function isHeld(): Promise<boolean> {
    if (!held?.lock) return false;
    const [isLocked, realPath] = await Promise.all([held.lock.isHeld(), realPathOf(fileSystem, path)]);
    return isLocked && realPath === held.realPath;
  }

  return {
    /** Takes nothing while the file does not exist. Rejects with `InUseError`, or an `Error` for the user. */
    take,
    isHeld,
    /** Returns the real path of the file as it was last looked up; null if no lock of it is held. */
    realPath: (): string | null => (held?.lock ? held.realPath : null),
    /** Takes the file again if `isHeld` is false. Resolves to whether the lock was removed; rejects as `take` does. */
    renew: async (): Promise<boolean> => {
      const lock = held?.lock ?? null;
      const wasRemoved = lock !== null && !(await lock.isHeld());
      await take();
      return wasRemoved && (await lock.isHeld());
    },
    release: async (): Promise<void> => held?.lock?.release(),
  };
}

/** Takes the lock next to the file; null if nothing can be written there. */
async function takeFileLock(ports: LockPorts, realPath: string, before: Lock | null): Promise<Lock | null> {
  try {
    if (before === null) return await takeLock(ports, filePlace(realPath, await ports.fileSystem.stat(realPath)));
    await before.takeAgain();
    return before;
  } catch (error) {
    if (READ_ONLY.has(failureCode(error) ?? '')) return null;
    if (error instanceof InUseError) throw error;
    const words = failureWords(error);
    throw new Error(`The configuration file ${realPath} cannot be held by a lock next to it: ${words}.`, {
      cause: error,
    });
  }
}

async function refuseOtherNames(fileSystem: FileSystemPort, realPath: string): Promise<void> {
  const count = await otherNames(fileSystem, realPath);
  if (count > 0)
    throw new Error(
      `The configuration file ${realPath} has ${count === 1 ? 'another name' : `${count} other names`} (hard links), by which another Keyway may hold it, and which would keep the old content: remove them, or make this one a file of its own with cp -p ${realPath} ${realPath}.new && mv ${realPath}.new ${realPath}.`,
    );
}

/** Returns the living process that holds the configuration file; null if there is none. */
export async function holderOfFile(
  ports: Pick<LockPorts, 'fileSystem' | 'processes'>,
  path: string,
): Promise<InUseError | null> {
  const realPath = await realPathOf(ports.fileSystem, path);
  return realPath === null ? null : holderOf(ports, filePlace(realPath));
}

/** A hidden file, so that programs that read every `*.json` in a folder ignore it. */
function filePlace(realPath: string, owner: NewOwner = 'process'): LockPlace {
  const path = join(dirname(realPath), `.${basename(realPath)}.keyway-lock`);
  return { path, of: 'file', what: `The configuration file ${realPath}`, owner };
}

/** Returns the real path, or null if the file does not exist. */
async function realPathOf(fileSystem: FileSystemPort, path: string): Promise<string | null> {
  return fileSystem.realPath(path).catch((error: unknown) => {
    if (failureCode(error) !== null) return null;
    throw error;
  });
}

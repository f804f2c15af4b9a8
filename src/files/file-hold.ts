import { basename, dirname, join } from 'node:path';
import type { FileSystemPort, NewOwner } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { holderOf, InUseError, type Lock, type LockPlace, type LockPorts, takeLock } from './lock.js';
import { isMountPoint } from './mounts.js';
import { otherNames } from './write-file.js';

export type FileHold = ReturnType<typeof createFileHold>;

/** Nothing can be written beside the file. */
const READ_ONLY = new Set(['EACCES', 'EPERM', 'EROFS']);

interface Held {
  readonly realPath: string;
  readonly isMount: boolean;
  readonly lock: Lock | null;
}

/**
 * The configuration file as what one process alone has in hand: a lock beside the place where the file really is, so that
 * every path and every data folder meets the same one. There is none where nothing can be written beside the file, and
 * where the file alone is a mount, whose neighbours are others in every container: the data folder's has to do there. A file
 * with further names (hard links) is not taken: another process may hold it by one of these, and replacing it would part them.
 */
export function createFileHold(ports: LockPorts, path: string) {
  const { fileSystem } = ports;
  let held: Held | null = null;

  /** A file that vanished may be on its way back: what is held of it stays. */
  async function take(): Promise<void> {
    const realPath = await realPathOf(fileSystem, path);
    if (realPath === null) return;
    const before = held;
    if (before?.realPath === realPath) {
      held = { ...before, lock: before.isMount ? null : await takeBeside(ports, realPath, before.lock) };
      return;
    }
    const isMount = await isMountPoint(fileSystem, realPath);
    const lock = isMount ? null : await takeBeside(ports, realPath, null);
    try {
      if (lock !== null) await refuseOtherNames(fileSystem, realPath);
    } catch (error) {
      await lock?.release();
      throw error;
    }
    held = { realPath, isMount, lock };
    await before?.lock?.release();
  }

  /** True when the path leads to the file that was taken, and its lock is there. */
  async function isHeld(): Promise<boolean> {
    if (!held?.lock) return false;
    const [isLocked, realPath] = await Promise.all([held.lock.isHeld(), realPathOf(fileSystem, path)]);
    return isLocked && realPath === held.realPath;
  }

  return {
    /** Nothing is taken while there is no such file. Rejects with `InUseError`, or an `Error` for people. */
    take,
    isHeld,
    /** Takes it again where `isHeld` is false. Resolves to whether the lock had been removed; rejects as `take` does. */
    renew: async (): Promise<boolean> => {
      const lock = held?.lock ?? null;
      const wasRemoved = lock !== null && !(await lock.isHeld());
      await take();
      return wasRemoved && (await lock.isHeld());
    },
    release: async (): Promise<void> => held?.lock?.release(),
  };
}

/** Null where nothing can be written. */
async function takeBeside(ports: LockPorts, realPath: string, before: Lock | null): Promise<Lock | null> {
  try {
    if (before === null) return await takeLock(ports, filePlace(realPath, await ports.fileSystem.stat(realPath)));
    await before.takeAgain();
    return before;
  } catch (error) {
    if (READ_ONLY.has(failureCode(error) ?? '')) return null;
    if (error instanceof InUseError) throw error;
    const words = failureWords(error);
    throw new Error(`The configuration file ${realPath} cannot be held by a lock beside it: ${words}.`, {
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

/**
 * Does work that writes the configuration file, with the file in hand where nobody has it. Beside a Keyway that serves it,
 * the work is an edit by hand, which that Keyway follows.
 */
export async function withFileInHand<T>(ports: LockPorts, path: string, work: () => Promise<T>): Promise<T> {
  const hold = createFileHold(ports, path);
  await hold.take().catch((error: unknown) => {
    if (!(error instanceof InUseError)) throw error;
  });
  try {
    return await work();
  } finally {
    await hold.release();
  }
}

/** The living process that has the configuration file; null when none has. */
export async function holderOfFile(
  ports: Pick<LockPorts, 'fileSystem' | 'processes'>,
  path: string,
): Promise<InUseError | null> {
  const realPath = await realPathOf(ports.fileSystem, path);
  return realPath === null ? null : holderOf(ports, filePlace(realPath));
}

/** Hidden, so that programs which read a whole folder of `*.json` pass it by. */
function filePlace(realPath: string, owner: NewOwner = 'process'): LockPlace {
  const path = join(dirname(realPath), `.${basename(realPath)}.keyway-lock`);
  return { path, of: 'file', what: `The configuration file ${realPath}`, owner };
}

/** Null where there is no such file. */
async function realPathOf(fileSystem: FileSystemPort, path: string): Promise<string | null> {
  return fileSystem.realPath(path).catch((error: unknown) => {
    if (failureCode(error) !== null) return null;
    throw error;
  });
}

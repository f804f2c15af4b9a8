import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort } from '../core/ports.js';
import { type DataFolder, DataFolderError, LOCK, parseMembers, unusable } from './data-folder.js';
import { failureCode } from './failure-words.js';
import type { ProcessesPort } from './processes.js';

const FILE_MODE = 0o600;
const LOCK_ATTEMPTS = 20;
const LOCK_WAIT_MS = 50;

/**
 * Takes the folder for this process alone; resolves to what gives it back. Rejects with `DataFolderError` while another
 * live process has it. The lock of a process that is gone (killed, or before a reboot) does not count.
 */
export async function lockDataFolder(
  fileSystem: FileSystemPort,
  folder: DataFolder,
  processes: ProcessesPort,
  wait: (milliseconds: number) => Promise<void>,
): Promise<() => Promise<void>> {
  const lock = join(folder.path, LOCK);
  const own = await processes.own();
  const content = Buffer.from(`${JSON.stringify({ ...own, nonce: randomBytes(8).toString('hex') })}\n`);
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    try {
      await fileSystem.create(lock, content, FILE_MODE);
      return () => release(fileSystem, lock, content);
    } catch (error) {
      if (failureCode(error) !== 'EEXIST') {
        await removeHalfMade(fileSystem, lock, content, error);
        throw unusable(folder.path, error);
      }
    }
    const present = await fileSystem.read(lock, FILE_LIMITS.note).catch(() => Buffer.alloc(0));
    const { pid, started } = parseMembers(present);
    if (typeof pid === 'number' && typeof started === 'string') {
      const holder = await processes.find(pid);
      if (holder !== null && holder.started === started) throw inUse(folder, `process ${pid}`);
      await setAside(fileSystem, lock, present, folder);
    } else if (attempt < LOCK_ATTEMPTS / 2) {
      // Whoever makes it right now has not written into it yet.
      await wait(LOCK_WAIT_MS);
    } else {
      await setAside(fileSystem, lock, present, folder);
    }
  }
  throw inUse(folder, 'another process');
}

/** What a full disk took of a lock would keep later starts waiting for whoever makes it. */
async function removeHalfMade(
  fileSystem: FileSystemPort,
  lock: string,
  content: Buffer,
  cause: unknown,
): Promise<void> {
  const code = failureCode(cause);
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return;
  const present = await fileSystem.read(lock, FILE_LIMITS.note).catch(() => null);
  const isOurs = present !== null && content.subarray(0, present.length).equals(present);
  if (isOurs) await fileSystem.remove(lock).catch(() => undefined);
}

/** Removes the lock that was read, and no other: two that find the same stale one must not both win. */
async function setAside(fileSystem: FileSystemPort, lock: string, read: Buffer, folder: DataFolder): Promise<void> {
  const aside = `${lock}.${randomBytes(6).toString('hex')}`;
  try {
    await fileSystem.rename(lock, aside);
  } catch (error) {
    if (failureCode(error) === 'ENOENT') return;
    throw error;
  }
  if (!(await fileSystem.read(aside, FILE_LIMITS.note)).equals(read)) {
    await fileSystem.rename(aside, lock);
    throw inUse(folder, 'another process');
  }
  await fileSystem.remove(aside);
}

async function release(fileSystem: FileSystemPort, lock: string, content: Buffer): Promise<void> {
  const present = await fileSystem.read(lock, FILE_LIMITS.note).catch(() => null);
  if (present?.equals(content)) await fileSystem.remove(lock);
}

function inUse(folder: DataFolder, by: string): DataFolderError {
  return new DataFolderError(
    `The data folder ${folder.path} is in use by ${by}: stop that Keyway first, or name another folder with --data-dir.`,
  );
}

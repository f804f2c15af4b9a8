import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileStat, FileSystemPort, NewOwner } from '../core/ports.js';
import { failureCode } from '../platform/failure-words.js';
import { createProcesses, type ProcessesPort, type ProcessIdentity } from '../platform/processes.js';
import { parseMembers } from './data-folder.js';
import { sameFile } from './write-file.js';

/** A thing that only one process may hold, and the file that says which one does. */
export interface LockPlace {
  readonly path: string;
  readonly of: 'folder' | 'file';
  /** The locked thing, as the start of a sentence: `The data folder /var/lib/keyway`. */
  readonly what: string;
  /** The owner of a lock that root makes. */
  readonly owner: NewOwner;
}

export interface LockPorts {
  readonly fileSystem: FileSystemPort;
  readonly processes: ProcessesPort;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** Returns the ports for locks of this machine's processes, as `/proc` lists them. */
export function lockPorts(fileSystem: FileSystemPort): LockPorts {
  return { fileSystem, processes: createProcesses(), wait: (milliseconds) => sleep(milliseconds) };
}

export interface Lock {
  /** Tells whether it exists unchanged. Rejects with the file system's error if that is unknown. */
  isHeld(): Promise<boolean>;
  /** Takes it again after it was removed; rejects as `takeLock` does. */
  takeAgain(): Promise<void>;
  /** Removes it, unless another process has it by now. */
  release(): Promise<void>;
}

/** Another living process has it; the message says which one and what to do. */
export class InUseError extends Error {
  readonly of: LockPlace['of'];
  /** The process that has it: `process 12`. */
  readonly by: string;

  constructor({ of, what }: LockPlace, by: string) {
    super(`${what} is in use by ${by}: stop that Keyway first, for two would write over each other's changes.`);
    this.name = 'InUseError';
    this.of = of;
    this.by = by;
  }
}

/** Readable by everyone with access to the folder, who must be able to see the holder; it contains nothing secret. */
const FILE_MODE = 0o644;
const LOCK_ATTEMPTS = 20;
const LOCK_WAIT_MS = 50;

/**
 * Takes the place for this process alone. Rejects with `InUseError` while another living process has it, else with the
 * file system's error. The lock of a process that is gone (killed, or from before a reboot) is ignored.
 */
export async function takeLock(ports: LockPorts, place: LockPlace): Promise<Lock> {
  const own = await ports.processes.own();
  const content = Buffer.from(`${JSON.stringify({ ...own, nonce: randomBytes(8).toString('hex') })}\n`);
  const take = () => makeLock(ports, place, content);
  await take();
  const lock = lockOf(ports.fileSystem, place.path, content);
  // Later checks then need to open no file, which may be what fails.
  await lock.isHeld().catch(() => undefined);
  return { ...lock, takeAgain: take };
}

async function makeLock(ports: LockPorts, place: LockPlace, content: Buffer): Promise<void> {
  const { fileSystem, processes, wait } = ports;
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    if (await isMade(fileSystem, place, content)) return;
    const present = await readLock(fileSystem, place);
    // Another process had renamed our lock, and put it back.
    if (present?.equals(content)) return;
    const holder = present === null ? null : await livingHolder(present, processes);
    if (holder !== null) throw inUse(place, holder);
    // A process that is just making it has not written into it yet.
    const isHalfMade = present !== null && holderIn(present) === null && attempt < LOCK_ATTEMPTS / 2;
    if (isHalfMade) await wait(LOCK_WAIT_MS);
    else if (present !== null) await setAside(fileSystem, place, present);
  }
  throw new InUseError(place, 'another process');
}

/** Makes the lock file; returns false if there is one already. */
async function isMade(fileSystem: FileSystemPort, { path, owner }: LockPlace, content: Buffer): Promise<boolean> {
  try {
    await fileSystem.create(path, content, FILE_MODE, owner);
  } catch (error) {
    if (failureCode(error) === 'EEXIST') return false;
    await removeHalfMade(fileSystem, path, content, error);
    throw error;
  }
  await removeLeftAside(fileSystem, path, content);
  return true;
}

/** Returns the error for a process that wants the place; null if no living process has it. */
export async function holderOf(
  { fileSystem, processes }: Pick<LockPorts, 'fileSystem' | 'processes'>,
  place: LockPlace,
): Promise<InUseError | null> {
  const present = await readLock(fileSystem, place);
  const holder = present === null ? null : await livingHolder(present, processes);
  return holder === null ? null : inUse(place, holder);
}

function inUse(place: LockPlace, { pid }: ProcessIdentity): InUseError {
  return new InUseError(place, `process ${pid}`);
}

async function readLock(fileSystem: FileSystemPort, place: LockPlace): Promise<Buffer | null> {
  return fileSystem.read(place.path, FILE_LIMITS.note).catch((error: unknown) => {
    const code = failureCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    // The process of an unreadable lock may be alive. In a data folder this is reported with the other files of that
    // user.
    if ((code === 'EACCES' || code === 'EPERM') && place.of === 'file')
      throw new Error(
        `its lock ${place.path} cannot be read (${code}): chown USER ${place.path}, for the user of the file`,
      );
    throw error;
  });
}

function holderIn(lock: Buffer): { readonly pid: number; readonly started: string } | null {
  const { pid, started } = parseMembers(lock);
  return typeof pid === 'number' && typeof started === 'string' ? { pid, started } : null;
}

async function livingHolder(lock: Buffer, processes: ProcessesPort): Promise<ProcessIdentity | null> {
  const named = holderIn(lock);
  const found = named === null ? null : await processes.find(named.pid);
  return found !== null && found.started === named?.started ? found : null;
}

function lockOf(fileSystem: FileSystemPort, path: string, content: Buffer): Omit<Lock, 'takeAgain'> {
  let known: FileStat | null = null;

  async function isSame(): Promise<boolean> {
    const present = await fileSystem.stat(path);
    if (known !== null && sameFile(known, present)) return true;
    if (!(await fileSystem.matches(path, content))) return false;
    known = present;
    return true;
  }

  return {
    isHeld: () =>
      isSame().catch((error: unknown) => {
        if (failureCode(error) === 'ENOENT' || failureCode(error) === 'ENOTDIR') return false;
        throw error;
      }),
    release: async () => {
      const present = await fileSystem.read(path, FILE_LIMITS.note).catch(() => null);
      if (present?.equals(content)) await fileSystem.remove(path);
    },
  };
}

/** Removes the part of a lock that fitted on a full disk, because later starts would wait for its maker. */
async function removeHalfMade(
  fileSystem: FileSystemPort,
  path: string,
  content: Buffer,
  cause: unknown,
): Promise<void> {
  const code = failureCode(cause);
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return;
  const present = await fileSystem.read(path, FILE_LIMITS.note).catch(() => null);
  const isOurs = present !== null && content.subarray(0, present.length).equals(present);
  if (isOurs) await fileSystem.remove(path).catch(() => undefined);
}

/** Removes exactly the lock that was read, so that of two processes that find the same stale one only one wins. */
async function setAside(fileSystem: FileSystemPort, place: LockPlace, read: Buffer): Promise<void> {
  const aside = `${place.path}.${randomBytes(6).toString('hex')}`;
  try {
    await fileSystem.rename(place.path, aside);
  } catch (error) {
    if (failureCode(error) === 'ENOENT') return;
    throw error;
  }
  if (!(await fileSystem.read(aside, FILE_LIMITS.note)).equals(read)) {
    await fileSystem.rename(aside, place.path);
    throw new InUseError(place, 'another process');
  }
  await fileSystem.remove(aside);
}

/** Removes stale locks that a killed process had renamed; our own may be there while another checks it. */
async function removeLeftAside(fileSystem: FileSystemPort, path: string, own: Buffer): Promise<void> {
  // A folder that can be written but not read is no reason against the lock.
  const names = await fileSystem.list(dirname(path)).catch(() => []);
  for (const name of names.filter((each) => isAside(each, basename(path)))) {
    const aside = join(dirname(path), name);
    const present = await fileSystem.read(aside, FILE_LIMITS.note).catch(() => own);
    if (!present.equals(own)) await fileSystem.remove(aside).catch(() => undefined);
  }
}

function isAside(name: string, lock: string): boolean {
  return name.startsWith(`${lock}.`) && /^[0-9a-f]{12}$/.test(name.slice(lock.length + 1));
}

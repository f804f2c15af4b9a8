import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileStat, FileSystemPort, NewOwner } from '../core/ports.js';
import { failureCode } from '../platform/failure-words.js';
import { createProcesses, type FoundProcess, type ProcessesPort } from '../platform/processes.js';
import { parseMembers } from './data-folder.js';
import { sameFile } from './write-file.js';

/** A thing that one process alone may have, and the file that says which one has it. */
export interface LockPlace {
  readonly path: string;
  readonly of: 'folder' | 'file';
  /** The locked thing, as a sentence begins: `The data folder /var/lib/keyway`. */
  readonly what: string;
  /** Whose the lock becomes that root makes. */
  readonly owner: NewOwner;
}

export interface LockPorts {
  readonly fileSystem: FileSystemPort;
  readonly processes: ProcessesPort;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** Locks of this machine's processes, as `/proc` tells of them. */
export function lockPorts(fileSystem: FileSystemPort): LockPorts {
  return { fileSystem, processes: createProcesses(), wait: (milliseconds) => sleep(milliseconds) };
}

export interface Lock {
  /** True when it is there as it was made. Rejects with the file system's error where that cannot be told. */
  isHeld(): Promise<boolean>;
  /** Takes it again after somebody has removed it; rejects as `takeLock` does. */
  takeAgain(): Promise<void>;
  /** Removes it, unless it is another's by now. */
  release(): Promise<void>;
}

/** Another living process has it; the message says which and what to do. */
export class InUseError extends Error {
  readonly of: LockPlace['of'];
  /** Who has it: `process 12`. */
  readonly by: string;
  /** It was stopped, as by Ctrl-Z, and answers nothing until it goes on. */
  readonly isSuspended: boolean;

  constructor({ of, what }: LockPlace, by: string, { isSuspended = false } = {}) {
    super(`${what} is in use by ${by}: stop that Keyway first, for two would write over each other's changes.`);
    this.name = 'InUseError';
    this.of = of;
    this.by = by;
    this.isSuspended = isSuspended;
  }
}

/** For so long a Keyway that serves may answer nothing, ms. */
export const ANSWER_PATIENCE = 5_000;

/** A Keyway that serves answers nothing. */
export class NoAnswerError extends Error {
  constructor(by: string) {
    super(`${by} does not answer (suspended?)`);
    this.name = 'NoAnswerError';
  }
}

/** Throws `NoAnswerError` where the process was suspended and has answered nothing for `waited` milliseconds. */
export function expectAnswer({ by, isSuspended }: InUseError, waited: number): void {
  if (isSuspended && waited >= ANSWER_PATIENCE) throw new NoAnswerError(by);
}

/** It says nothing secret, and whoever may come into the folder must be able to read who has it. */
const FILE_MODE = 0o644;
const LOCK_ATTEMPTS = 20;
const LOCK_WAIT_MS = 50;

/**
 * Takes the place for this process alone. Rejects with `InUseError` while another living process has it, else with the
 * file system's error. The lock of a process that is gone (killed, or before a reboot) does not count.
 */
export async function takeLock(ports: LockPorts, place: LockPlace): Promise<Lock> {
  const own = await ports.processes.own();
  const content = Buffer.from(`${JSON.stringify({ ...own, nonce: randomBytes(8).toString('hex') })}\n`);
  const take = () => makeLock(ports, place, content);
  await take();
  const lock = lockOf(ports.fileSystem, place.path, content);
  // From now on a look at it needs no file to be opened, which may be what fails.
  await lock.isHeld().catch(() => undefined);
  return { ...lock, takeAgain: take };
}

async function makeLock(ports: LockPorts, place: LockPlace, content: Buffer): Promise<void> {
  const { fileSystem, processes, wait } = ports;
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    if (await isMade(fileSystem, place, content)) return;
    const present = await readLock(fileSystem, place);
    // Another process that had set ours aside put it back.
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

/** False when there is one already. */
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

/** The error for a process that wants the place; null when no living process has it. */
export async function holderOf(
  { fileSystem, processes }: Pick<LockPorts, 'fileSystem' | 'processes'>,
  place: LockPlace,
): Promise<InUseError | null> {
  const present = await readLock(fileSystem, place);
  const holder = present === null ? null : await livingHolder(present, processes);
  return holder === null ? null : inUse(place, holder);
}

function inUse(place: LockPlace, { pid, isSuspended = false }: FoundProcess): InUseError {
  return new InUseError(place, `process ${pid}`, { isSuspended });
}

async function readLock(fileSystem: FileSystemPort, place: LockPlace): Promise<Buffer | null> {
  return fileSystem.read(place.path, FILE_LIMITS.note).catch((error: unknown) => {
    const code = failureCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    // The process of a lock that cannot be read may be alive. In a data folder it goes with the others of another user.
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

async function livingHolder(lock: Buffer, processes: ProcessesPort): Promise<FoundProcess | null> {
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

/** Removes the part of a lock that a full disk took: later starts would wait for its maker. */
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

/** Removes the lock that was read, and no other: two that find the same stale one must not both win. */
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

/** Removes stale locks that somebody who was killed had set aside; ours may be there for the moment in which it is looked at. */
async function removeLeftAside(fileSystem: FileSystemPort, path: string, own: Buffer): Promise<void> {
  // A folder that may be written and not read is no reason against the lock.
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

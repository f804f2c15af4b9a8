import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const MEMORY = '/dev/shm';
/** The type of a file system in memory, as Linux tells it. */
const TMPFS = 0x01021994;
/** Bytes that the file system in memory and the machine must have left; a whole run takes less than 1 GiB. */
const ENOUGH = 4 * 2 ** 30;

/**
 * Has all processes of a run keep their temporary files in memory, in one folder that goes with the run: a disk spends half as much
 * processor time again on making and syncing so many small ones. Leaves them where they are where `TMPDIR` says so, and where memory
 * is short or runs no programs. Resolves to what removes the folder.
 */
export async function keepTemporaryFilesInMemory(): Promise<() => Promise<void>> {
  if (process.env.TMPDIR !== undefined || !(await hasRoom())) return async () => undefined;
  const folder = await mkdtemp(join(MEMORY, 'keyway-tests-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  // Some tests act as another user.
  await chmod(folder, 0o1777);
  if (!(await runsPrograms(folder))) {
    await remove();
    return async () => undefined;
  }
  process.env.TMPDIR = folder;
  return remove;
}

async function hasRoom(): Promise<boolean> {
  const found = await statfs(MEMORY).catch(() => null);
  return found !== null && found.type === TMPFS && found.bavail * found.bsize > ENOUGH && freemem() > ENOUGH;
}

async function runsPrograms(folder: string): Promise<boolean> {
  const program = join(folder, 'program');
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 });
  return promisify(execFile)(program).then(
    () => true,
    () => false,
  );
}

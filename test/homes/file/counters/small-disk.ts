import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished, vi } from 'vitest';
import type { FileSystemPort } from '../../../../src/core/ports.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';
import { folderForTest } from '../../../folder-for-test.js';

const run = promisify(execFile);

/** A disk of 1 MiB that can be filled up and made read-only. */
export interface SmallDisk {
  /** On that disk. */
  readonly folder: string;
  readonly fileSystem: FileSystemPort;
  fill(): Promise<void>;
  free(): Promise<void>;
  readOnly(): Promise<void>;
  writable(): Promise<void>;
}

/** A real one where the system allows mounting it, else a fake at the port; then the reason is printed. */
export async function smallDisk(): Promise<SmallDisk> {
  const folder = join(await folderForTest(), 'disk');
  const reason = await mountSmallDisk(folder);
  if (reason === null) return realDisk(folder);
  process.stdout.write(`no small disk can be mounted, so a fake file system stands for it: ${reason}\n`);
  return fakeDisk(folder);
}

/** For what another process is to write on; where it cannot be mounted, the reason why. */
export async function realSmallDisk(): Promise<SmallDisk | string> {
  const folder = join(await folderForTest(), 'disk');
  return (await mountSmallDisk(folder)) ?? realDisk(folder);
}

/** Until the test is over. Why not, where the system does not allow it. */
async function mountSmallDisk(folder: string): Promise<string | null> {
  await mkdir(folder);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', folder]);
  } catch (error) {
    return (error instanceof Error ? error.message.trim().split('\n').at(-1) : undefined) ?? String(error);
  }
  onTestFinished(async () => {
    await run('umount', ['-l', folder]);
  });
  return null;
}

function realDisk(folder: string): SmallDisk {
  const filler = join(folder, 'filler');
  const remount = async (mode: 'ro' | 'rw') => {
    // A disk is busy while something is open for writing, as a note is that is written after an answer.
    const whenIdle = { timeout: 30_000, interval: 5 };
    await vi.waitFor(() => run('mount', ['-o', `remount,${mode}`, folder]), whenIdle);
  };
  return {
    folder,
    fileSystem: createFileSystem(),
    fill: async () => {
      // The write ends where the disk does.
      await writeFile(filler, Buffer.alloc(2 * 1024 * 1024)).catch(() => undefined);
    },
    free: () => rm(filler),
    readOnly: () => remount('ro'),
    writable: () => remount('rw'),
  };
}

function fakeDisk(folder: string): SmallDisk {
  const real = createFileSystem();
  let code: 'ENOSPC' | 'EROFS' | null = null;
  const refused = (path: string, needsSpace: boolean) => {
    const isOurs = path.startsWith(folder) && code !== null && (needsSpace || code === 'EROFS');
    return isOurs ? Promise.reject(Object.assign(new Error(`${code}: ${path}`), { code })) : null;
  };
  const fileSystem: FileSystemPort = {
    ...real,
    create: (path, ...rest) => refused(path, true) ?? real.create(path, ...rest),
    overwrite: (path, ...rest) => refused(path, true) ?? real.overwrite(path, ...rest),
    append: (path, ...rest) => refused(path, true) ?? real.append(path, ...rest),
    makeFolder: (path, ...rest) => refused(path, true) ?? real.makeFolder(path, ...rest),
    rename: (from, to) => refused(to, false) ?? real.rename(from, to),
    remove: (path) => refused(path, false) ?? real.remove(path),
    checkWritable: (path) => refused(path, false) ?? real.checkWritable(path),
  };
  const become = (next: typeof code) => async () => {
    code = next;
  };
  return {
    folder,
    fileSystem,
    fill: become('ENOSPC'),
    free: become(null),
    readOnly: become('EROFS'),
    writable: become(null),
  };
}

import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import type { FileSystemPort } from '../../src/core/ports.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { temporaryFolder } from '../feed/stage.js';

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
  const mounted = join(await temporaryFolder(), 'disk');
  await mkdir(mounted);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', mounted]);
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error);
    process.stdout.write(`no small disk can be mounted, so a fake file system stands for it: ${reason}\n`);
    return fakeDisk(mounted);
  }
  onTestFinished(async () => {
    await run('umount', ['-l', mounted]);
  });
  const filler = join(mounted, 'filler');
  const remount = async (mode: 'ro' | 'rw') => {
    await run('mount', ['-o', `remount,${mode}`, mounted]);
  };
  return {
    folder: mounted,
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

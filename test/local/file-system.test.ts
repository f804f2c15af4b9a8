import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createFileSystem } from '../../src/local/file-system.js';

/** What another does between two steps of a call: it happens once, when the next folder could not be made. */
const others = vi.hoisted((): { then: (() => Promise<unknown>) | null } => ({ then: null }));
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  const mkdir: typeof real.mkdir = async (...given: Parameters<typeof real.mkdir>) => {
    try {
      return await real.mkdir(...given);
    } catch (error) {
      const act = others.then;
      others.then = null;
      await act?.();
      throw error;
    }
  };
  return { ...real, mkdir };
});

const { makeFolder } = createFileSystem();
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-file-system-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('makeFolder', () => {
  it('makes the parents that are missing, all with this mode', async () => {
    await makeFolder(join(folder, 'a/b/c'), 0o700);
    for (const path of ['a', 'a/b', 'a/b/c']) expect((await stat(join(folder, path))).mode & 0o777).toBe(0o700);
  });

  it('of a folder that exists does nothing, also when several ask at once', async () => {
    await Promise.all([1, 2, 3].map(() => makeFolder(join(folder, 'a/b'), 0o700)));
    await makeFolder(folder, 0o700);
  });

  it('makes a folder whose parent another makes between its steps, or the folder itself', async () => {
    others.then = () => mkdir(join(folder, 'a'));
    await makeFolder(join(folder, 'a/b'), 0o700);
    expect((await stat(join(folder, 'a/b'))).isDirectory()).toBe(true);
    others.then = () => mkdir(join(folder, 'c/d'), { recursive: true });
    await makeFolder(join(folder, 'c/d'), 0o700);
    expect((await stat(join(folder, 'c/d'))).isDirectory()).toBe(true);
  });

  it('where a file stands rejects', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(makeFolder(join(folder, 'file'), 0o700)).rejects.toThrow('EEXIST');
    await expect(makeFolder(join(folder, 'file/a'), 0o700)).rejects.toThrow('ENOTDIR');
  });

  it.runIf(existsSync('/proc/self'))('in a folder that takes none rejects', async () => {
    await expect(makeFolder('/proc/keyway/a', 0o700)).rejects.toThrow('ENOENT');
  });
});

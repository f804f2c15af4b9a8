import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFileSystem } from '../../src/platform/file-system.js';

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

  it('where a file stands rejects', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(makeFolder(join(folder, 'file'), 0o700)).rejects.toThrow('EEXIST');
    await expect(makeFolder(join(folder, 'file/a'), 0o700)).rejects.toThrow('ENOTDIR');
  });

  it.runIf(existsSync('/proc/self'))('in a folder that takes none rejects', async () => {
    await expect(makeFolder('/proc/keyway/a', 0o700)).rejects.toThrow('ENOENT');
  });
});

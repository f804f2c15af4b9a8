import { existsSync } from 'node:fs';
import promises, { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createFileSystem } from '../../src/local/file-system.js';

const { makeFolder } = createFileSystem();
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-file-system-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await rm(folder, { recursive: true });
});

describe('makeFolder', () => {
  it('makes the parents that are missing, all with this mode', async () => {
    await makeFolder(join(folder, 'a/b/c'), 0o700);
    for (const path of ['a', 'a/b', 'a/b/c']) expect((await stat(join(folder, path))).mode & 0o777).toBe(0o700);
  });

  it('of a folder that exists does nothing, also when several ask at once', async () => {
    await Promise.all([1, 2, 3].map(() => makeFolder(join(folder, 'a/b'), 0o700)));
    await makeFolder(folder, 0o700);
  });

  it.each(['a', 'a/b'])('makes a/b although another makes %s between its steps', async (theirs) => {
    const { mkdir: real } = promises;
    const refusing = vi.spyOn(promises, 'mkdir').mockImplementationOnce(async (...given) => {
      const refused: unknown = await real(...given).catch((error: unknown) => error);
      await real(join(folder, theirs), { recursive: true });
      throw refused;
    });
    syncBuiltinESMExports();
    await makeFolder(join(folder, 'a/b'), 0o700);
    expect(refusing.mock.settledResults[0]).toMatchObject({ type: 'rejected', value: { code: 'ENOENT' } });
    expect((await stat(join(folder, 'a/b'))).isDirectory()).toBe(true);
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

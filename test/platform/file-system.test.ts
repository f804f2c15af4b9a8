import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import promises, { lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { failureWords } from '../../src/platform/failure-words.js';
import { createFileSystem } from '../../src/platform/file-system.js';

const { create, createSynced, makeFolder, matches, open, read, setOwner, syncFolder } = createFileSystem();
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-file-system-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await rm(folder, { recursive: true });
});

/** Only root can give something away. */
function needsRoot(skip: () => void): void {
  if (process.geteuid?.() === 0) return;
  process.stdout.write('not run: only root can give a file away\n');
  skip();
}

const OTHER = { uid: 12_345, gid: 23_456 };
const ownerOf = async (path: string) => {
  const { uid, gid } = await lstat(path);
  return { uid, gid };
};

describe('what root makes', () => {
  it('in a folder of another user becomes his, the folder and the file, with the mode that was asked for', async ({
    skip,
  }) => {
    needsRoot(skip);
    const data = join(folder, 'data');
    await makeFolder(data, 0o700, OTHER);
    await makeFolder(join(data, 'versions'), 0o700, 'folder');
    await create(join(data, 'versions/one'), Buffer.from('one'), 0o600, 'folder');
    for (const path of [data, join(data, 'versions'), join(data, 'versions/one')])
      expect(await ownerOf(path)).toEqual(OTHER);
    expect((await stat(join(data, 'versions/one'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(data, 'versions/one'), 'utf8')).toBe('one');
    await expect(create(join(data, 'versions/one'), Buffer.from('two'), 0o600, 'folder')).rejects.toMatchObject({
      code: 'EEXIST',
    });
    await create(join(data, 'exported'), Buffer.from('all keys'), 0o600);
    expect(await ownerOf(join(data, 'exported'))).toEqual({ uid: 0, gid: 0 });
  });

  it('through a link of his in a folder of root stays root’s, and what a link leads to keeps its owner', async ({
    skip,
  }) => {
    needsRoot(skip);
    const [data, etc] = [join(folder, 'data'), join(folder, 'etc')];
    await makeFolder(data, 0o700, OTHER);
    await mkdir(etc);
    await writeFile(join(etc, 'passwd'), '');
    await symlink(etc, join(data, 'versions'));
    await create(join(data, 'versions/cron'), Buffer.from(''), 0o600, 'folder');
    expect(await ownerOf(join(etc, 'cron'))).toEqual({ uid: 0, gid: 0 });
    await symlink(join(etc, 'passwd'), join(data, 'lock'));
    await expect(create(join(data, 'lock'), Buffer.from(''), 0o644, 'folder')).rejects.toMatchObject({
      code: 'EEXIST',
    });
    await setOwner(join(data, 'lock'), OTHER.uid, OTHER.gid);
    expect([await ownerOf(join(etc, 'passwd')), await ownerOf(join(data, 'lock'))]).toEqual([
      { uid: 0, gid: 0 },
      OTHER,
    ]);
  });

  it('for a user in a folder of a third one stays root’s', async ({ skip }) => {
    needsRoot(skip);
    await makeFolder(join(folder, 'theirs'), 0o700, { uid: 1, gid: 1 });
    await create(join(folder, 'theirs/lock'), Buffer.from(''), 0o644, OTHER);
    expect(await ownerOf(join(folder, 'theirs/lock'))).toEqual({ uid: 0, gid: 0 });
  });
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

/** A file of 3 GiB that takes no room on the disk. */
async function vast(name: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, 'beginning');
  await truncate(path, 3 * 2 ** 30);
  return path;
}

async function socketAt(path: string): Promise<string> {
  const server = createServer().listen(path);
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  return path;
}

/** What stands where a file is expected, by what it is. */
const NO_FILES: Readonly<Record<string, () => Promise<string>>> = {
  'a pipe that nobody writes into': async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    return join(folder, 'pipe');
  },
  'a device without an end': async () => '/dev/zero',
  'a socket': () => socketAt(join(folder, 'socket')),
};

describe('read', () => {
  it('gives a file of as many bytes as the limit, and refuses one that has a byte more', async () => {
    const path = join(folder, 'file');
    await writeFile(path, 'abcd');
    expect(String(await read(path, 4))).toBe('abcd');
    await expect(read(path, 3)).rejects.toMatchObject({ code: 'EFBIG', message: `${path} is larger than 3 bytes` });
  });

  it('gives an empty file', async () => {
    await writeFile(join(folder, 'file'), '');
    expect(await read(join(folder, 'file'), 0)).toHaveLength(0);
  });

  it('refuses a file of 3 GiB, saying the limit in its own unit', async () => {
    const path = await vast('vast');
    for (const [limit, words] of [
      [256 * 2 ** 20, '256 MiB'],
      [2 ** 30, '1 GiB'],
      [64 * 2 ** 10, '64 KiB'],
    ] as const) {
      const error = await read(path, limit).catch((reason: unknown) => reason);
      expect([error, failureWords(error)]).toEqual([
        expect.objectContaining({ code: 'EFBIG', message: `${path} is larger than ${words}` }),
        `it is larger than ${words}`,
      ]);
    }
  });

  it.runIf(existsSync('/proc/self/status'))('gives a file whose size does not tell how much it holds', async () => {
    expect((await stat('/proc/self/status')).size).toBe(0);
    expect(String(await read('/proc/self/status', 2 ** 20))).toMatch(/^Name:.*\nPid:/s);
    await expect(read('/proc/self/status', 10)).rejects.toMatchObject({ code: 'EFBIG' });
  });
});

describe.each([
  ['read', (path: string) => read(path, 2 ** 20)],
  ['open', open],
  ['matches', (path: string) => matches(path, Buffer.from('x'))],
] as const)('%s', (_name, call) => {
  it.each(Object.entries(NO_FILES))('refuses %s, and never waits', async (_what, make) => {
    const path = await make();
    const error = await call(path).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'EINVAL', message: `${path} is no regular file` });
    expect(failureWords(error)).toBe('it is no regular file');
  });

  it('refuses a folder and what is missing with the codes of the system', async () => {
    await mkdir(join(folder, 'folder'));
    await expect(call(join(folder, 'folder'))).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(call(join(folder, 'missing'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('open', () => {
  it('reads pieces of a file of any size, from anywhere in it', async () => {
    const file = await open(await vast('vast'));
    const piece = Buffer.alloc(4, 'x');
    expect([file.size, await file.read(piece, 5), String(piece)]).toEqual([3 * 2 ** 30, 4, 'ning']);
    expect([await file.read(piece, file.size - 2), [...piece.subarray(0, 2)]]).toEqual([2, [0, 0]]);
    expect(await file.read(piece, file.size)).toBe(0);
    await file.close();
  });
});

/** Notes in `steps` when each sync of an open file or folder begins and ends. */
async function followSyncs(steps: string[]): Promise<void> {
  const some = await promises.open(folder);
  const handles = Object.getPrototypeOf(some);
  await some.close();
  const real = handles.sync;
  vi.spyOn(handles, 'sync').mockImplementation(async function (this: unknown) {
    steps.push('sync begins');
    await Reflect.apply(real, this, []);
    steps.push('sync ends');
  });
}

describe('createSynced', () => {
  it('calls for other work once the sync of the whole content is under way, and waits for both', async () => {
    const steps: string[] = [];
    await followSyncs(steps);
    const path = join(folder, 'file');
    const meanwhile = async () => {
      steps.push(`work over ${await readFile(path, 'utf8')} of mode ${(await stat(path)).mode & 0o777}`);
      await expect.poll(() => steps).toContain('sync ends');
      steps.push('work ends');
    };
    await createSynced(path, Buffer.from('content'), { mode: 0o640 }, meanwhile);
    expect(steps[0]).toBe('sync begins');
    expect(steps).toContain(`work over content of mode ${0o640}`);
    expect(steps.at(-1)).toBe('work ends');
  });

  it('rejects as the other work does', async () => {
    const refused = createSynced(join(folder, 'file'), Buffer.from(''), { mode: 0o600 }, async () => {
      throw new Error('not held');
    });
    await expect(refused).rejects.toThrow('not held');
  });
});

describe('syncFolder', () => {
  it('opens the folder at once, and syncs it no earlier than what it comes after is done', async () => {
    const steps: string[] = [];
    await followSyncs(steps);
    const opening = vi.spyOn(promises, 'open');
    syncBuiltinESMExports();
    const change = async () => {
      await expect.poll(() => opening.mock.settledResults[0]?.type).toBe('fulfilled');
      steps.push('change ends');
    };
    await syncFolder(folder, change());
    expect(steps).toEqual(['change ends', 'sync begins', 'sync ends']);
  });

  it('syncs nothing where what it comes after fails', async () => {
    const steps: string[] = [];
    await followSyncs(steps);
    const change = Promise.reject(new Error('not renamed'));
    change.catch(() => undefined);
    await expect(syncFolder(folder, change)).rejects.toThrow('not renamed');
    expect(steps).toEqual([]);
  });
});

import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDataFolder } from '../../src/files/data-folder.js';
import { createKeptVersions } from '../../src/files/kept-versions.js';
import { listVersions, readVersion } from '../../src/files/versions-of-file.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { collectGarbage } from '../collect-garbage.js';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const fileSystem = createFileSystem();
let folder = '';
let now = Date.UTC(2026, 0, 1, 12);
const clock = { now: () => now, monotonic: () => now };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-versions-'));
  now = Date.UTC(2026, 0, 1, 12);
  await writeFile(join(folder, 'server.json'), 'present\n');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function open() {
  const data = await openDataFolder(fileSystem, join(folder, 'data'), join(folder, 'server.json'));
  return createKeptVersions({ fileSystem, folder: data.versions, clock });
}

function options() {
  return { fileSystem, clock, log: silent, path: join(folder, 'server.json'), dataFolder: join(folder, 'data') };
}

describe('kept versions', () => {
  it('a version comes back byte for byte, and its folders and files are the owner’s alone', async () => {
    const versions = await open();
    const content = Buffer.from('{ // 0.10\r\n}');
    await versions.keep(content);
    const [version] = await versions.list();
    expect(await versions.read(version?.id ?? '')).toEqual(content);
    const [name = ''] = await readdir(join(folder, 'data', 'versions'));
    expect((await stat(join(folder, 'data'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'data', 'versions'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'data', 'versions', name))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'data', 'belongs-to.json'))).mode & 0o777).toBe(0o600);
  });

  it('equal content is kept once, and a mark for ever stays on it', async () => {
    const versions = await open();
    await versions.keep(Buffer.from('a'));
    await versions.keep(Buffer.from('a'));
    await versions.keep(Buffer.from('b'), { forever: true });
    await versions.keep(Buffer.from('b'));
    expect((await versions.list()).map(({ forever }) => forever)).toEqual([false, true]);
  });

  it('what is kept again is the newest, also where it is the very first, and once more at most', async () => {
    const versions = await open();
    for (let n = 0; n < 6; n += 1) {
      now += 1000;
      await versions.keep(Buffer.from(n % 2 === 0 ? 'a' : 'b'));
      const [newest] = (await versions.list()).slice(-1);
      expect((await versions.read(newest?.id ?? '')).toString()).toBe(n % 2 === 0 ? 'a' : 'b');
    }
    expect(await versions.list()).toHaveLength(3);
  });

  it('content is held in memory no longer than by who had it kept', async () => {
    const versions = await open();
    const keep = async () => {
      const content = Buffer.from('a');
      await versions.keep(content);
      return new WeakRef(content);
    };
    const kept = await keep();
    await collectGarbage();
    expect(kept.deref()?.toString() ?? 'collected').toBe('collected');
    expect(await versions.list()).toHaveLength(1);
  });

  it('a folder that was removed is made again; what was in it is kept once more after it was forgotten', async () => {
    const versions = await open();
    const content = Buffer.from('a');
    await versions.keep(content);
    await rm(join(folder, 'data', 'versions'), { recursive: true });
    await versions.keep(content);
    expect(await versions.list()).toEqual([]);
    versions.forget();
    await versions.keep(content);
    expect(await versions.list()).toHaveLength(1);
    expect((await stat(join(folder, 'data', 'versions'))).mode & 0o777).toBe(0o700);
  });

  it('of 25 versions of one day the first, the one for ever and the last 10 stay', async () => {
    const versions = await open();
    for (let n = 0; n < 25; n++) {
      now += 1000;
      await versions.keep(Buffer.from(`${n}`), { forever: n === 5 });
    }
    const kept = await Promise.all((await versions.list()).map(async ({ id }) => (await versions.read(id)).toString()));
    expect(kept).toEqual(['0', '5', ...Array.from({ length: 10 }, (_, n) => `${n + 15}`)]);
  });

  it.each([
    ['minutes', 230_000],
    ['hours', 7_400_000],
  ])('what is kept after the clock was set back by %s is the newest and stays, as does the very first', async (_, back) => {
    const versions = await open();
    for (let n = 0; n < 40; n++) {
      now += 200_000;
      await versions.keep(Buffer.from(`${n}`));
    }
    now -= back;
    await versions.keep(Buffer.from('after'));
    await versions.keep(Buffer.from('later'));
    const kept = await Promise.all((await versions.list()).map(async ({ id }) => (await versions.read(id)).toString()));
    expect([kept[0], ...kept.slice(-3)]).toEqual(['0', '39', 'after', 'later']);
  });

  it('an unknown or an ambiguous version is an error', async () => {
    const versions = await open();
    await versions.keep(Buffer.from('a'));
    await versions.keep(Buffer.from('b'));
    await expect(readVersion(options(), '1999')).rejects.toThrow('no kept version 1999');
    await expect(readVersion(options(), '2026')).rejects.toThrow('2 kept versions begin with 2026');
  });

  it('a data folder that belongs to another file is refused by name', async () => {
    await open();
    const other = { ...options(), path: join(folder, 'other.json') };
    await expect(listVersions(other)).rejects.toThrow(`belongs to ${join(folder, 'server.json')}`);
  });
});

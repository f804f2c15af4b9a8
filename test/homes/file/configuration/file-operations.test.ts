import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ConfigurationChange } from '../../../../src/core/model.js';
import type { FileStat, FileSystemPort } from '../../../../src/core/ports.js';
import { readTarget, replaceTarget, TargetChangedError } from '../../../../src/files/write-file.js';
import { createConfigurationFile } from '../../../../src/homes/file/configuration/configuration-file.js';
import { createFileSystem } from '../../../../src/platform/file-system.js';
import { systemClock } from '../../../../src/platform/system-ports.js';
import { createForgetfulFileSystem } from '../../../ports/forgetful-file-system.js';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const OFTEN = { interval: 2 };

const adding = (accessKey: string): ConfigurationChange => ({
  keys: new Map([[accessKey, { accessKey, name: null, limitBytes: null }]]),
});

/** The port, and how often each of its operations was called since `reset`. */
function counting(port: FileSystemPort) {
  let counts: Record<string, number> = {};
  const count = (name: string): void => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const fileSystem = new Proxy(port, {
    get(target, name: keyof FileSystemPort) {
      count(name);
      return target[name];
    },
  });
  return {
    fileSystem,
    counts: () => counts,
    reset: () => {
      counts = {};
    },
  };
}

describe('one create', () => {
  it('takes 13 operations of the file system, of which two append to the journal and none reads the file to change it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway-operations-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const path = join(folder, 'server.json');
    const keys = Array.from({ length: 1000 }, (_, index) => `key-${index}`);
    await writeFile(path, JSON.stringify({ mode: 'server', access_keys: keys }, null, 2), { mode: 0o600 });
    const { fileSystem, counts, reset } = counting(createFileSystem());
    const place = { path, dataFolder: join(folder, 'data'), watch: false, pollMilliseconds: 0 };
    const file = await createConfigurationFile({ ...place, fileSystem, clock: systemClock, log });
    // The first write after a start keeps a version of the file, and makes the journal.
    await file.save(adding('first'));
    await file.save(adding('second'));
    reset();
    await file.save(adding('third'));
    const { open = 0, matches = 0, ...others } = counts();
    expect(others).toEqual({
      stat: 4,
      realPath: 1,
      createSynced: 1,
      hardLink: 1,
      rename: 1,
      remove: 1,
      syncFolder: 1,
      append: 2,
    });
    // The stat alone says that the file is unchanged, unless it was written within one tick of the system's clock.
    expect(open + matches).toBe(1);
    await file.close();
  });
});

/** Two changes one after the other have the same times here, as within a tick of the system's clock. */
function withoutTime(port: FileSystemPort): FileSystemPort {
  const timeless = (stat: FileStat): FileStat => ({ ...stat, mtimeNs: 0n, ctimeNs: 0n });
  return {
    ...port,
    stat: async (path) => timeless(await port.stat(path)),
    createSynced: async (...given) => timeless(await port.createSynced(...given)),
  };
}

describe('an edit that the stat of the file does not show', () => {
  const PATH = '/etc/server/server.json';

  async function opened() {
    const disk = createForgetfulFileSystem();
    disk.write(PATH, '{"mode": "server", "access_keys": ["alpha"]}', { synced: true });
    const file = await createConfigurationFile({
      path: PATH,
      dataFolder: '/data',
      fileSystem: withoutTime(disk.port),
      clock: systemClock,
      log,
      watch: false,
      pollMilliseconds: 0,
    });
    await file.save(adding('beta'));
    const edit = (from: string, to: string) => disk.write(PATH, (disk.readText(PATH) ?? '').replace(from, to));
    const keys = () => JSON.parse(disk.readText(PATH) ?? '').access_keys;
    return { file, edit, keys };
  }

  it('is not written over by the next create', async () => {
    const { file, edit, keys } = await opened();
    edit('alpha', 'omega');
    await file.save(adding('gamma'));
    expect(keys()).toEqual(['omega', 'beta', 'gamma']);
    expect(file.load().keys.map(({ accessKey }) => accessKey)).toEqual(['omega', 'beta', 'gamma']);
    await file.close();
  });

  it('makes no change look as if it were in the file already', async () => {
    const { file, edit, keys } = await opened();
    edit('alpha', 'omega');
    await file.save(adding('alpha'));
    expect(keys()).toEqual(['omega', 'beta', 'alpha']);
    await file.close();
  });

  it('is not written over where the file system counts time in steps of 2 s, one of which has begun since', async () => {
    const disk = createForgetfulFileSystem();
    disk.write(PATH, 'alpha', { synced: true });
    const coarse = withoutTime(disk.port);
    const createSynced: typeof coarse.createSynced = async (...given) => ({
      ...(await coarse.createSynced(...given)),
      mtimeNs: 2_000_000_000n,
    });
    const target = await readTarget(coarse, PATH);
    disk.write(PATH, 'omega');
    const written = replaceTarget({ ...coarse, createSynced }, target, Buffer.from('gamma'));
    await expect(written).rejects.toBeInstanceOf(TargetChangedError);
    expect(disk.readText(PATH)).toBe('omega');
  });

  it('is found by the looks of 2 s, after which the file is left unread', async () => {
    const disk = createForgetfulFileSystem();
    disk.write(PATH, '{"mode": "server", "access_keys": ["alpha"]}', { synced: true });
    const { fileSystem, counts } = counting(withoutTime(disk.port));
    const clock = { now: () => 0, monotonic: () => 0 };
    const place = { path: PATH, dataFolder: '/data', watch: false, pollMilliseconds: 10 };
    const file = await createConfigurationFile({ ...place, fileSystem, clock, log });
    const times = (name: string) => counts()[name] ?? 0;
    const further = async (name: string, wanted: number) => {
      const before = times(name);
      await expect.poll(() => times(name), OFTEN).toBeGreaterThan(before + wanted);
    };
    await further('matches', 5);
    disk.write(PATH, '{"mode": "server", "access_keys": ["omega"]}');
    const present = () => file.load().keys.map(({ accessKey }) => accessKey);
    await expect.poll(present, OFTEN).toEqual(['omega']);
    // Two seconds' looks later it is read no more.
    await expect
      .poll(async () => {
        const before = times('matches');
        await further('stat', 10);
        return times('matches') - before;
      }, OFTEN)
      .toBe(0);
    await file.close();
  });
});

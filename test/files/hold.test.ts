import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { holdForServing } from '../../src/files/hold.js';
import { createKeptVersions } from '../../src/files/kept-versions.js';
import {
  type ConfigurationFile,
  createConfigurationFile,
} from '../../src/homes/file/configuration/configuration-file.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { createForgetfulFileSystem, type ForgetfulFileSystem } from '../ports/forgetful-file-system.js';

const PATH = '/etc/server/server.json';
const LOCK = '/etc/server/.server.json.keyway-lock';
const START = '{ "mode": "server", "access_keys": ["alpha"] } // end\n';

const opened: ConfigurationFile[] = [];
afterEach(async () => {
  for (const file of opened.splice(0)) await file.close();
});

function diskWithFile(): ForgetfulFileSystem {
  const disk = createForgetfulFileSystem();
  disk.write(PATH, START);
  return disk;
}

/** Processes 1 and 2 are alive, others are gone. */
function processes(pid: number) {
  return {
    own: async () => ({ pid, started: 'now' }),
    boot: async () => 'this boot',
    find: async (other: number) => (other === 1 || other === 2 ? { pid: other, started: 'now' } : null),
  };
}

async function open(
  disk: ForgetfulFileSystem,
  given: { pid?: number; path?: string; dataFolder?: string; poll?: number; lines?: string[] } = {},
): Promise<ConfigurationFile> {
  const { pid = 1, path = PATH, poll = 0, lines = [] } = given;
  const { dataFolder = `/var/lib/keyway-${pid}` } = given;
  const write = (_fields: unknown, message: string) => void lines.push(message);
  const log: LogPort = { debug: write, info: write, warn: write, error: write };
  let time = Date.UTC(2026, 0, 1);
  const clock = { now: () => time++, monotonic: () => time++ };
  const wait = async () => undefined;
  const ports = { fileSystem: disk.port, clock, log, processes: processes(pid), wait };
  const file = await createConfigurationFile({ ...ports, path, dataFolder, pollMilliseconds: poll });
  opened.push(file);
  return file;
}

const adding = (accessKey: string) => ({ keys: new Map([[accessKey, { accessKey, name: null, limitBytes: null }]]) });
const removing = (accessKey: string) => ({ keys: new Map([[accessKey, null]]) });
const ofProcess = (pid: number) => JSON.stringify({ pid, started: 'now', nonce: 'another' });

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 5, message: 'the condition comes true' }).toBe(true);
}

describe('a configuration file that a living process has', () => {
  it.each([PATH, '/srv/link.json'])('is refused as %s whatever the data folder, which is not made', async (path) => {
    const disk = diskWithFile();
    disk.write('/srv/other', '');
    disk.link('/srv/link.json', PATH);
    await open(disk);
    await expect(open(disk, { pid: 2, path })).rejects.toThrow(
      `The configuration file ${PATH} is in use by process 1: stop that Keyway first`,
    );
    expect(disk.names('/var/lib')).toEqual(['keyway-1']);
  });

  it('is free once that one has ended, or is gone; then nothing is left beside it but what it was', async () => {
    const disk = diskWithFile();
    await (await open(disk)).close();
    expect(disk.names('/etc/server')).toEqual(['server.json']);
    disk.write(LOCK, ofProcess(99));
    disk.write(`${LOCK}.0123456789ab`, ofProcess(98));
    const file = await open(disk, { pid: 2 });
    expect(disk.readText(LOCK)).toContain('"pid":2,');
    await file.close();
    expect(disk.names('/etc/server')).toEqual(['server.json']);
  });

  it('is not taken from a process of another user, whose lock cannot be read', async () => {
    const disk = diskWithFile();
    disk.write(LOCK, ofProcess(99));
    disk.fail('read', 'EACCES', (path) => path === LOCK);
    await expect(open(disk)).rejects.toThrow(`its lock ${LOCK} cannot be read (EACCES): chown USER ${LOCK}`);
    expect(disk.readText(LOCK)).toBe(ofProcess(99));
  });
});

describe('where there can be no lock beside the file', () => {
  it('a file that is a mount of its own is held by its data folder', async () => {
    const disk = diskWithFile();
    disk.mount(PATH);
    await open(disk, { dataFolder: '/var/lib/one' });
    expect(disk.names('/etc/server')).toEqual(['server.json']);
    await expect(open(disk, { pid: 2, dataFolder: '/var/lib/one' })).rejects.toThrow(
      /The data folder \/var\/lib\/one is in use by process 1: (?!.*--data-dir)/,
    );
  });

  it.each([
    'EACCES',
    'EROFS',
    'EPERM',
  ])('a file in a folder that answers %s is held by its data folder', async (code) => {
    const disk = diskWithFile();
    disk.fail('create', code, (path) => path.startsWith('/etc/server/'));
    await open(disk, { dataFolder: '/var/lib/one' });
    await expect(open(disk, { pid: 2, dataFolder: '/var/lib/one' })).rejects.toThrow('in use by process 1');
  });

  it('a full disk is an error that says so, and gives the data folder back', async () => {
    const disk = diskWithFile();
    disk.fail('create', 'ENOSPC', (path) => path === LOCK);
    await expect(open(disk)).rejects.toThrow(
      `The configuration file ${PATH} cannot be held by a lock next to it: No space left on device (ENOSPC).`,
    );
    disk.heal();
    await open(disk, { pid: 2, dataFolder: '/var/lib/keyway-1' });
  });
});

describe('a lock that is removed while Keyway serves', () => {
  it('beside the file is there again before the next write, and said', async () => {
    const disk = diskWithFile();
    const lines: string[] = [];
    const file = await open(disk, { lines });
    disk.unlink(LOCK);
    await file.save(adding('beta'));
    expect(disk.readText(LOCK)).toContain('"pid":1,');
    expect(lines.filter((line) => line.includes('held again'))).toHaveLength(1);
  });

  it('and taken by another process meanwhile: nothing is written until that one has ended', async () => {
    const disk = diskWithFile();
    const file = await open(disk);
    await file.save(adding('first'));
    const standing = () =>
      [PATH, '/var/lib/keyway-1/unread-changes'].map(disk.readText).concat(disk.names('/etc/server'));
    const before = standing();
    disk.write(LOCK, ofProcess(2));
    await expect(file.save(adding('beta'))).rejects.toMatchObject({ code: 'savedInMemory' });
    expect(file.status().lastWriteError).toContain('in use by process 2');
    expect(standing()).toEqual(before);
    disk.unlink(LOCK);
    await file.save(adding('gamma'));
    expect(disk.readText(PATH)).toMatch(/"beta".*"gamma"/s);
  });

  it('comes back by itself, and neither it nor its loss is an edit of the configuration', async () => {
    const disk = diskWithFile();
    const lines: string[] = [];
    const file = await open(disk, { poll: 5, lines });
    const reloads: unknown[] = [];
    file.onReload((configuration) => reloads.push(configuration));
    for (const lock of [LOCK, '/var/lib/keyway-1/lock']) {
      disk.unlink(lock);
      await until(() => disk.readText(lock)?.includes('"pid":1,') === true);
    }
    await file.close();
    expect(reloads).toEqual([]);
    expect(lines.filter((line) => line.includes('held again'))).toHaveLength(2);
    expect(disk.names('/etc/server')).toEqual(['server.json']);
  });

  it('is refused by another name of the same file, in whatever folder, and by the first one while there is that', async () => {
    const disk = diskWithFile();
    const file = await open(disk, { pid: 1 });
    disk.write('/etc/other/readme', '');
    await disk.port.hardLink(PATH, '/etc/other/same.json');
    await expect(open(disk, { pid: 2, path: '/etc/other/same.json' })).rejects.toThrow(
      'The configuration file /etc/other/same.json has another name (hard links)',
    );
    expect(disk.names('/etc/other')).toEqual(['readme', 'same.json']);
    await file.close();
    await expect(open(disk)).rejects.toThrow('remove them, or make this one a file of its own');
    expect(disk.names('/etc/server')).toEqual(['server.json']);
    disk.unlink('/etc/other/same.json');
    await open(disk);
  });

  it('is not refused by the names that a killed Keyway has left of its own', async () => {
    const disk = diskWithFile();
    const left = '/etc/server/.server.json.keyway-0123456789ab.tmp';
    await disk.port.hardLink(PATH, left);
    await open(disk);
    expect(disk.readText(left)).toBeNull();
  });

  it('keeps no journal that a killed Keyway was just rewriting', async () => {
    const disk = diskWithFile();
    await (await open(disk)).close();
    const left = '/var/lib/keyway-1/.unread-changes.keyway-0123456789ab.tmp';
    disk.write(left, '');
    await open(disk);
    expect(disk.readText(left)).toBeNull();
  });

  it('a link that leads to another file takes that one in hand, and lets go of the first', async () => {
    const disk = diskWithFile();
    disk.write('/etc/other/new.json', START);
    disk.link('/etc/server/link.json', PATH);
    const file = await open(disk, { path: '/etc/server/link.json' });
    disk.unlink('/etc/server/link.json');
    disk.link('/etc/server/link.json', '/etc/other/new.json');
    await file.save(adding('beta'));
    expect(disk.names('/etc/other')).toContain('.new.json.keyway-lock');
    expect(disk.names('/etc/server')).not.toContain('.server.json.keyway-lock');
    expect(disk.readText(PATH)).toBe(START);
  });

  it('a link that leads elsewhere by now needs no room where it led before', async () => {
    const disk = diskWithFile();
    disk.write('/etc/other/new.json', START);
    disk.link('/etc/server/link.json', PATH);
    const file = await open(disk, { path: '/etc/server/link.json' });
    await file.save(adding('beta'));
    disk.unlink('/etc/server/link.json');
    disk.link('/etc/server/link.json', '/etc/other/new.json');
    disk.fail('create', 'ENOSPC', (path) => path.startsWith('/etc/server/'));
    await file.save(adding('gamma'));
    expect(disk.readText('/etc/other/new.json')).toContain('gamma');
  });
});

describe('a data folder that is removed while Keyway serves', () => {
  it('has what the very next write takes away', async () => {
    const disk = diskWithFile();
    const file = await open(disk);
    await file.save(adding('beta'));
    await file.save(removing('beta'));
    const before = disk.readText(PATH);
    await disk.port.rename('/var/lib/keyway-1', '/var/lib/moved');
    await file.save(removing('alpha'));
    const clock = { now: () => 0, monotonic: () => 0 };
    const versions = createKeptVersions({ fileSystem: disk.port, folder: '/var/lib/keyway-1/versions', clock });
    const kept = await Promise.all((await versions.list()).map(async ({ id }) => String(await versions.read(id))));
    expect(kept).toContain(before);
  });
});

describe('a data folder without a configuration file', () => {
  it('is held by itself alone, and what takes it is told once', async () => {
    const disk = createForgetfulFileSystem();
    disk.write('/var/lib/other', '');
    const lines: string[] = [];
    const write = (fields: Readonly<Record<string, unknown>>) => void lines.push(String(fields.reason));
    const log: LogPort = { debug: write, info: write, warn: write, error: write };
    const place = { dataFolder: '/var/lib/keyway', configurationPath: null, lookMilliseconds: 2, log };
    const ports = { fileSystem: disk.port, processes: processes(1), wait: async () => undefined };
    const hold = await holdForServing({ ...ports, ...place });
    expect(disk.names('/')).toEqual(['var']);
    disk.write('/var/lib/keyway/lock', ofProcess(2));
    await until(() => lines.length > 0);
    await expect(hold.renew()).rejects.toThrow('in use by process 2');
    await hold.release();
    expect(lines).toEqual([expect.stringContaining('The data folder /var/lib/keyway is in use by process 2')]);
    expect(disk.readText('/var/lib/keyway/lock')).toBe(ofProcess(2));
  });
});

describe('a folder that is moved while Keyway serves from it', () => {
  it('has every change once it is back, where the data folder is elsewhere', async () => {
    const disk = diskWithFile();
    const file = await open(disk);
    await file.save(adding('beta'));
    await disk.port.rename('/etc/server', '/etc/moved');
    await expect(file.save(adding('gamma'))).rejects.toMatchObject({ code: 'savedInMemory' });
    await disk.port.rename('/etc/moved', '/etc/server');
    await file.save(adding('delta'));
    expect(disk.readText(PATH)).toMatch(/"alpha".*"beta".*"gamma".*"delta"/s);
  });

  it('is not made again at the old place, and is held once it is back', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway-moved-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [here, elsewhere] = [join(folder, 'here'), join(folder, 'elsewhere')];
    await mkdir(here);
    await writeFile(join(here, 'server.json'), START);
    const write = () => undefined;
    const hold = await holdForServing({
      fileSystem: createFileSystem(),
      processes: processes(1),
      wait: async () => undefined,
      log: { debug: write, info: write, warn: write, error: write },
      dataFolder: join(here, 'data'),
      configurationPath: join(here, 'server.json'),
      lookMilliseconds: 0,
    });
    const versions = createKeptVersions({
      fileSystem: createFileSystem(),
      folder: hold.folder.versions,
      clock: { now: () => 0, monotonic: () => 0 },
    });
    await rename(here, elsewhere);
    await expect(hold.renew()).rejects.toThrow(`The folder ${here} is gone from here`);
    await expect(versions.keep(Buffer.from(START))).rejects.toThrow('ENOENT');
    expect(await readdir(folder)).toEqual(['elsewhere']);
    await rename(elsewhere, here);
    await hold.renew();
    await versions.keep(Buffer.from(START));
    await hold.release();
  });
});

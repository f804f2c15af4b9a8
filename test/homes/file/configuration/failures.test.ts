import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import type { ReloadReason } from '../../../../src/core/backend.js';
import type { ConfigurationWrite } from '../../../../src/core/configuration-observer.js';
import { DomainError } from '../../../../src/core/errors.js';
import type { ServerConfiguration } from '../../../../src/core/model.js';
import type { FileSystemPort, LogPort } from '../../../../src/core/ports.js';
import { listVersions } from '../../../../src/files/versions-of-file.js';
import {
  type ConfigurationFile,
  createConfigurationFile,
} from '../../../../src/homes/file/configuration/configuration-file.js';
import { createForgetfulFileSystem, type ForgetfulFileSystem } from '../../../ports/forgetful-file-system.js';

const PATH = '/etc/server/server.json';
const DATA = '/etc/server/server.json.keyway';
const START = '{ "mode": "server", "access_keys": ["alpha"] } // end\n';

const opened: ConfigurationFile[] = [];
afterEach(async () => {
  for (const file of opened.splice(0)) await file.close();
});

interface Stage {
  readonly disk: ForgetfulFileSystem;
  readonly file: ConfigurationFile;
  readonly reloads: { readonly configuration: ServerConfiguration; readonly reason: ReloadReason }[];
  readonly lines: string[];
  /** What the observer was told of. */
  readonly writes: Omit<ConfigurationWrite, 'milliseconds'>[];
  readonly outcomes: string[];
  /** How long was waited for others, in milliseconds. */
  waited: number;
  onWait: () => void;
}

async function stage(
  text = START,
  options: { pid?: number; disk?: ForgetfulFileSystem; poll?: number; port?: FileSystemPort; inPlace?: boolean } = {},
): Promise<Stage> {
  const disk = options.disk ?? createForgetfulFileSystem();
  if (!options.disk) disk.write(PATH, text);
  const lines: string[] = [];
  const write = (_fields: unknown, message: string) => void lines.push(message);
  const log: LogPort = { debug: write, info: write, warn: write, error: write };
  const living = new Set([1, 2]);
  const { pid = 1 } = options;
  let time = Date.UTC(2026, 0, 1);
  const state = { waited: 0, onWait(): void {} };
  const writes: Stage['writes'] = [];
  const outcomes: string[] = [];
  const file = await createConfigurationFile({
    path: PATH,
    dataFolder: DATA,
    fileSystem: options.port ?? disk.port,
    clock: { now: () => time++, monotonic: () => time++ },
    log,
    pollMilliseconds: options.poll ?? 0,
    inPlace: options.inPlace ?? false,
    observer: {
      wrote: ({ milliseconds, ...write }) => {
        expect(milliseconds).toBeGreaterThanOrEqual(0);
        writes.push(write);
      },
      gaveAgain: (changes) => void outcomes.push(`gave ${changes} again`),
      reloaded: (reason, outcome) => void outcomes.push(`${reason} ${outcome}`),
    },
    processes: {
      own: async () => ({ pid, started: 'now' }),
      boot: async () => 'this boot',
      find: async (other) => (living.has(other) ? { pid: other, started: 'now' } : null),
    },
    wait: async (milliseconds) => {
      state.waited += milliseconds;
      state.onWait();
    },
  });
  opened.push(file);
  const reloads: Stage['reloads'] = [];
  file.onReload((configuration, reason) => reloads.push({ configuration, reason }));
  return Object.assign(state, { disk, file, reloads, lines, writes, outcomes });
}

function adding(...names: string[]) {
  return { keys: new Map(names.map((accessKey) => [accessKey, { accessKey, name: null, limitBytes: null }])) };
}

function keysOf(configuration: ServerConfiguration | undefined): readonly string[] {
  return configuration?.keys.map(({ accessKey }) => accessKey) ?? [];
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 5, message: 'the condition comes true' }).toBe(true);
}

const saveFailed = expect.objectContaining({ code: 'savedInMemory' });

describe('a save that fails', () => {
  it('stays pending, is laid over what is handed out, and goes with the next write', async () => {
    const { disk, file } = await stage();
    disk.fail('rename', 'EBUSY');
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    expect(disk.readText(PATH)).toBe(START);
    expect(keysOf(file.load())).toEqual(['alpha', 'beta']);
    expect(file.status()).toMatchObject({ lastWriteError: 'Device or resource busy (EBUSY)', pendingChanges: 1 });
    disk.heal();
    await file.save(adding('gamma'));
    expect(disk.readText(PATH)).toContain('"beta"');
    expect(file.status()).toEqual({
      writing: false,
      lastWriteError: null,
      takenError: null,
      parseError: null,
      inboundsError: null,
      startError: null,
      pendingChanges: 0,
    });
  });

  it('is said once while the reason stays the same', async () => {
    const { disk, file, lines } = await stage();
    disk.fail('create', 'ENOSPC', (path) => path.startsWith('/etc/server/.'));
    for (const key of ['a', 'b', 'c']) await expect(file.save(adding(key))).rejects.toEqual(saveFailed);
    expect(lines.filter((line) => line.includes('could not be written'))).toHaveLength(1);
  });

  it('is laid over an edit by hand, which then carries it', async () => {
    const { disk, file, reloads } = await stage(START, { poll: 5 });
    disk.fail('rename', 'EBUSY');
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    disk.heal();
    disk.write(PATH, START.replace('"alpha"', '"edited"'));
    await until(() => disk.readText(PATH)?.includes('"beta"') === true);
    expect(keysOf(reloads[0]?.configuration)).toEqual(['edited', 'beta']);
    expect(disk.readText(PATH)).toContain('"edited"');
  });

  it('is tried once more at the close', async () => {
    const { disk, file } = await stage();
    disk.fail('rename', 'EBUSY');
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    disk.heal();
    await file.close();
    expect(disk.readText(PATH)).toContain('"beta"');
    await expect(file.save(adding('late'))).rejects.toMatchObject({ code: 'saveFailed' });
  });

  it('of rules without outbound routing does not hold up keys', async () => {
    const { disk, file } = await stage();
    await expect(file.save({ rules: [] })).rejects.toEqual(saveFailed);
    await file.save(adding('beta'));
    expect(disk.readText(PATH)).toContain('"beta"');
  });
});

describe('a read that fails for a moment', () => {
  it('is tried again until it succeeds, although the file looks the same: the edit behind it is not lost', async () => {
    const { disk, file, reloads, lines } = await stage(START, { poll: 5 });
    disk.fail('read', 'EMFILE', (path) => path === PATH, 12);
    disk.write(PATH, START.replace('"alpha"', '"edited"'));
    await until(() => reloads.length > 0);
    expect(keysOf(file.load())).toEqual(['edited']);
    expect(file.status().parseError).toBeNull();
    expect(lines.filter((line) => line.includes('cannot be read'))).toHaveLength(1);
  });

  it('at a save leaves the change waiting for the first reading that succeeds', async () => {
    const { disk, file } = await stage(START, { poll: 5 });
    disk.fail('read', 'EMFILE', (path) => path === PATH, 8);
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    await until(() => disk.readText(PATH)?.includes('"beta"') === true);
    await until(() => file.status().lastWriteError === null);
    expect(file.status()).toEqual({
      writing: false,
      lastWriteError: null,
      takenError: null,
      parseError: null,
      inboundsError: null,
      startError: null,
      pendingChanges: 0,
    });
  });

  it('at a replacement is no problem any more once the file can be read', async () => {
    const { disk, file } = await stage(START, { poll: 5 });
    disk.fail('read', 'EMFILE', (path) => path === PATH, 8);
    await expect(file.replace(Buffer.from('{"mode":"server"}'))).rejects.toMatchObject({ code: 'configWriteFailed' });
    await until(() => file.status().lastWriteError === null);
    expect(disk.readText(PATH)).toBe(START);
  });

  it('at a replacement is no problem any more once the file can be read, though another one was refused first', async () => {
    const start = '{ "mode": "server", "inbounds": [{ "protocol": "ostp", "users": ["alpha"] }] }';
    const { disk, file } = await stage(start, { poll: 20 });
    disk.fail('read', 'EMFILE', (path) => path === PATH, 1);
    await expect(file.replace(Buffer.from('{"mode":"server"}'))).rejects.toMatchObject({ code: 'configWriteFailed' });
    await expect(file.replace(Buffer.from('{"mode":"server"}'))).rejects.toMatchObject({
      detail: expect.stringContaining('no inbound'),
    });
    await until(() => file.status().lastWriteError === null);
    expect(disk.readText(PATH)).toBe(start);
  });
});

describe('a look at the file that is under way when Keyway closes', () => {
  it('reads and writes nothing afterwards, when the file may be another process’s', async () => {
    const disk = createForgetfulFileSystem();
    disk.write(PATH, START);
    const { stat } = disk.port;
    let isHeld = false;
    const held: (() => void)[] = [];
    const port: FileSystemPort = {
      ...disk.port,
      stat: async (path) => {
        if (isHeld && held.length === 0 && path === PATH) await new Promise<void>((done) => held.push(done));
        return stat(path);
      },
    };
    const { file, reloads } = await stage(START, { disk, port, poll: 5 });
    isHeld = true;
    await until(() => held.length > 0);
    isHeld = false;
    await file.close();
    const other = await stage(START, { disk, pid: 2 });
    disk.write(PATH, START.replace('"alpha"', '"other"'));
    held[0]?.();
    await new Promise((done) => setTimeout(done, 50));
    expect(reloads).toEqual([]);
    await other.file.close();
  });
});

describe('a save that failed, once the file is mended by hand', () => {
  it.each([
    ['broken', (disk: ForgetfulFileSystem) => disk.write(PATH, '{ broken')],
    ['moved away', (disk: ForgetfulFileSystem) => disk.unlink(PATH)],
  ])('goes at once into a file that was %s, also where that is what it was before', async (_how, spoil) => {
    const { disk, file, lines } = await stage(START, { poll: 5 });
    spoil(disk);
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    disk.write(PATH, START);
    await until(() => disk.readText(PATH)?.includes('"beta"') === true);
    await until(() => file.status().pendingChanges === 0);
    expect(file.status()).toEqual({
      writing: false,
      lastWriteError: null,
      takenError: null,
      parseError: null,
      inboundsError: null,
      startError: null,
      pendingChanges: 0,
    });
    expect(lines.filter((line) => line.includes('can be written again'))).toHaveLength(1);
  });

  it('goes when only the rights or the owner are mended, and is not tried before', async () => {
    const { disk, file, writes } = await stage(START, { poll: 5 });
    disk.fail('rename', 'EPERM', (path) => path === PATH);
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    await new Promise((done) => setTimeout(done, 100));
    expect(writes).toEqual([{ kind: 'changes', changes: 1, failed: true }]);
    disk.heal();
    disk.setOwner(PATH, 7, 8);
    await until(() => disk.readText(PATH)?.includes('"beta"') === true);
    await until(() => file.status().lastWriteError === null);
  });
});

describe('changes that wait', () => {
  it('come over what is restored, or are given up with it', async () => {
    for (const dropWaiting of [false, true]) {
      const { disk, file, reloads } = await stage();
      disk.fail('rename', 'EBUSY');
      await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
      disk.heal();
      const waited = await file.restore(Buffer.from(START), { dropWaiting });
      expect([...(waited.keys?.keys() ?? [])]).toEqual(['beta']);
      expect(keysOf(reloads.at(-1)?.configuration)).toEqual(dropWaiting ? ['alpha'] : ['alpha', 'beta']);
      await file.close();
      expect(disk.readText(PATH)?.includes('beta')).toBe(!dropWaiting);
    }
  });

  it('stay where the restore fails', async () => {
    const { disk, file } = await stage();
    disk.fail('rename', 'EBUSY');
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    await expect(file.restore(Buffer.from(START), { dropWaiting: true })).rejects.toMatchObject({
      code: 'configWriteFailed',
    });
    expect(file.status().pendingChanges).toBe(1);
  });
});

describe('a file that cannot be read when a save comes', () => {
  it.each(['', '{ "mode": ', '[]', 'null'])('%j is read again for 1 s and never overwritten', async (broken) => {
    const made = await stage();
    made.disk.write(PATH, broken);
    await expect(made.file.save(adding('beta'))).rejects.toEqual(saveFailed);
    expect(made.waited).toBeGreaterThanOrEqual(900);
    expect(made.waited).toBeLessThanOrEqual(1000);
    expect(made.disk.readText(PATH)).toBe(broken);
    expect(keysOf(made.file.load())).toEqual(['alpha', 'beta']);
  });

  it('that another program completes meanwhile gets the change', async () => {
    const made = await stage();
    made.disk.write(PATH, START.slice(0, 20));
    made.onWait = () => made.disk.write(PATH, START.replace('"alpha"', '"edited"'));
    await made.file.save(adding('beta'));
    expect(made.disk.readText(PATH)).toContain('"edited"');
    expect(made.disk.readText(PATH)).toContain('"beta"');
  });

  it('that vanished fails and is not created again', async () => {
    const { disk, file } = await stage();
    disk.unlink(PATH);
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    expect(disk.readText(PATH)).toBeNull();
  });
});

describe('concurrent saves', () => {
  it('share one write while another is on its way', async () => {
    const { disk, file } = await stage();
    await file.save(adding('first'));
    let renames = 0;
    disk.before((call, path) => {
      if (call === 'rename' && path === PATH) renames += 1;
    });
    const leading = file.save(adding('leading'));
    await new Promise((done) => setImmediate(done));
    await new Promise((done) => setImmediate(done));
    await Promise.all([leading, ...Array.from({ length: 64 }, (_, n) => file.save(adding(`key-${n}`)))]);
    expect(renames).toBeLessThanOrEqual(2);
    for (let n = 0; n < 64; n++) expect(disk.readText(PATH)).toContain(`"key-${n}"`);
  });
});

describe('replace', () => {
  it.each([
    '[]',
    '{}',
    '"mode"',
    '{"a":{"mode":1}}',
  ])('%s answers configModeMissing and changes nothing', async (body) => {
    const { disk, file } = await stage();
    await expect(file.replace(Buffer.from(body))).rejects.toEqual(new DomainError('configModeMissing'));
    expect(disk.readText(PATH)).toBe(START);
  });

  it('replaces a file that does not parse, after keeping it', async () => {
    const { disk, file } = await stage();
    disk.write(PATH, '{ broken');
    await file.replace(Buffer.from('{"mode":"server"}'));
    expect(disk.readText(PATH)).toBe('{\n  "mode": "server"\n}');
    expect(await versions(disk)).toHaveLength(1);
  });

  it('creates a file that was removed, for its owner alone', async () => {
    const { disk, file } = await stage();
    disk.unlink(PATH);
    await file.replace(Buffer.from('{"mode":"server"}'));
    expect((await disk.port.stat(PATH)).mode).toBe(0o600);
  });

  it('where a folder stands answers in the words of the system', async () => {
    const { disk, file } = await stage();
    disk.unlink(PATH);
    await disk.port.makeFolder(PATH, 0o755);
    const expected = new DomainError('configWriteFailed', 'Is a directory (EISDIR)');
    await expect(file.replace(Buffer.from('{"mode":"server"}'))).rejects.toEqual(expected);
  });

  it('through a dangling link fails and keeps the link', async () => {
    const { disk, file } = await stage();
    disk.unlink(PATH);
    disk.link(PATH, '/etc/server/gone.json');
    await expect(file.replace(Buffer.from('{"mode":"server"}'))).rejects.toMatchObject({ code: 'configWriteFailed' });
    expect(disk.isLink(PATH)).toBe(true);
    expect(disk.readText(PATH)).toBeNull();
  });

  it('with another mode is written and not applied', async () => {
    const { disk, file, reloads } = await stage();
    await file.replace(Buffer.from('{"mode":"client","access_keys":[]}'));
    expect(disk.readText(PATH)).toContain('client');
    expect(reloads).toEqual([]);
    expect(keysOf(file.load())).toEqual(['alpha']);
  });

  it('with another mode is told so at the next start', async () => {
    const { lines } = await stage('{"mode":"client","access_keys":["alpha"]}');
    expect(lines).toContain(`${PATH}: the mode is not "server": no server starts from it, and edits are not applied`);
  });

  it('that removes more than 10 keys keeps the version before for ever and says how many', async () => {
    const keys = Array.from({ length: 12 }, (_, n) => `"k${n}"`).join();
    const { disk, file, lines } = await stage(`{"mode":"server","access_keys":[${keys}]}`);
    await file.replace(Buffer.from('{"mode":"server","access_keys":["k0"]}'));
    expect(lines.some((line) => line.includes('11 keys were removed'))).toBe(true);
    expect((await versions(disk)).map(({ forever }) => forever)).toEqual([true]);
  });
});

describe('an edit by hand', () => {
  it.each(['{ "mode": ', '', '[]'])('to %j leaves the last good state live and is said once', async (broken) => {
    const { disk, file, lines, reloads } = await stage(START, { poll: 5 });
    disk.write(PATH, broken);
    const warnings = () => lines.filter((line) => line.includes('cannot be read'));
    await until(() => warnings().length > 0);
    expect(file.status().parseError).not.toBeNull();
    disk.write(PATH, START.replace('"alpha"', '"edited"'));
    await until(() => reloads.length > 0);
    expect(warnings()).toHaveLength(1);
    expect(keysOf(file.load())).toEqual(['edited']);
    expect(file.status().parseError).toBeNull();
  });

  it('that removes more than 10 keys keeps the version before for ever', async () => {
    const keys = Array.from({ length: 12 }, (_, n) => `"k${n}"`).join();
    const { disk, file, lines, reloads } = await stage(`{"mode":"server","access_keys":[${keys}]}`, { poll: 5 });
    disk.write(PATH, START);
    await until(() => reloads.length > 0);
    await file.close();
    expect(lines.some((line) => line.includes('12 keys were removed'))).toBe(true);
    expect((await versions(disk)).map(({ forever }) => forever)).toEqual([true, false]);
  });
});

describe('readAsJson', () => {
  it.each([
    ['{ /* ', 'configStripFailed'],
    ['{ "a": ', 'configParseFailed'],
  ])('of %j answers %s', async (text, code) => {
    const { disk, file } = await stage();
    disk.write(PATH, text);
    await expect(file.readAsJson()).rejects.toMatchObject({ code });
  });

  it('of a missing file answers configReadFailed, and of an array the array', async () => {
    const { disk, file } = await stage();
    disk.write(PATH, '[ 1e3 ]');
    expect((await file.readAsJson()).toString()).toBe('[1e3]');
    disk.unlink(PATH);
    const expected = new DomainError('configReadFailed', 'No such file or directory (ENOENT)');
    await expect(file.readAsJson()).rejects.toEqual(expected);
  });
});

describe('the start', () => {
  it('with a broken file rejects with its place, and without its content in the error', async () => {
    const error: unknown = await stage('{ "mode": "server", "token": "hush" ').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'ConfigurationFileError', reason: 'broken' });
    expect(String(error)).toMatch(/cannot be read: line 1, column \d+: /);
    expect(inspect(error, { depth: 10 })).not.toMatch(/hush|Buffer/);
  });

  it('without a file says so, and leaves the data folder to others', async () => {
    const disk = createForgetfulFileSystem();
    await expect(stage(START, { disk })).rejects.toMatchObject({ reason: 'missing' });
    disk.write(PATH, START);
    await stage(START, { disk, pid: 2 });
  });
});

describe('a file that is taken from under --in-place', () => {
  const MOUNTS = '/proc/self/mountinfo';
  const from = (path: string) => `63 43 254:0 ${path} ${PATH} rw - ext4 /dev/vda rw\n`;

  async function mounted(poll = 0) {
    const disk = createForgetfulFileSystem();
    disk.write(PATH, START);
    disk.mount(PATH);
    disk.write(MOUNTS, from('/host/server\\040file.json'));
    return stage(START, { disk, inPlace: true, poll });
  }

  it('has no name any more: a save waits, is not written, and goes in once the path leads to a file with one', async () => {
    const { disk, file } = await mounted(5);
    disk.takeFromUnder(PATH);
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    expect(disk.readText(PATH)).toBe(START);
    expect(keysOf(file.load())).toEqual(['alpha', 'beta']);
    disk.mount(PATH);
    await until(() => disk.readText(PATH)?.includes('"beta"') === true);
    await until(() => file.status().pendingChanges === 0);
    expect(file.status()).toMatchObject({ takenError: null, lastWriteError: null });
  });

  it('has another name, as an editor renames it that keeps a backup: the same', async () => {
    const { disk, file } = await mounted();
    disk.write(MOUNTS, from('/host/server.json~'));
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    expect(file.status().takenError).toContain('renamed from /host/server file.json');
    expect(disk.readText(PATH)).toBe(START);
    disk.write(MOUNTS, from('/host/server\\040file.json'));
    await file.save(adding('gamma'));
    expect(disk.readText(PATH)).toMatch(/"beta".*"gamma"/s);
  });

  it.each([
    ['a change that it has already', (file: ConfigurationFile) => file.save(adding('alpha')), 'savedInMemory'],
    ['a replacement', (file: ConfigurationFile) => file.replace(Buffer.from('{"mode":"server"}')), 'configWriteFailed'],
    ['a restore', (file: ConfigurationFile) => file.restore(Buffer.from(START)), 'configWriteFailed'],
    [
      'a patch',
      (file: ConfigurationFile) =>
        file.patch({ form: 'merge', body: Buffer.from('{"debug":true}'), condition: () => undefined }),
      'configWriteFailed',
    ],
  ])('fails %s', async (_, write, code) => {
    const { disk, file } = await mounted();
    disk.takeFromUnder(PATH);
    await expect(write(file)).rejects.toMatchObject({ code });
    expect(disk.readText(PATH)).toBe(START);
  });

  it('is found at the moment of the write: what went into it is not saved', async () => {
    const { disk, file } = await mounted();
    disk.before((call, path) => {
      if (call === 'overwrite' && path === PATH) disk.takeFromUnder(PATH);
    });
    await expect(file.save(adding('beta'))).rejects.toEqual(saveFailed);
    disk.before(null);
    disk.replace(PATH, START.replace('alpha', 'edited'));
    disk.mount(PATH);
    await file.save(adding('gamma'));
    expect(disk.readText(PATH)).toMatch(/"edited".*"beta".*"gamma"/s);
  });

  it('is said at once, before anything is written, at the start too, and followed no further', async () => {
    const { disk, file, lines, reloads } = await mounted(5);
    disk.takeFromUnder(PATH);
    await until(() => file.status().takenError !== null);
    expect(lines.at(-1)).toMatch(/server\.json was replaced or removed where it is mounted from/);
    await file.close();
    const next = await stage(START, { disk, inPlace: true, poll: 5 });
    expect(next.file.status().takenError).toMatch(/replaced or removed/);
    disk.mount(PATH);
    await until(() => next.file.status().takenError === null);
    expect(next.lines.at(-1)).toBe('the configuration file is mounted as it was again');
    expect(reloads).toEqual([]);
  });

  it('in place that is replaced while it is open gets the change, too', async () => {
    const disk = createForgetfulFileSystem();
    disk.write(PATH, START);
    const { file } = await stage(START, { disk, inPlace: true });
    let isReplaced = false;
    disk.before((call, path) => {
      // The first sync behind the overwriting.
      if (call !== 'sync' || path !== PATH || isReplaced) return;
      isReplaced = true;
      disk.replace(PATH, START.replace('alpha', 'edited'));
    });
    await file.save(adding('beta'));
    expect(isReplaced).toBe(true);
    expect(disk.readText(PATH)).toMatch(/"edited".*"beta"/s);
  });
});

describe('the data folder', () => {
  it('refuses a second living Keyway, and gives way once the first one is closed', async () => {
    const { disk, file } = await stage();
    await expect(stage(START, { disk, pid: 2 })).rejects.toThrow('in use by process 1');
    await file.close();
    await stage(START, { disk, pid: 2 });
  });

  it('takes the lock of a process that is gone', async () => {
    const { disk } = await stage(START, { pid: 99 });
    await stage(START, { disk, pid: 2 });
  });
});

function versions(disk: ForgetfulFileSystem) {
  const clock = { now: () => 0, monotonic: () => 0 };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  return listVersions({ fileSystem: disk.port, clock, log, path: PATH, dataFolder: DATA });
}

describe('the observer of the configuration file', () => {
  it('is told of every write that ended: what it was to change, and whether it failed', async () => {
    const { disk, file, writes } = await stage();
    await Promise.all([file.save(adding('beta')), file.save(adding('gamma', 'delta'))]);
    disk.fail('rename', 'EBUSY');
    await expect(file.save(adding('epsilon'))).rejects.toEqual(saveFailed);
    await expect(file.replace(Buffer.from('{"mode":"server"}'))).rejects.toMatchObject({ code: 'configWriteFailed' });
    disk.heal();
    await file.replace(Buffer.from('{"mode":"server"}'));
    expect(writes).toEqual([
      { kind: 'changes', changes: 3, failed: false },
      { kind: 'changes', changes: 1, failed: true },
      { kind: 'whole', changes: 1, failed: true },
      { kind: 'whole', changes: 1, failed: false },
    ]);
  });

  it('is told of every content from outside, once: whether it was applied', async () => {
    const { disk, file, outcomes } = await stage(START, { poll: 5 });
    disk.write(PATH, START.replace('alpha', 'edited'));
    await until(() => outcomes.length === 1);
    disk.write(PATH, '{ "mode": ');
    await until(() => outcomes.length === 2);
    disk.write(PATH, START.replace('server', 'client'));
    await until(() => outcomes.length === 3);
    await file.replace(Buffer.from('{"mode":"server"}'));
    await file.restore(Buffer.from(START));
    expect(outcomes).toEqual([
      'edited applied',
      'edited refused',
      'edited refused',
      'replaced applied',
      'restored applied',
    ]);
  });
});

import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AccessKey, ConfigurationChange } from '../../../../src/core/model.js';
import type { LogPort } from '../../../../src/core/ports.js';
import { createKeptVersions } from '../../../../src/files/kept-versions.js';
import { createConfigurationFile } from '../../../../src/homes/file/configuration/configuration-file.js';
import { createForgetfulFileSystem, type ForgetfulFileSystem } from '../../../ports/forgetful-file-system.js';

const PATH = '/etc/server/server.json';
const DATA = '/data';
/** As a server writes it from its memory. */
const fileOf = (...keys: readonly string[]) => JSON.stringify({ mode: 'server', access_keys: keys });

const adding = (accessKey: string): ConfigurationChange => ({
  keys: new Map([[accessKey, { accessKey, name: null, limitBytes: null }]]),
});
const removing = (accessKey: string): ConfigurationChange => ({ keys: new Map([[accessKey, null]]) });

/** The forgetful file system counts its times from here. */
const EPOCH = 1_000_000;

function machine({ unconfirmedMilliseconds = 7_000 } = {}) {
  const boot = { id: 'this boot' };
  const disk = createForgetfulFileSystem();
  disk.write(PATH, fileOf('alpha'), { synced: true });
  const lines: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[] = [];
  const add = (fields: Readonly<Record<string, unknown>>, message: string) => void lines.push({ fields, message });
  const log: LogPort = { debug: add, info: add, warn: add, error: add };
  let pid = 1;
  let now = EPOCH;
  let setBy = 0;
  const clock = { now: () => now + setBy, monotonic: () => now };
  async function start(fileSystem = disk.port) {
    pid += 1;
    const own = { pid, started: 'now' };
    const file = await createConfigurationFile({
      path: PATH,
      dataFolder: DATA,
      fileSystem,
      clock,
      log,
      unconfirmedMilliseconds,
      pollMilliseconds: 5,
      watch: false,
      processes: {
        own: async () => own,
        boot: async () => boot.id,
        find: async (other) => (other === own.pid ? own : null),
      },
      wait: async () => undefined,
    });
    const reloads: (readonly AccessKey[])[] = [];
    file.onReload(({ keys }) => reloads.push(keys));
    const keys = () => file.load().keys.map(({ accessKey }) => accessKey);
    return { file, reloads, keys };
  }
  const after = (milliseconds: number) => {
    now += milliseconds;
  };
  /** Sets the time of day by so many milliseconds. */
  const set = (milliseconds: number) => {
    setBy += milliseconds;
  };
  /** The clock as it is when the file was written last, which the disk's own clock tells. */
  const meet = async (fileSystem = disk.port) => {
    now = Number((await fileSystem.stat(PATH)).mtimeNs / 1_000_000n);
  };
  return { disk, clock, log, lines, start, after, set, meet, boot };
}

const holds = async (disk: ForgetfulFileSystem, ...keys: readonly string[]): Promise<void> => {
  await expect.poll(() => JSON.parse(disk.readText(PATH) ?? '').access_keys, { interval: 5 }).toEqual(keys);
};

describe('a server beside that writes the file from its memory', () => {
  it('gets every change again that it took back, as often as it does so, and nobody sees the change gone', async () => {
    const { disk, start, lines } = machine();
    const { file, reloads, keys } = await start();
    await file.save(adding('beta'));
    for (let times = 1; times <= 3; times += 1) {
      disk.write(PATH, fileOf('alpha', `server-${times}`));
      await expect.poll(() => disk.readText(PATH)?.includes('beta'), { interval: 5 }).toBe(true);
      expect(disk.readText(PATH)).toContain(`server-${times}`);
    }
    expect(reloads.every((seen) => seen.some(({ accessKey }) => accessKey === 'beta'))).toBe(true);
    const said = lines.filter(({ message }) => message.includes('took back'));
    expect(said.map(({ fields }) => [fields.changes, fields.total])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    expect(said[0]?.message).toContain('--upstream');
    expect(JSON.stringify(said)).not.toContain('beta');
    expect(keys()).toContain('beta');
    await file.close();
  });

  it('that revives a key does so for no longer than it takes to notice it', async () => {
    const { disk, start } = machine();
    const { file, keys } = await start();
    await file.save(removing('alpha'));
    disk.write(PATH, fileOf('alpha', 'gamma'));
    await holds(disk, 'gamma');
    expect(keys()).toEqual(['gamma']);
    await file.close();
  });

  it('is believed once it has had its 7 s', async () => {
    const { disk, start, after } = machine();
    const { file, keys } = await start();
    await file.save(adding('beta'));
    after(7_001);
    disk.write(PATH, fileOf('alpha'));
    await expect.poll(keys, { interval: 5 }).toEqual(['alpha']);
    await holds(disk, 'alpha');
    await file.close();
  });

  it('does not undo a change that comes in the same write as what it took back', async () => {
    const { disk, start } = machine();
    const { file } = await start();
    await file.save(adding('beta'));
    disk.write(PATH, fileOf('alpha', 'server'));
    await file.save(adding('gamma'));
    await holds(disk, 'alpha', 'server', 'beta', 'gamma');
    await file.close();
  });
});

describe('a Keyway that is killed before it notices', () => {
  it('gives again at its start what was taken back meanwhile', async () => {
    // The disk counts a second for everything that happens to it.
    const { disk, start, meet, lines } = machine({ unconfirmedMilliseconds: 600_000 });
    const before = await start();
    await before.file.save(adding('beta'));
    await before.file.save(removing('alpha'));
    disk.kill();
    disk.write(PATH, fileOf('alpha', 'server'));
    await meet();
    const { file, keys } = await start();
    expect(keys()).toEqual(['server', 'beta']);
    await holds(disk, 'server', 'beta');
    expect(lines.filter(({ message }) => message.includes('took back'))).toHaveLength(1);
    await file.close();
  });

  it('does not make again what a later change replaced that it was killed too early to note, nor after a second kill', async () => {
    const { disk, start, meet } = machine({ unconfirmedMilliseconds: 600_000 });
    const first = await start();
    await first.file.save(adding('beta'));
    disk.kill();
    const renamed = { access_key: 'beta', name: 'renamed' };
    disk.write(PATH, JSON.stringify({ mode: 'server', access_keys: ['alpha', renamed] }));
    await meet();
    await start();
    disk.kill();
    disk.write(PATH, fileOf('alpha'));
    await meet();
    const { file, keys } = await start();
    expect(keys()).toEqual(['alpha']);
    await file.close();
  });

  it('has noted a change before it is in the file, and that it was made before it is answered, however slow the notes are', async () => {
    const { disk, start } = machine();
    const append = async (path: string, content: Buffer) => {
      for (let turns = 0; turns < 10; turns += 1) await nextTurn();
      await disk.port.append(path, content);
    };
    const { file } = await start({ ...disk.port, append });
    await file.save(adding('beta'));
    const lastNote = () => disk.readText(`${DATA}/unread-changes`)?.trimEnd().split('\n').at(-1);
    let whenReplaced: string | undefined;
    disk.before((call, path) => {
      if (call === 'rename' && path === PATH) whenReplaced = lastNote();
    });
    await file.save(adding('gamma'));
    expect(whenReplaced).toMatch(/^\{"intended":true,.*gamma/);
    expect(lastNote()).toMatch(/^\{"done":/);
    await file.close();
  });

  it('knows of nothing after a boot: no server runs that has not read the file', async () => {
    const { disk, start, meet, boot } = machine();
    const before = await start();
    await before.file.save(adding('beta'));
    disk.crash(() => 1);
    boot.id = 'another boot';
    disk.write(PATH, fileOf('alpha'));
    await meet();
    const { file, keys } = await start();
    expect(keys()).toEqual(['alpha']);
    await file.close();
  });

  it('believes what was written long after', async () => {
    const { disk, start, meet, after } = machine();
    const before = await start();
    await before.file.save(adding('beta'));
    disk.kill();
    disk.write(PATH, fileOf('alpha'));
    await meet();
    after(60_000);
    for (let seconds = 0; seconds < 8; seconds += 1) disk.write(PATH, fileOf('alpha', String(seconds)));
    const { file, keys } = await start();
    expect(keys()).toEqual(['alpha', '7']);
    await file.close();
  });
});

describe('a command that replaces the file', () => {
  it('is meant, whatever was changed just before', async () => {
    const { disk, start } = machine();
    const { file, keys } = await start();
    await file.save(adding('beta'));
    await file.restore(Buffer.from(fileOf('alpha')));
    expect(keys()).toEqual(['alpha']);
    await holds(disk, 'alpha');
    await file.close();
  });
});

describe('a clock that is set back by an hour while a Keyway is restarted', () => {
  it('has changes count as unread no longer than others', async () => {
    const { disk, start, after, set, meet } = machine({ unconfirmedMilliseconds: 600_000 });
    const before = await start();
    await before.file.save(adding('beta'));
    disk.kill();
    await meet();
    set(-3_600_000);
    const { file, keys } = await start();
    after(601_000);
    disk.write(PATH, fileOf('alpha', 'server'));
    await expect.poll(keys, { interval: 5 }).toContain('server');
    expect(keys()).toEqual(['alpha', 'server']);
    await file.close();
  });
});

describe('a version of the file', () => {
  it('is kept an hour after the last one, whatever the clock is set to', async () => {
    const { disk, start, after, set } = machine();
    const { file } = await start();
    await file.save(adding('first'));
    for (const milliseconds of [-7_200_000, 7_200_000]) {
      set(milliseconds);
      await file.save(adding(`set by ${milliseconds}`));
    }
    after(3_600_000);
    await file.save(adding('an hour later'));
    await file.close();
    // The first, one an hour later, and the last one.
    expect(disk.names(`${DATA}/versions`)).toHaveLength(3);
  });
});

describe('the last good content', () => {
  const contents = async (disk: ForgetfulFileSystem, clock: { now: () => number }) => {
    const versions = createKeptVersions({
      fileSystem: disk.port,
      folder: `${DATA}/versions`,
      clock: { ...clock, monotonic: clock.now },
    });
    const forever = (await versions.list()).filter((version) => version.forever);
    return Promise.all(forever.map(async ({ id }) => (await versions.read(id)).toString()));
  };

  it.each(['null', '{ broken', ''])('before the file became %j is kept for good', async (text) => {
    const { disk, start, clock } = machine();
    const { file } = await start();
    await file.save(adding('beta'));
    const good = disk.readText(PATH);
    disk.write(PATH, text);
    await expect.poll(() => contents(disk, clock), { interval: 5 }).toEqual([good]);
    await file.close();
  });

  it('of the Keyway before is kept for good where many keys went while none was running', async () => {
    const many = Array.from({ length: 11 }, (_, index) => `key-${index}`);
    const { disk, start, clock, lines } = machine();
    const before = await start();
    for (const key of many) await before.file.save(adding(key));
    const good = disk.readText(PATH);
    await before.file.close();
    disk.write(PATH, fileOf('alpha'));
    const { file } = await start();
    file.goneMeanwhile(10);
    file.goneMeanwhile(11);
    await expect.poll(() => contents(disk, clock), { interval: 5 }).toEqual([good]);
    expect(lines.filter(({ message }) => message.includes('while Keyway was not running'))).toHaveLength(1);
    await file.close();
  });
});

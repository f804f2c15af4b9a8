import { describe, expect, it } from 'vitest';
import type { AccessKey, ConfigurationChange } from '../../../../src/core/model.js';
import type { LogPort } from '../../../../src/core/ports.js';
import {
  type ConfigurationFileOptions,
  createConfigurationFile,
} from '../../../../src/homes/file/configuration/configuration-file.js';
import { inboundsFile } from '../../../../src/wire/traits/server-file.js';
import { createForgetfulFileSystem } from '../../../ports/forgetful-file-system.js';

const PATH = '/etc/server/server.json';

type Element =
  | string
  | { readonly key?: string; readonly access_key?: string; readonly name?: string; readonly limit_bytes?: number };

const fileOf = (users: readonly Element[], rootList?: readonly Element[]) =>
  `${JSON.stringify({ mode: 'server', inbounds: [{ protocol: 'ostp', users }], ...(rootList && { access_keys: rootList }) }, null, 2)}\n// kept\n`;

const record = (accessKey: string, name: string | null = null, limitBytes: bigint | null = null): AccessKey => ({
  accessKey,
  name,
  limitBytes,
});
const changing = (accessKey: string, to: AccessKey | null): ConfigurationChange => ({
  keys: new Map([[accessKey, to]]),
});

async function stage(start: string, options: Partial<ConfigurationFileOptions> = {}) {
  const disk = createForgetfulFileSystem();
  disk.write(PATH, start, { synced: true });
  const lines: string[] = [];
  const quiet = () => undefined;
  const say = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
  const log: LogPort = { debug: quiet, info: say('info'), warn: say('warn'), error: say('error') };
  const own = { pid: 2, started: 'now' };
  const file = await createConfigurationFile({
    path: PATH,
    dataFolder: '/data',
    fileSystem: disk.port,
    clock: { now: () => 1_000_000, monotonic: () => 1_000_000 },
    log,
    pollMilliseconds: 5,
    watch: false,
    processes: { own: async () => own, boot: async () => 'boot', find: async () => null },
    wait: async () => undefined,
    ...options,
  });
  const text = () => disk.readText(PATH) ?? '';
  const parts = () => {
    const { inbounds, access_keys } = JSON.parse(text().replace('// kept', ''));
    return { users: inbounds[0].users, list: access_keys };
  };
  const keys = () => file.load().keys.map(({ accessKey }) => accessKey);
  return { disk, file, lines, text, parts, keys };
}

describe('a legacy key list, for servers from 0.3.11 on', () => {
  it('loses a key that is deleted, in whatever form it stands there, and gets none', async () => {
    const list = ['a', { key: 'b' }, { access_key: 'c', name: 'C' }, 'd'];
    const { file, parts, text } = await stage(
      fileOf([{ key: 'a' }, { key: 'b' }, { key: 'c', name: 'C' }, { key: 'd' }], list),
    );
    for (const key of ['a', 'b', 'c']) await file.save(changing(key, null));
    await file.save(changing('d', record('d', 'D', 5n)));
    await file.save(changing('e', record('e')));
    expect(parts()).toEqual({ users: [{ key: 'd', name: 'D', limit_bytes: 5 }, { key: 'e' }], list: ['d'] });
    expect(text()).toContain('// kept');
    await file.close();
  });

  it('that appears while Keyway serves is an error at once, until it is gone', async () => {
    const { disk, file, lines } = await stage(fileOf([{ key: 'a' }]));
    expect(file.status().inboundsError).toBeNull();
    disk.write(PATH, fileOf([{ key: 'a' }], ['a', 'made-over-its-api']));
    await expect.poll(() => file.status().inboundsError, { interval: 5 }).toContain('--upstream');
    expect(lines.filter((line) => line.startsWith('error: access_keys'))).toHaveLength(1);
    disk.write(PATH, fileOf([{ key: 'a' }, { key: 'made-over-its-api' }]));
    await expect.poll(() => file.status().inboundsError, { interval: 5 }).toBeNull();
    await file.close();
  });

  it('that was there before is the same error, and the log says when the file is live again', async () => {
    const told = await stage(fileOf([{ key: 'a' }], ['a']));
    expect(told.file.status().inboundsError).toContain('its next start reads');
    told.disk.write(PATH, fileOf([{ key: 'a' }]));
    await expect.poll(() => told.file.status().inboundsError, { interval: 5 }).toBeNull();
    expect(told.lines).toContain('info: the file is live as it stands again');
    await told.file.close();
    const ended = await stage(fileOf([{ key: 'a' }], [{ access_key: 'a', name: 'A' }]));
    expect(ended.file.status().inboundsError).toContain('ends its live reloads: no change of this file is live');
    await ended.file.close();
  });

  it('that brings a deleted key back before the server has read the deletion loses it again', async () => {
    const { disk, file, parts } = await stage(fileOf([{ key: 'a' }, { key: 'b' }], ['a', 'b']));
    await file.save(changing('a', null));
    disk.write(PATH, fileOf([{ key: 'b' }], ['a', 'b', 'c']));
    await expect.poll(parts, { interval: 5 }).toEqual({ users: [{ key: 'b' }], list: ['b', 'c'] });
    await file.close();
  });
});

describe('a legacy key list, for servers up to 0.3.10', () => {
  it('has every key of the inbounds as a plain string, from the first change of a key on', async () => {
    const users = [{ key: 'a', name: 'A' }, { key: 'b' }];
    const { file, parts } = await stage(fileOf(users), { servers: [{ version: '0.3.10', file: inboundsFile }] });
    expect(file.status().inboundsError).toContain('before 0.3.11');
    await file.save(changing('c', record('c', 'C', 9n)));
    expect(parts()).toEqual({ users: [...users, { key: 'c', name: 'C', limit_bytes: 9 }], list: ['a', 'b', 'c'] });
    expect(file.status().inboundsError).toBeNull();
    await file.save(changing('b', null));
    expect(parts().list).toEqual(['a', 'c']);
    await file.close();
  });

  it('that has a key of its own is written by a server, too', async () => {
    const { disk, file } = await stage(fileOf([{ key: 'a' }], ['a']), {
      servers: [{ version: '0.3.10', file: inboundsFile }],
    });
    expect(file.status().inboundsError).toBeNull();
    disk.write(PATH, fileOf([{ key: 'a' }], ['a', 'made-over-its-api']));
    await expect.poll(() => file.status().inboundsError, { interval: 5 }).toContain('--upstream');
    disk.write(PATH, fileOf([{ key: 'a' }, { key: 'b' }], ['a']));
    await expect.poll(() => file.status().inboundsError, { interval: 5 }).toContain('before 0.3.11');
    await file.close();
  });
});

describe('a file that another program writes from its memory', () => {
  const takesBack = async (layout: (keys: readonly string[]) => string) => {
    const staged = await stage(layout(['a']));
    await staged.file.save(changing('b', record('b')));
    expect(staged.file.status().inboundsError).toBeNull();
    staged.disk.write(PATH, layout(['a']));
    await expect.poll(staged.keys, { interval: 5 }).toEqual(['a', 'b']);
    await expect.poll(() => staged.lines.filter((line) => line.includes('took back')), { interval: 5 }).toHaveLength(1);
    return staged;
  };

  it('is unhealthy where it has inbounds, and stays so until Keyway is started again', async () => {
    const { disk, file, lines } = await takesBack((keys) => fileOf(keys.map((key) => ({ key }))));
    expect(file.status().inboundsError).toContain('--upstream');
    disk.write(PATH, fileOf([{ key: 'a' }, { key: 'b' }, { key: 'c' }]));
    await expect.poll(() => file.load().keys.length, { interval: 5 }).toBe(3);
    expect(file.status().inboundsError).toContain("takes changes of Keyway's back");
    expect(lines.filter((line) => line.startsWith('error: another program writes'))).toHaveLength(1);
    await file.close();
  });

  it('stays healthy in the flat layout, where what is taken back is made again', async () => {
    const flat = (keys: readonly string[]) => JSON.stringify({ mode: 'server', access_keys: keys });
    const { file } = await takesBack(flat);
    expect(file.status().inboundsError).toBeNull();
    await file.close();
  });
});

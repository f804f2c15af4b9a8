import { describe, expect, it } from 'vitest';
import type { AccessKey, ConfigurationChange } from '../../../src/core/model.js';
import type { LogPort } from '../../../src/core/ports.js';
import {
  type ConfigurationFileOptions,
  createConfigurationFile,
} from '../../../src/local/configuration/configuration-file.js';
import { createForgetfulFileSystem } from '../../ports/forgetful-file-system.js';

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
  let now = 1_000_000;
  const own = { pid: 2, started: 'now' };
  const file = await createConfigurationFile({
    path: PATH,
    dataFolder: '/data',
    fileSystem: disk.port,
    clock: { now: () => now, monotonic: () => now },
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
  const later = () => {
    now += 60_000;
  };
  return { disk, file, lines, text, parts, keys, later };
}

describe('a root list beside inbounds, for servers from 0.3.11 on', () => {
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
    expect(file.status().rootListError).toBeNull();
    disk.write(PATH, fileOf([{ key: 'a' }], ['a', 'made-over-its-api']));
    await expect.poll(() => file.status().rootListError, { interval: 5 }).toContain('--mend-root-list');
    expect(lines.filter((line) => line.startsWith('error: access_keys'))).toHaveLength(1);
    disk.write(PATH, fileOf([{ key: 'a' }, { key: 'made-over-its-api' }]));
    await expect.poll(() => file.status().rootListError, { interval: 5 }).toBeNull();
    await file.close();
  });

  it('that was there before is only told of, unless an element ends the reloads', async () => {
    const told = await stage(fileOf([{ key: 'a' }], ['a']));
    expect(told.file.status().rootListError).toBeNull();
    await told.file.close();
    const ended = await stage(fileOf([{ key: 'a' }], [{ access_key: 'a', name: 'A' }]));
    expect(ended.file.status().rootListError).toContain('ends the live reloads');
    await ended.file.close();
  });

  it('is taken over as soon as it appears where that is asked for: what it has, says and lacks', async () => {
    const users = [{ key: 'a' }, { key: 'b', name: 'B' }, { key: 'c' }];
    const { disk, file, parts, keys, later, lines } = await stage(fileOf(users), { mendRootList: true });
    await file.save(changing('ours', record('ours')));
    disk.write(PATH, fileOf([...users, { key: 'ours' }], ['a', { access_key: 'b', name: 'B', limit_bytes: 7 }, 'new']));
    const mended = [{ key: 'a' }, { key: 'b', name: 'B', limit_bytes: 7 }, { key: 'ours' }, { key: 'new' }];
    await expect.poll(parts, { interval: 5 }).toEqual({ users: mended, list: undefined });
    expect(keys()).toEqual(['a', 'b', 'ours', 'new']);
    expect(file.status().rootListError).toBeNull();
    expect(lines.some((line) => line.includes('taken over into them'))).toBe(true);
    later();
    await file.close();
  });

  it('of which nobody knows how old it is gives its keys, takes none and changes none', async () => {
    const start = fileOf([{ key: 'a', name: 'A' }, { key: 'b' }], [{ access_key: 'a', name: 'old' }, 'c']);
    const { file, parts } = await stage(start, { mendRootList: true });
    await expect
      .poll(parts, { interval: 5 })
      .toEqual({ users: [{ key: 'a', name: 'A' }, { key: 'b' }, { key: 'c' }], list: undefined });
    await file.close();
  });

  it('never takes more than ten keys for deleted', async () => {
    const users = Array.from({ length: 12 }, (_, index) => ({ key: `k${index}` }));
    const { disk, file, parts } = await stage(fileOf(users), { mendRootList: true });
    disk.write(PATH, fileOf(users, ['new']));
    await expect.poll(parts, { interval: 5 }).toEqual({ users: [...users, { key: 'new' }], list: undefined });
    await file.close();
  });

  it('that brings a deleted key back before the server has read the deletion loses it again', async () => {
    const { disk, file, parts } = await stage(fileOf([{ key: 'a' }, { key: 'b' }], ['a', 'b']));
    await file.save(changing('a', null));
    disk.write(PATH, fileOf([{ key: 'b' }], ['a', 'b', 'c']));
    await expect.poll(parts, { interval: 5 }).toEqual({ users: [{ key: 'b' }], list: ['b', 'c'] });
    await file.close();
  });
});

describe('a root list beside inbounds, for servers up to 0.3.10', () => {
  it('has every key of the inbounds as a plain string, from the first change of a key on', async () => {
    const users = [{ key: 'a', name: 'A' }, { key: 'b' }];
    const { file, parts } = await stage(fileOf(users), { rootListBeside: 'alone' });
    expect(file.status().rootListError).toContain('before 0.3.11');
    await file.save(changing('c', record('c', 'C', 9n)));
    expect(parts()).toEqual({ users: [...users, { key: 'c', name: 'C', limit_bytes: 9 }], list: ['a', 'b', 'c'] });
    expect(file.status().rootListError).toBeNull();
    await file.save(changing('b', null));
    expect(parts().list).toEqual(['a', 'c']);
    await file.close();
  });

  it('is made and mended without a change where that is asked for', async () => {
    const { disk, file, parts } = await stage(fileOf([{ key: 'a' }]), { rootListBeside: 'alone', mendRootList: true });
    await expect.poll(parts, { interval: 5 }).toEqual({ users: [{ key: 'a' }], list: ['a'] });
    disk.write(PATH, fileOf([{ key: 'a' }], ['a', { access_key: 'b', name: 'B' }]));
    await expect
      .poll(parts, { interval: 5 })
      .toEqual({ users: [{ key: 'a' }, { key: 'b', name: 'B' }], list: ['a', 'b'] });
    await file.close();
  });
});

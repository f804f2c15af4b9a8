import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConfigurationChange } from '../../../../src/core/model.js';
import { UNDO_GAP } from '../../../../src/core/undo-versions.js';
import { readDocument } from '../../../../src/document/document.js';
import { createKeptVersions } from '../../../../src/files/kept-versions.js';
import { createConfigurationFile } from '../../../../src/homes/file/configuration/configuration-file.js';
import { createForgetfulFileSystem } from '../../../ports/forgetful-file-system.js';
import { tries } from '../../../tries.js';
import { WHOLE } from '../../../whole.js';

const PATH = '/etc/server/server.json';
const DATA = '/data';

const adding = (accessKey: string, limitBytes: bigint | null = null): ConfigurationChange => ({
  keys: new Map([[accessKey, { accessKey, name: null, limitBytes }]]),
});
const removing = (accessKey: string): ConfigurationChange => ({ keys: new Map([[accessKey, null]]) });

async function staged() {
  const disk = createForgetfulFileSystem();
  disk.write(PATH, JSON.stringify({ mode: 'server', access_keys: ['first'] }), { synced: true });
  let now = 1_000_000;
  const clock = { now: () => now, monotonic: () => now };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const versions = createKeptVersions({ fileSystem: disk.port, clock, folder: `${DATA}/versions` });
  const file = await createConfigurationFile({
    ...{ path: PATH, dataFolder: DATA, fileSystem: disk.port, clock, log, watch: false },
    pollMilliseconds: 0,
    processes: { own: async () => ({ pid: 1, started: 'now' }), boot: async () => 'boot', find: async () => null },
    wait: async () => undefined,
  });
  return {
    file,
    versions,
    later: (milliseconds = UNDO_GAP) => {
      now += milliseconds;
    },
    /** The keys of the newest version with their limits. */
    async newest() {
      const [version] = (await versions.list()).slice(-1);
      const { keys } = readDocument(await versions.read(version?.id ?? '')).configuration;
      return Object.fromEntries(keys.map(({ accessKey, limitBytes }) => [accessKey, limitBytes]));
    },
  };
}

describe('the newest version of a file', () => {
  it('has a key that was removed and all that were made before it', async () => {
    const { file, newest } = await staged();
    for (const name of ['a', 'b', 'c']) await file.save(adding(name));
    await file.save(removing('b'));
    await file.save(removing('a'));
    expect(Object.keys(await newest())).toEqual(['first', 'a', 'b', 'c']);
    await file.close();
  });

  it('has a rotated key and a limit that became another, and no version comes from adding alone', async () => {
    const { file, versions, newest, later } = await staged();
    await file.save(adding('a', 5n));
    await file.save({ keys: new Map([...(adding('b').keys ?? []), ['first', null]]) });
    expect(await newest()).toEqual({ first: null, a: 5n });
    later();
    await file.save(adding('a', 6n));
    expect(await newest()).toEqual({ a: 5n, b: null });
    const { length } = await versions.list();
    for (const name of ['c', 'd']) await file.save(adding(name));
    expect(await versions.list()).toHaveLength(length);
    await file.close();
  });

  it('has the rules and DNS settings before others took their place', async () => {
    const { file, versions, later } = await staged();
    await file.save({ dns: { enabled: true } });
    later();
    await file.save({ dns: { enabled: false } });
    const [version] = (await versions.list()).slice(-1);
    const { dns } = readDocument(await versions.read(version?.id ?? '')).configuration;
    expect(dns.enabled).toBe(true);
    await file.close();
  });

  it('is what was there before many keys are made, where it is asked for', async () => {
    const { file, newest } = await staged();
    await file.save(adding('a'));
    await file.keepVersion();
    for (const name of ['b', 'c']) await file.save(adding(name));
    expect(Object.keys(await newest())).toEqual(['first', 'a']);
    await file.close();
  });

  it('is one of at most one in ten seconds while keys come and go', async () => {
    const { file, versions, later } = await staged();
    for (let n = 0; n < 50; n += 1) {
      await file.save(adding(`${n}`));
      await file.save(removing(`${n}`));
      later(1_000);
    }
    // The first one is of the start.
    expect((await versions.list()).length).toBeLessThanOrEqual(1 + 5);
    await file.close();
  });

  it('brings every key back that was taken, and loses none made before, whatever came in between', async () => {
    const step = fc.record({ isRemoval: fc.boolean(), name: fc.constantFrom('a', 'b', 'c', 'd') });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const { file, newest, later } = await staged();
        const present = new Set(['first']);
        for (const { isRemoval, name } of steps) {
          const had = [...present];
          later();
          await file.save(isRemoval ? removing(name) : adding(name));
          if (isRemoval && present.delete(name))
            expect(Object.keys(await newest())).toEqual(expect.arrayContaining(had));
          if (!isRemoval) present.add(name);
        }
        await file.close();
      }),
      { numRuns: tries(WHOLE ? 100 : 30) },
    );
  });
});

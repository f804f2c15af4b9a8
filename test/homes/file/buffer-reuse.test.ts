import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { FileSystemPort } from '../../../src/core/ports.js';
import { openDataFolder } from '../../../src/files/data-folder.js';
import { createKeptVersions } from '../../../src/files/kept-versions.js';
import { createConfigurationFile } from '../../../src/homes/file/configuration/configuration-file.js';
import { createFileSystem } from '../../../src/platform/file-system.js';

describe('a large configuration file that is changed many times', () => {
  let folder = '';
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('has every change, and each kept version is one of the contents that the file had', async () => {
    folder = await mkdtemp(join(tmpdir(), 'keyway-room-'));
    const path = join(folder, 'server.json');
    const keys = Array.from({ length: 3000 }, (_, index) => `key-${index}-of-the-start`);
    await writeFile(path, JSON.stringify({ mode: 'server', access_keys: keys }, null, 2));
    // Keeping a version takes until the writes of the same hour are through.
    let held = Promise.resolve();
    const system = createFileSystem();
    const fileSystem: FileSystemPort = {
      ...system,
      list: async (place) => {
        await held;
        return system.list(place);
      },
    };
    let now = Date.UTC(2026, 0, 1);
    const clock = { now: () => now, monotonic: () => now };
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const dataFolder = join(folder, 'data');
    const file = await createConfigurationFile({ path, dataFolder, fileSystem, clock, log, watch: false });
    const contents = [await readFile(path, 'utf8')];
    for (let round = 0; round < 12; round += 1) {
      // Each hour a version is kept while the write goes on and the next ones come.
      now += 61 * 60_000;
      let release = () => {};
      if (round > 0) {
        held = new Promise((resolve) => {
          release = resolve;
        });
      }
      for (let change = 0; change < 4; change += 1) {
        const accessKey = `new-${round}-${change}`;
        await file.save({ keys: new Map([[accessKey, { accessKey, name: null, limitBytes: 5n }]]) });
        contents.push(await readFile(path, 'utf8'));
      }
      release();
    }
    await file.close();
    const expected = keys.length + 48;
    expect(new Set(JSON.parse(contents.at(-1) ?? '').access_keys.map(nameOf)).size).toBe(expected);
    const data = await openDataFolder(fileSystem, dataFolder, path);
    const versions = createKeptVersions({ fileSystem, folder: data.versions, clock });
    const kept = await versions.list();
    expect(kept.length).toBeGreaterThan(8);
    for (const { id } of kept) expect(contents).toContain((await versions.read(id)).toString('utf8'));
  });
});

function nameOf(element: string | { access_key: string }): string {
  return typeof element === 'string' ? element : element.access_key;
}

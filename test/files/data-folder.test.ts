import { expect, it } from 'vitest';
import type { FileStat, FileSystemPort } from '../../src/core/ports.js';
import { checkDataFolder, openDataFolder } from '../../src/files/data-folder.js';
import { holdForServing } from '../../src/files/hold.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';

const FOLDER = '/var/lib/keyway';
const CONFIG = '/etc/server.json';

/** Files of which the data folder has other rights than it was made with. */
async function filesWith(user: number | null, rights: Partial<Pick<FileStat, 'uid' | 'mode'>>) {
  const files = createMemoryFiles();
  await files.makeFolder(FOLDER, 0o700);
  const stat = async (path: string) => ({ ...(await files.stat(path)), ...(path === FOLDER ? rights : {}) });
  return { ...files, stat, user: async () => user } satisfies FileSystemPort;
}

it('a data folder of another user is refused with what to do, before anything is in it', async () => {
  const files = await filesWith(1000, { uid: 1001 });
  const words =
    'belongs to user 1001, and Keyway runs as user 1000: run it as user 1001, or give it the folder: chown -R 1000 /var/lib/keyway';
  await expect(openDataFolder(files, FOLDER, CONFIG)).rejects.toThrow(words);
  await expect(checkDataFolder(files, FOLDER, CONFIG)).rejects.toThrow(words);
  expect(await files.list(FOLDER)).toEqual([]);
});

it.each([
  { title: 'of its own user', user: 1000, uid: 1000 },
  { title: 'of root', user: 1000, uid: 0 },
  { title: 'of anybody, as root', user: 0, uid: 1001 },
  { title: 'of anybody, where the system does not tell who it is', user: null, uid: 1001 },
])('Keyway uses a data folder $title', async ({ user, uid }) => {
  const files = await filesWith(user, { uid });
  expect(await openDataFolder(files, FOLDER, CONFIG)).toMatchObject({ path: FOLDER });
});

it.each([
  { title: 'nothing was ever learned', isFree: true },
  { title: 'Keyway keeps records of its own alone', file: 'records.jsonl', isFree: true },
  { title: 'a version is kept', file: 'versions/1.json', isFree: false },
  { title: 'keys are known', file: 'known-keys.jsonl', isFree: false },
  { title: 'something else is', file: 'another', isFree: false },
])('a data folder of a server of which $title is free for another address: $isFree', async ({ file, isFree }) => {
  const files = createMemoryFiles();
  await openDataFolder(files, FOLDER, 'http://127.0.0.1:9090');
  if (file !== undefined) await files.create(`${FOLDER}/${file}`, Buffer.from(''), 0o600, 'folder');
  const opening = openDataFolder(files, FOLDER, 'https://127.0.0.1:9090');
  const words =
    'belongs to http://127.0.0.1:9090, not to https://127.0.0.1:9090: name another with --data-dir, or, when it is';
  if (isFree) await opening;
  else await expect(opening).rejects.toThrow(words);
  const marker = (await files.read(`${FOLDER}/belongs-to.json`, 1_000)).toString();
  expect(marker).toContain(isFree ? '"https://127.0.0.1:9090"' : '"http://127.0.0.1:9090"');
  await expect(openDataFolder(files, FOLDER, CONFIG)).rejects.toThrow('when the configuration file was moved');
});

it.each([
  [0o700, 0],
  [0o755, 0],
  [0o770, 1],
  [0o707, 1],
])('a data folder of mode %o is held, with as many warnings: %i', async (mode, warnings) => {
  const fileSystem = await filesWith(0, { mode });
  const told: unknown[] = [];
  const nothing = () => undefined;
  const log = { debug: nothing, info: nothing, error: nothing, warn: (...said: unknown[]) => void told.push(said) };
  const processes = { own: async () => ({ pid: 1, started: '' }), find: async () => null, boot: async () => '' };
  const place = { dataFolder: FOLDER, configurationPath: null, lookMilliseconds: 0 };
  const hold = await holdForServing({ fileSystem, log, processes, wait: async () => undefined, ...place });
  await hold.release();
  expect(told).toEqual(
    Array(warnings).fill([{ folder: FOLDER }, expect.stringContaining('may write into the data folder')]),
  );
});

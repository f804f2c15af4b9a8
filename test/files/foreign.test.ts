import { describe, expect, it } from 'vitest';
import { DataFolderError } from '../../src/files/data-folder.js';
import { inDataFolder } from '../../src/files/foreign.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';

const own = 1000;
const refusal = (path: string, code = 'EACCES') => Object.assign(new Error(`${code}: ${path}`), { code, path });

/** The refusal of work in `/data`, for a file; both belong to these users. */
async function refused(error: Error, { folder = own, file = own } = {}) {
  const files = createMemoryFiles();
  const owners = new Map([
    ['/data', folder],
    ['/server.json', file],
  ]);
  const fileSystem = {
    user: async () => own,
    stat: async (path: string) => {
      const uid = owners.get(path);
      if (uid === undefined) throw refusal(path, 'ENOENT');
      await files.makeFolder(path, 0o700);
      return { ...(await files.stat(path)), uid };
    },
  };
  const place = { dataFolder: '/data', configPath: '/server.json' };
  return inDataFolder(fileSystem, place, () => Promise.reject(error)).catch((caught: unknown) => caught);
}

describe('what the system refuses in a data folder', () => {
  it.each([
    ['/data', 'The data folder /data cannot be used'],
    ['/data/versions/one.gz', 'versions/one.gz in the data folder /data cannot be used'],
  ])('%s is told with the command that gives it to the user of the file', async (path, words) => {
    const error = new Error('wrapped. Name another with --data-dir.', { cause: refusal(path) });
    const told = await refused(error, { folder: own + 1 });
    expect(told).toBeInstanceOf(DataFolderError);
    expect(String(told)).toContain(words);
    expect(String(told)).toMatch(/ by user 1000: chown -R 1000 \/data$/);
    expect(String(told)).not.toContain('--data-dir');
  });

  it('names the user of the file where that is another, and to run as him where the folder is his already', async () => {
    const error = refusal('/data/versions');
    expect(String(await refused(error, { folder: own + 1, file: own + 2 }))).toContain(`chown -R ${own + 2} /data`);
    expect(String(await refused(error, { folder: own + 1, file: own + 1 }))).toContain(`run this as user ${own + 1}`);
  });

  it('leaves what is refused elsewhere, and other failures, as they are', async () => {
    for (const error of [refusal('/server.json'), refusal('/database'), refusal('/data/lock', 'ENOSPC')])
      expect(await refused(error)).toBe(error);
  });
});

import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createFileSystem } from '../../src/platform/file-system.js';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../serve/serve-here.js';
import { PASSWORD, SERVER_FILE, startLiveServer, TOKEN, USERNAME } from './live-server.js';

test('replay --destructive replaces nothing where the disk is full for its copy, and leaves none that is cut short', async () => {
  const server = await startLiveServer('0.2.96');
  const folder = await folderForTest();
  const fileSystem = createFileSystem();
  const argv = ['replay', '--target', `${server.origin}/panel`, '--revision', '0.2.96', '--username', USERNAME];
  const ended = await runHere([...argv, '--destructive'], {
    environment: { KEYWAY_PASSWORD: PASSWORD, KEYWAY_TOKEN: TOKEN },
    folder,
    fileSystem: {
      ...fileSystem,
      async create(path, content, mode) {
        await fileSystem.create(path, content.subarray(0, 9), mode);
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      },
    },
  });
  expect(ended.complaints).toContain(
    `nothing was replaced: what stands there cannot be saved in ${folder}/keyway-saved-`,
  );
  expect(ended.code).toBe(2);
  expect(await readdir(folder)).toEqual([]);
  expect(await server.file()).toEqual(JSON.parse(SERVER_FILE));
});

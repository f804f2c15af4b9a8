import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { reachSocket, servingSocket } from '../../src/commands/serving-socket.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { createProcesses } from '../../src/platform/processes.js';
import { folderForTest } from '../folder-for-test.js';

/** A data folder with the lock of this process, or of one that is gone. */
async function dataFolder({ isServed }: { readonly isServed: boolean }) {
  const folder = await folderForTest();
  const commandFolder = join(folder, 'server.json.keyway');
  await mkdir(commandFolder, { mode: 0o700 });
  const lock = isServed ? await createProcesses().own() : { pid: 2 ** 30, started: 'then' };
  await writeFile(join(commandFolder, 'lock'), JSON.stringify(lock));
  return { commandFolder, documents: [join(folder, 'server.json')] };
}

describe('the socket of a Keyway that serves', () => {
  it('that takes calls and answers none is said to be suspended, with its process', async () => {
    const home = await dataFolder({ isServed: true });
    const server = createServer(() => undefined).listen(join(home.commandFolder, 'keyway.sock'));
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const found = servingSocket(home, createFileSystem(), (path) => reachSocket(path, 50));
    await expect(found).rejects.toThrow(`process ${process.pid} does not answer (suspended?)`);
  });

  it('that is another user’s is refused while the lock is a living process’s, and is nobody’s else', async () => {
    const refused = async () => 'refused' as const;
    const served = servingSocket(await dataFolder({ isServed: true }), createFileSystem(), refused);
    await expect(served).rejects.toThrow(`a Keyway serves the file (process ${process.pid})`);
    expect(await servingSocket(await dataFolder({ isServed: false }), createFileSystem(), refused)).toBe(null);
  });

  it('that is left of one that was killed is nobody’s', async () => {
    const home = await dataFolder({ isServed: true });
    await writeFile(join(home.commandFolder, 'keyway.sock'), '');
    expect(await servingSocket(home, createFileSystem())).toBe(null);
  });
});

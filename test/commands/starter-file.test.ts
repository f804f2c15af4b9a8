import { type ParseError, parse as parseWithComments } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { writeStarterFile } from '../../src/commands/starter-file.js';
import { sha256Hash } from '../../src/core/password.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { createForgetfulFileSystem } from '../ports/forgetful-file-system.js';

async function emptyFolder(isTerminal: boolean) {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/srv', 0o700);
  const output = { isTerminal, descriptor: 1, line() {} };
  const textOf = async (path: string) => String(await fileSystem.read(path, 100_000));
  return {
    fileSystem,
    textOf,
    write: (path: string) => writeStarterFile(path, { fileSystem, random: systemRandom, output }),
  };
}

describe('the starter file', () => {
  it('without a terminal is private, and its password is in a private file beside it', async () => {
    const { fileSystem, textOf, write } = await emptyFolder(false);
    expect(await write('/srv/keyway.jsonc')).toEqual({ file: '/srv/keyway.password' });
    const password = (await textOf('/srv/keyway.password')).trimEnd();
    expect(password).toMatch(/^[0-9a-z]{6}(-[0-9a-z]{6}){3}$/);
    const errors: ParseError[] = [];
    expect(parseWithComments(await textOf('/srv/keyway.jsonc'), errors)).toMatchObject({
      mode: 'server',
      access_keys: [{ access_key: expect.stringMatching(/^[0-9a-f]{32}$/) }],
      api: {
        enabled: true,
        bind: '127.0.0.1:9090',
        token: expect.stringMatching(/^[0-9a-f]{48}$/),
        webpath: expect.stringMatching(/^[0-9a-f]{16}$/),
        username: 'admin',
        password_hash: sha256Hash(password),
      },
    });
    expect(errors).toEqual([]);
    for (const path of ['/srv/keyway.jsonc', '/srv/keyway.password'])
      expect((await fileSystem.stat(path)).mode & 0o777, path).toBe(0o600);
  });

  it('on a terminal has its password shown, and in no file', async () => {
    const { fileSystem, textOf, write } = await emptyFolder(true);
    const password = await write('/srv/keyway.jsonc');
    const shown = 'shown' in password ? password.shown : expect.fail();
    expect(await textOf('/srv/keyway.jsonc')).toContain(sha256Hash(shown));
    expect(await fileSystem.list('/srv')).toEqual(['keyway.jsonc']);
  });

  it.each([
    '/srv/keyway.jsonc',
    '/srv/keyway.password',
  ])('overwrites nothing, and where there is %s writes nothing', async (path) => {
    const { fileSystem, textOf, write } = await emptyFolder(false);
    await fileSystem.create(path, Buffer.from('mine'), 0o600);
    await expect(write('/srv/keyway.jsonc')).rejects.toThrow(`${path} exists already`);
    expect(await fileSystem.list('/srv')).toHaveLength(1);
    expect(await textOf(path)).toBe('mine');
  });

  it('in a folder that does not exist is refused in words for people', async () => {
    const { write } = await emptyFolder(false);
    await expect(write('/nowhere/keyway.jsonc')).rejects.toThrow(
      '/nowhere/keyway.password cannot be written: No such file or directory',
    );
  });

  it.each([
    true,
    false,
  ])('that cannot be synced leaves no file of an unknown password (terminal: %s)', async (isTerminal) => {
    const disk = createForgetfulFileSystem();
    await disk.port.makeFolder('/srv', 0o700);
    disk.fail('sync', 'ENOSPC', (path) => path.endsWith('.jsonc'));
    const output = { isTerminal, descriptor: 1, line() {} };
    const writing = writeStarterFile('/srv/keyway.jsonc', { fileSystem: disk.port, random: systemRandom, output });
    await expect(writing).rejects.toThrow('/srv/keyway.jsonc cannot be written: No space left on device');
    expect(disk.names('/srv')).toEqual([]);
  });
});

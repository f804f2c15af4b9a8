import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tryWriting } from '../../src/files/try-writing.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { createForgetfulFileSystem } from '../ports/forgetful-file-system.js';

const PATH = '/etc/server/server.json';

function disk() {
  const made = createForgetfulFileSystem();
  made.write(PATH, '{}');
  return made;
}

describe('trying the way of writing', () => {
  it('finds nothing where a write goes well, and leaves the folder as it was', async () => {
    const { port, names } = disk();
    expect(await tryWriting({ fileSystem: port, path: PATH, inPlace: false })).toEqual([]);
    expect(names('/etc/server')).toEqual(['server.json']);
  });

  it.each(['EROFS', 'EACCES'])('a folder that answers %s is named with the remedy', async (code) => {
    const { port, fail } = disk();
    fail('create', code);
    const [problem, ...more] = await tryWriting({ fileSystem: port, path: PATH, inPlace: false });
    expect(more).toEqual([]);
    expect(problem?.kind).toBe('notWritable');
    expect(problem?.message).toMatch(new RegExp(`/etc/server cannot be written to .*${code}.*make it writable`));
  });

  it('a foreign owner is named with the remedy, and nothing is left behind', async () => {
    const { port, fail, setOwner, names } = disk();
    setOwner(PATH, 4711, 4711);
    fail('setOwner', 'EPERM');
    const [problem] = await tryWriting({ fileSystem: port, path: PATH, inPlace: false });
    expect(problem?.kind).toBe('foreignOwner');
    expect(problem?.message).toMatch(/user 4711.*run Keyway as that user/);
    expect(names('/etc/server')).toEqual(['server.json']);
  });

  it('a file of the right user in a foreign group is named with its group', async () => {
    const { port, fail, setOwner } = disk();
    const { uid } = await port.stat(PATH);
    setOwner(PATH, uid, 4711);
    fail('setOwner', 'EPERM');
    const [problem] = await tryWriting({ fileSystem: port, path: PATH, inPlace: false });
    expect(problem?.message).toMatch(/: chgrp \d+ \/etc\/server\/server\.json\.$/);
  });

  it('a mount point is named with --in-place, which then finds nothing', async () => {
    const { port, mount } = disk();
    mount(PATH);
    const [problem] = await tryWriting({ fileSystem: port, path: PATH, inPlace: false });
    expect(problem?.kind).toBe('mountPoint');
    expect(problem?.message).toContain('--in-place');
    expect(await tryWriting({ fileSystem: port, path: PATH, inPlace: true })).toEqual([]);
  });

  it('--in-place for a file that is no mount point is advised against', async () => {
    const [problem] = await tryWriting({ fileSystem: disk().port, path: PATH, inPlace: true });
    expect(problem?.kind).toBe('noMountPoint');
  });

  it('a missing file and a folder are problems, not errors', async () => {
    const { port } = disk();
    expect((await tryWriting({ fileSystem: port, path: '/nowhere/x', inPlace: false }))[0]?.kind).toBe('missing');
    expect((await tryWriting({ fileSystem: port, path: '/etc/server', inPlace: false }))[0]?.kind).toBe('notAFile');
  });

  it('a real bind mount of the file alone is found where one can be made', async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway mount-'));
    const [path, source] = [join(folder, 'server.json'), join(folder, 'source.json')];
    try {
      await writeFile(path, '{}');
      await writeFile(source, '{}');
      const mounted = spawnSync('mount', ['--bind', source, path], { encoding: 'utf8' });
      if (mounted.status !== 0) {
        const reason = `no bind mount can be made: ${mounted.stderr || mounted.error?.message}`;
        process.stdout.write(`skipped: ${reason.trim()}\n`);
        return context.skip(reason);
      }
      try {
        const problems = await tryWriting({ fileSystem: createFileSystem(), path, inPlace: false });
        expect(problems.map(({ kind }) => kind)).toEqual(['mountPoint']);
        expect(await tryWriting({ fileSystem: createFileSystem(), path, inPlace: true })).toEqual([]);
        expect((await readdir(folder)).sort()).toEqual(['server.json', 'source.json']);
      } finally {
        spawnSync('umount', [path]);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

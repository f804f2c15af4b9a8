import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTarget, readTarget, replaceTarget, TargetChangedError } from '../../src/files/write-file.js';
import { createForgetfulFileSystem, type ForgetfulFileSystem } from '../ports/forgetful-file-system.js';

const PATH = '/etc/server/server.json';

async function found() {
  const disk = createForgetfulFileSystem();
  disk.write(PATH, 'old');
  const target = await readTarget(disk.port, PATH);
  const replace = (before: () => Promise<void>, after = async () => undefined) =>
    replaceTarget(disk.port, target, Buffer.from('new'), { before, after });
  return { disk, replace };
}

it('replaces a file after its content is synced and what comes before is done, and syncs the folder after that', async () => {
  const { disk, replace } = await found();
  const steps: string[] = [];
  disk.before((call) => steps.push(call));
  const before = async () => {
    steps.push('begins before');
    await nextTurn();
    steps.push('ends before');
  };
  await replace(before, async () => void steps.push('after'));
  const [create, ...others] = steps;
  expect(create).toBe('create');
  expect(others.slice(0, 3).sort()).toEqual(['begins before', 'ends before', 'sync']);
  expect(others.slice(3, 5)).toEqual(['hardLink', 'rename']);
  expect(others.slice(5).sort()).toEqual(['after', 'remove', 'syncFolder']);
});

it('leaves the file as it was, and nothing beside it, where what comes before fails', async () => {
  const { disk, replace } = await found();
  await expect(replace(async () => Promise.reject(new Error('not held')))).rejects.toThrow('not held');
  expect([disk.readText(PATH), disk.names('/etc/server')]).toEqual(['old', ['server.json']]);
});

it.each([
  ['written into', (disk: ForgetfulFileSystem) => disk.write(PATH, 'by hand')],
  ['replaced', (disk: ForgetfulFileSystem) => disk.replace(PATH, 'by hand')],
])('does not replace a file that is %s by hand while the new content is synced', async (_, edit) => {
  const { disk, replace } = await found();
  await expect(replace(async () => edit(disk))).rejects.toBeInstanceOf(TargetChangedError);
  expect([disk.readText(PATH), disk.names('/etc/server')]).toEqual(['by hand', ['server.json']]);
});

it('says that a new file is not durable where its folder cannot be opened, no earlier than the file is whole', async () => {
  const { disk } = await found();
  const path = '/etc/server/new.json';
  const refused = async (): Promise<void> => {
    throw new Error('no handle is free');
  };
  await expect(createTarget({ ...disk.port, syncFolder: refused }, path, Buffer.from('new'))).rejects.toThrow(
    'no handle is free',
  );
  expect(disk.readText(path)).toBe('new');
});

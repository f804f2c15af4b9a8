import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FileSystemPort } from '../../src/core/ports.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';

type Act = (files: FileSystemPort, folder: string) => Promise<unknown>;

const name = fc.constantFrom('a', 'b', 'folder', 'folder/c');
const content = fc.string({ maxLength: 8 }).map((text) => Buffer.from(text));
const at = (folder: string, path: string) => join(folder, path);

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.tuple(name, content).map(
    ([path, bytes]): Act =>
      (files, folder) =>
        files.create(at(folder, path), bytes, 0o600),
  ),
  fc.tuple(name, content).map(
    ([path, bytes]): Act =>
      async (files, folder) =>
        (await files.overwrite(at(folder, path), bytes)).size,
  ),
  fc.tuple(name, content).map(
    ([path, bytes]): Act =>
      (files, folder) =>
        files.append(at(folder, path), bytes),
  ),
  fc.tuple(name, content).map(
    ([path, bytes]): Act =>
      (files, folder) =>
        files.matches(at(folder, path), bytes),
  ),
  name.map(
    (path): Act =>
      async (files, folder) =>
        String(await files.read(at(folder, path), 4)),
  ),
  name.map(
    (path): Act =>
      async (files, folder) => {
        const file = await files.open(at(folder, path));
        const piece = Buffer.alloc(3);
        const read = [await file.read(piece, 1), await file.read(piece, 100)];
        await file.close();
        return [file.size, read, String(piece)];
      },
  ),
  name.map(
    (path): Act =>
      async (files, folder) => {
        const { kind, size } = await files.stat(at(folder, path));
        return kind === 'file' ? `${kind} ${size}` : kind;
      },
  ),
  fc.constant<Act>((files, folder) => files.makeFolder(at(folder, 'folder'), 0o700)),
  fc.constant<Act>(async (files, folder) => [...(await files.list(folder))].sort()),
  fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('a', 'b', 'folder/c')).map(
    ([from, to]): Act =>
      (files, folder) =>
        files.rename(at(folder, from), at(folder, to)),
  ),
  fc.constantFrom('a', 'b', 'folder/c').map(
    (path): Act =>
      (files, folder) =>
        files.remove(at(folder, path)),
  ),
);

/** What an act gives: its value, or the code that it fails with. */
async function outcome(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
}

test('files in memory do what files on the disk do', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 20 }), async (acts) => {
      const folder = await mkdtemp(join(tmpdir(), 'keyway-files-'));
      try {
        const [disk, memory] = [createFileSystem(), createMemoryFiles()];
        await memory.makeFolder('/x', 0o700);
        for (const each of acts) {
          expect(await outcome(each(memory, '/x'))).toEqual(await outcome(each(disk, folder)));
        }
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 200 },
  );
});

test('a file in memory that grows holds all that was appended, and what was opened before is what it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 }), async (pieces) => {
      const memory = createMemoryFiles();
      let whole = Buffer.from('begun');
      await memory.create('/a', whole, 0o600);
      for (const piece of pieces) {
        const before = await memory.open('/a');
        await memory.append('/a', Buffer.from(piece));
        const read = Buffer.alloc(whole.length + 1);
        expect([before.size, await before.read(read, 0)]).toEqual([whole.length, whole.length]);
        expect(read.subarray(0, whole.length)).toEqual(whole);
        whole = Buffer.concat([whole, piece]);
        expect(await memory.read('/a', 10_000)).toEqual(whole);
        expect((await memory.stat('/a')).size).toBe(BigInt(whole.length));
      }
    }),
  );
});

test('a change in a watched folder calls back', async () => {
  const memory = createMemoryFiles();
  await memory.makeFolder('/x', 0o700);
  const changed = new Promise<void>((resolve) => memory.watch('/x', resolve));
  await memory.create('/x/a', Buffer.from('1'), 0o600);
  await changed;
});

test('relative paths are those of a folder of their own, and what is not there is missed', async () => {
  const memory = createMemoryFiles();
  await expect(memory.read('a/b/c', 10)).rejects.toMatchObject({ code: 'ENOENT' });
  await memory.makeFolder('a/b', 0o700);
  await memory.create('a/b/c', Buffer.from('1'), 0o600);
  expect(await memory.read('a/b/c', 10)).toEqual(Buffer.from('1'));
  expect([await memory.list('.'), await memory.list('a/b'), await memory.list('/')]).toEqual([['a'], ['c'], []]);
});

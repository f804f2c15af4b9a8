import { basename, dirname } from 'node:path';
import type { FileStat, FileSystemPort } from '../core/ports.js';
import { tooLarge } from './failure-words.js';

interface Entry {
  readonly kind: 'file' | 'folder';
  content: Buffer;
  /** Memory that begins with the content and may have spare bytes after it. */
  room: Buffer;
  readonly ino: bigint;
  mode: number;
  changedAt: bigint;
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file already exists',
  EISDIR: 'illegal operation on a directory',
  ENOTDIR: 'not a directory',
  EPERM: 'operation not permitted',
};

/**
 * Creates a file system in memory, so that scenarios need not wait for a disk. It has no links, owners or limits;
 * relative paths start in a folder of its own. Failures carry Node's codes and words.
 */
export function createMemoryFiles(): FileSystemPort {
  const entries = new Map<string, Entry>(['/', '.'].map((path) => [path, folderEntry(0n)]));
  const watchers = new Set<{ readonly folder: string; readonly onChange: () => void }>();
  let time = 0n;

  function newEntry(kind: Entry['kind'], mode: number, content: Buffer, changedAt: bigint): Entry {
    return { kind, content, room: content, ino: changedAt, mode, changedAt };
  }

  function folderEntry(changedAt: bigint): Entry {
    return newEntry('folder', 0o700, Buffer.alloc(0), changedAt);
  }

  function tick(): bigint {
    time += 1_000_000n;
    return time;
  }

  function changed(path: string): void {
    const folder = dirname(path);
    for (const watcher of [...watchers]) if (watcher.folder === folder) setImmediate(watcher.onChange);
  }

  function present(path: string, call: string): Entry {
    const entry = entries.get(path);
    if (entry !== undefined) return entry;
    throw failure(isBelowFile(path) ? 'ENOTDIR' : 'ENOENT', call, path);
  }

  /** Tells whether the nearest existing ancestor is a file. */
  function isBelowFile(path: string): boolean {
    let above = dirname(path);
    while (!entries.has(above)) above = dirname(above);
    return entries.get(above)?.kind === 'file';
  }

  function parentFolder(path: string, call: string): void {
    if (present(dirname(path), call).kind !== 'folder') throw failure('ENOTDIR', call, path);
  }

  function file(path: string, call: string): Entry {
    const entry = present(path, call);
    if (entry.kind === 'folder') throw failure('EISDIR', call, path);
    return entry;
  }

  function write(path: string, entry: Entry, content: Buffer, room = content): void {
    entry.content = content;
    entry.room = room;
    entry.changedAt = tick();
    changed(path);
  }

  /** Appends in place while there is room, so that a growing file does not allocate each time. */
  function append(path: string, entry: Entry, more: Buffer): void {
    const { content } = entry;
    const size = content.length + more.length;
    const room = size <= entry.room.length ? entry.room : Buffer.concat([content], 2 * size);
    more.copy(room, content.length);
    write(path, entry, room.subarray(0, size), room);
  }

  function create(path: string, content: Buffer, mode: number): Entry {
    if (entries.has(path)) throw failure('EEXIST', 'open', path);
    parentFolder(path, 'open');
    const entry = newEntry('file', mode, Buffer.from(content), tick());
    entries.set(path, entry);
    changed(path);
    return entry;
  }

  function makeFolder(path: string): void {
    const entry = entries.get(path);
    if (entry?.kind === 'folder') return;
    if (entry !== undefined) throw failure('EEXIST', 'mkdir', path);
    makeFolder(dirname(path));
    entries.set(path, folderEntry(tick()));
    changed(path);
  }

  async function stat(path: string): Promise<FileStat> {
    const entry = present(path, 'stat');
    const links = [...entries.values()].filter((one) => one === entry).length;
    return statOf(entry, links);
  }

  return {
    async read(path, limit) {
      const { content } = file(path, 'read');
      if (content.length > limit) throw tooLarge(path, limit);
      return Buffer.from(content);
    },
    async open(path) {
      const { content } = file(path, 'open');
      return {
        size: content.length,
        stat: await stat(path),
        read: async (target, at) => content.subarray(at).copy(target),
        close: async () => undefined,
      };
    },
    matches: async (path, content) => file(path, 'read').content.equals(content),
    stat,
    user: async () => OWNER.uid,
    realPath: async (path) => {
      present(path, 'realpath');
      return path;
    },
    create: async (path, content, mode) => void create(path, content, mode),
    async createSynced(path, content, { mode }, meanwhile) {
      const made = create(path, content, mode);
      await meanwhile();
      return statOf(made, 1);
    },
    async overwrite(path, content) {
      write(path, file(path, 'open'), Buffer.from(content));
      return stat(path);
    },
    append: async (path, content) => append(path, file(path, 'open'), content),
    sync: async (path) => void present(path, 'open'),
    async syncFolder(path, after) {
      await after;
      present(path, 'open');
    },
    async rename(from, to) {
      parentFolder(to, 'rename');
      const entry = present(from, 'rename');
      if (entries.get(to)?.kind === 'folder') throw failure('EISDIR', 'rename', to);
      if (entry.kind === 'folder') throw failure('EPERM', 'rename', from);
      entries.delete(from);
      entries.set(to, entry);
      changed(from);
      changed(to);
    },
    async hardLink(path, name) {
      if (entries.has(name)) throw failure('EEXIST', 'link', name);
      parentFolder(name, 'link');
      entries.set(name, file(path, 'link'));
      changed(name);
    },
    async remove(path) {
      file(path, 'unlink');
      entries.delete(path);
      changed(path);
    },
    setOwner: async (path) => void present(path, 'chown'),
    makeFolder: async (path) => makeFolder(path),
    async list(path) {
      if (present(path, 'scandir').kind !== 'folder') throw failure('ENOTDIR', 'scandir', path);
      return [...entries.keys()]
        .filter((each) => each !== path && dirname(each) === path)
        .map((each) => basename(each));
    },
    checkWritable: async (path) => void present(path, 'access'),
    watch(folder, onChange) {
      const watcher = { folder, onChange };
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

const OWNER = { uid: 0, gid: 0 };

function statOf({ kind, content, ino, mode, changedAt }: Entry, links: number): FileStat {
  const size = BigInt(content.length);
  return { dev: 1n, ino, links, size, mtimeNs: changedAt, ctimeNs: changedAt, mode, ...OWNER, kind };
}

function failure(code: string, syscall: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${WORDS[code] ?? code}, ${syscall} '${path}'`), { code, syscall, path });
}

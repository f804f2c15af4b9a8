import { basename, dirname, join, resolve } from 'node:path';
import type { FileStat, FileSystemPort } from '../../src/core/ports.js';
import { tooLarge } from '../../src/platform/failure-words.js';

/**
 * A file system in memory that, at a crash, forgets what was not synced: a file's content and the entries of a folder
 * apart from one another. What becomes of each unsynced thing is chosen by the source that `crash` is given.
 */
export interface ForgetfulFileSystem {
  /** The port as a process sees it. After `crash` (or `kill`) every call through it rejects and does nothing. */
  readonly port: FileSystemPort;
  /** The power goes: unsynced things are kept, lost or torn by `choose`, which gives a whole number below its argument. */
  crash(choose: (below: number) => number): void;
  /** The process goes, the system stays: nothing is forgotten. A new `port` is there at once. */
  kill(): void;
  /** Lets the next matching calls fail with this code; `times` of them, by default all until `heal`. */
  fail(call: CallName, code: string, matches?: (path: string) => boolean, times?: number): void;
  heal(): void;
  /** Calls `hook` before every call that changes or syncs something; it may crash or edit. */
  before(hook: ((call: CallName, path: string) => void) | null): void;
  /** Another program: writes at once, synced or not, without hooks and failures. */
  write(path: string, text: string, options?: { readonly synced?: boolean; readonly mode?: number }): void;
  /** Another program: writes a new file and renames it over the path, synced. */
  replace(path: string, text: string): void;
  link(path: string, target: string): void;
  unlink(path: string): void;
  readText(path: string): string | null;
  names(path: string): readonly string[];
  setOwner(path: string, uid: number, gid: number): void;
  /** Makes the file a device of its own: a single-file mount. Renames over it answer EBUSY. */
  mount(path: string): void;
  /** Takes the name of a mounted file where it is mounted from, or gives it back: `mount` again. */
  takeFromUnder(path: string): void;
  isLink(path: string): boolean;
}

export type CallName = Exclude<keyof FileSystemPort, 'watch' | 'createSynced'>;

/** `createSynced` in the steps that it consists of: each may fail, and be what a crash falls on. */
export function createSyncedBy(
  steps: Pick<FileSystemPort, 'create' | 'stat' | 'setOwner' | 'sync'>,
): FileSystemPort['createSynced'] {
  return async (path, content, { mode, owner }, meanwhile) => {
    await steps.create(path, content, mode);
    const made = await steps.stat(path);
    const isGiven = owner !== undefined && (made.uid !== owner.uid || made.gid !== owner.gid);
    if (isGiven) await steps.setOwner(path, owner.uid, owner.gid);
    await Promise.all([steps.sync(path), meanwhile()]);
    return made;
  };
}

interface Meta {
  mode: number;
  uid: number;
  gid: number;
}

interface FileState extends Meta {
  readonly content: Buffer;
}

interface FileNode {
  readonly kind: 'file';
  readonly ino: bigint;
  state: FileState;
  /** Every state since the last sync, that one first. */
  unsynced: FileState[];
  mtimeNs: bigint;
  ctimeNs: bigint;
  mounted: boolean;
  /** It has no name where it is mounted from. */
  taken?: boolean;
}

interface FolderNode {
  readonly kind: 'folder';
  readonly ino: bigint;
  readonly meta: Meta;
  entries: Map<string, Node>;
  durable: Map<string, Node>;
  /** What happened to the entries since the last sync, each of it a whole that comes or does not come to the disk. */
  changes: ((entries: Map<string, Node>) => void)[];
  mtimeNs: bigint;
}

interface LinkNode {
  readonly kind: 'link';
  readonly target: string;
}

type Node = FileNode | FolderNode | LinkNode;

const OUR_UID = 1000;

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

export function createForgetfulFileSystem(): ForgetfulFileSystem {
  let time = 1_000_000_000_000n;
  let nextIno = 1n;
  let generation = 0;
  let hook: ((call: CallName, path: string) => void) | null = null;
  let failures: { call: CallName; code: string; matches: (path: string) => boolean; times: number }[] = [];
  const root = newFolder(0o755);
  let port = portOf(generation);

  function tick(): bigint {
    // Far apart, so that no two changes ever seem to share a tick of the clock.
    time += 1_000_000_000n;
    return time;
  }

  function newFolder(mode: number): FolderNode {
    const meta = { mode, uid: OUR_UID, gid: OUR_UID };
    return { kind: 'folder', ino: nextIno++, meta, entries: new Map(), durable: new Map(), changes: [], mtimeNs: time };
  }

  function newFile(state: FileState): FileNode {
    const now = tick();
    const unsynced = [{ ...state, content: Buffer.alloc(0) }, state];
    return { kind: 'file', ino: nextIno++, state, unsynced, mtimeNs: now, ctimeNs: now, mounted: false };
  }

  /** The path with links resolved, whose last part need not exist. */
  function locate(path: string, hops = 0): { folder: FolderNode; name: string; node: Node | null; path: string } {
    if (hops > 20) throw failure('ELOOP', path);
    const parts = resolve(path).split('/').filter(Boolean);
    let found: { folder: FolderNode; name: string; node: Node | null } = { folder: root, name: '', node: root };
    for (const [index, name] of parts.entries()) {
      const { node: folder } = found;
      if (folder === null) throw failure('ENOENT', path);
      if (folder.kind !== 'folder') throw failure('ENOTDIR', path);
      const node = folder.entries.get(name) ?? null;
      if (node?.kind === 'link') {
        const target = resolve('/', ...parts.slice(0, index), node.target);
        return locate(join(target, ...parts.slice(index + 1)), hops + 1);
      }
      found = { folder, name, node };
    }
    return { ...found, path: `/${parts.join('/')}` };
  }

  /** The entry itself, a link not followed. */
  function entryAt(path: string): { folder: FolderNode; name: string; node: Node | null } {
    const parent = locate(dirname(resolve(path)));
    if (parent.node === null) throw failure('ENOENT', path);
    if (parent.node.kind !== 'folder') throw failure('ENOTDIR', path);
    const name = basename(path);
    return { folder: parent.node, name, node: parent.node.entries.get(name) ?? null };
  }

  function fileAt(path: string): FileNode {
    const { node } = locate(path);
    if (node === null) throw failure('ENOENT', path);
    if (node.kind !== 'file') throw failure('EISDIR', path);
    return node;
  }

  function folderAt(path: string): FolderNode {
    const { node } = locate(path);
    if (node === null) throw failure('ENOENT', path);
    if (node.kind !== 'folder') throw failure('ENOTDIR', path);
    return node;
  }

  function change(folder: FolderNode, apply: (entries: Map<string, Node>) => void): void {
    apply(folder.entries);
    folder.changes.push(apply);
    folder.mtimeNs = tick();
  }

  function setState(file: FileNode, state: FileState): void {
    if (!state.content.equals(file.state.content)) file.mtimeNs = tick();
    file.ctimeNs = tick();
    file.state = state;
    file.unsynced.push(state);
  }

  function syncFile(file: FileNode): void {
    file.unsynced = [file.state];
  }

  function syncEntries(folder: FolderNode): void {
    folder.durable = new Map(folder.entries);
    folder.changes = [];
  }

  function namesOf(node: Node, folder: FolderNode): number {
    return [...folder.entries.values()].reduce(
      (sum, one) => sum + (one === node ? 1 : 0) + (one.kind === 'folder' ? namesOf(node, one) : 0),
      0,
    );
  }

  function statOf(node: Node, path: string): FileStat {
    if (node.kind === 'link') throw failure('ENOENT', path);
    const meta = node.kind === 'file' ? node.state : node.meta;
    return {
      dev: node.kind === 'file' && node.mounted ? 2n : 1n,
      ino: node.ino,
      links: node.kind === 'file' && node.taken ? 0 : namesOf(node, root),
      size: node.kind === 'file' ? BigInt(node.state.content.length) : 0n,
      mtimeNs: node.mtimeNs,
      ctimeNs: node.kind === 'file' ? node.ctimeNs : node.mtimeNs,
      mode: meta.mode,
      uid: meta.uid,
      gid: meta.gid,
      kind: node.kind,
    };
  }

  function portOf(own: number): FileSystemPort {
    async function call<T>(name: CallName, path: string, work: () => T): Promise<T> {
      await Promise.resolve();
      const changes = !['read', 'open', 'stat', 'realPath', 'list', 'checkWritable'].includes(name);
      if (changes && own === generation) hook?.(name, path);
      if (own !== generation) throw failure('EGONE', path);
      const index = failures.findIndex((entry) => entry.call === name && entry.times > 0 && entry.matches(path));
      const planned = failures[index];
      if (planned) {
        planned.times -= 1;
        throw failure(planned.code, path);
      }
      return work();
    }

    const steps: Omit<FileSystemPort, 'createSynced'> = {
      read: (path, limit) =>
        call('read', path, () => {
          const { content } = fileAt(path).state;
          if (content.length > limit) throw tooLarge(path, limit);
          return Buffer.from(content);
        }),
      open: (path) =>
        call('open', path, () => {
          const file = fileAt(path);
          return {
            size: file.state.content.length,
            stat: statOf(file, path),
            read: (target, at) => call('read', path, () => file.state.content.subarray(at).copy(target)),
            close: async () => undefined,
          };
        }),
      matches: (path, content) => call('read', path, () => content.equals(fileAt(path).state.content)),
      stat: (path) =>
        call('stat', path, () => {
          const { node } = locate(path);
          if (node === null) throw failure('ENOENT', path);
          return statOf(node, path);
        }),
      user: async () => OUR_UID,
      realPath: (path) =>
        call('realPath', path, () => {
          const found = locate(path);
          if (found.node === null) throw failure('ENOENT', path);
          return found.path;
        }),
      create: (path, content, mode) =>
        call('create', path, () => {
          const { folder, name, node } = entryAt(path);
          if (node !== null) throw failure('EEXIST', path);
          const file = newFile({ content: Buffer.from(content), mode, uid: OUR_UID, gid: OUR_UID });
          change(folder, (entries) => entries.set(name, file));
        }),
      overwrite: (path, content) =>
        call('overwrite', path, () => {
          const file = fileAt(path);
          setState(file, { ...file.state, content: Buffer.alloc(0) });
          setState(file, { ...file.state, content: Buffer.from(content) });
          return statOf(file, path);
        }),
      append: (path, content) =>
        call('append', path, () => {
          const file = fileAt(path);
          setState(file, { ...file.state, content: Buffer.concat([file.state.content, content]) });
        }),
      sync: (path) => call('sync', path, () => syncFile(fileAt(path))),
      syncFolder: async (path, after) => {
        await after;
        await call('syncFolder', path, () => syncEntries(folderAt(path)));
      },
      rename: (from, to) =>
        call('rename', to, () => {
          const source = entryAt(from);
          const target = entryAt(to);
          const { node } = source;
          if (node === null) throw failure('ENOENT', from);
          if (source.folder !== target.folder) throw failure('EXDEV', to);
          if (target.node?.kind === 'file' && target.node.mounted) throw failure('EBUSY', to);
          if (target.node?.kind === 'folder') throw failure('EISDIR', to);
          if (node.kind === 'file') node.ctimeNs = tick();
          change(source.folder, (entries) => {
            entries.delete(source.name);
            entries.set(target.name, node);
          });
        }),
      hardLink: (path, name) =>
        call('hardLink', name, () => {
          const file = fileAt(path);
          const to = entryAt(name);
          if (to.node !== null) throw failure('EEXIST', name);
          file.ctimeNs = tick();
          change(to.folder, (entries) => entries.set(to.name, file));
        }),
      remove: (path) =>
        call('remove', path, () => {
          const { folder, name, node } = entryAt(path);
          if (node === null) throw failure('ENOENT', path);
          if (node.kind === 'folder') throw failure('EISDIR', path);
          change(folder, (entries) => entries.delete(name));
        }),
      setOwner: (path, uid, gid) =>
        call('setOwner', path, () => {
          const file = fileAt(path);
          setState(file, { ...file.state, uid, gid });
        }),
      makeFolder: (path, mode) => call('makeFolder', path, () => makeFolders(path, mode)),
      list: (path) => call('list', path, () => [...folderAt(path).entries.keys()]),
      checkWritable: (path) => call('checkWritable', path, () => void fileAt(path)),
      watch: () => () => undefined,
    };
    return { ...steps, createSynced: createSyncedBy(steps) };
  }

  function makeFolders(path: string, mode: number): void {
    const { node } = resolve(path) === '/' ? { node: root } : entryAtMaking(path, mode);
    if (node !== null && node.kind === 'file') throw failure('ENOTDIR', path);
  }

  function entryAtMaking(path: string, mode: number): { node: Node | null } {
    makeFolders(dirname(resolve(path)), mode);
    const { node } = locate(path);
    if (node !== null) return { node };
    const made = newFolder(mode);
    change(folderAt(dirname(resolve(path))), (entries) => entries.set(basename(path), made));
    return { node: made };
  }

  function lose(folder: FolderNode, choose: (below: number) => number, seen: Set<Node>): void {
    if (seen.has(folder)) return;
    seen.add(folder);
    const entries = new Map(folder.durable);
    for (const apply of folder.changes) if (choose(2) === 1) apply(entries);
    folder.entries = entries;
    syncEntries(folder);
    for (const node of entries.values()) {
      if (node.kind === 'folder') lose(node, choose, seen);
      else if (node.kind === 'file' && !seen.has(node)) {
        seen.add(node);
        node.state = survivor(node.unsynced, choose);
        syncFile(node);
      }
    }
  }

  return {
    get port() {
      return port;
    },
    crash: (choose) => {
      lose(root, choose, new Set());
      generation += 1;
      port = portOf(generation);
    },
    kill: () => {
      generation += 1;
      port = portOf(generation);
    },
    fail: (call, code, matches = () => true, times = Number.POSITIVE_INFINITY) => {
      failures.push({ call, code, matches, times });
    },
    heal: () => {
      failures = [];
    },
    before: (next) => {
      hook = next;
    },
    write: (path, text, { synced = true, mode = 0o600 } = {}) => {
      makeFolders(dirname(resolve(path)), 0o755);
      const { folder, name, node } = locate(path);
      const content = Buffer.from(text);
      if (node?.kind === 'folder') throw failure('EISDIR', path);
      const file = node?.kind === 'file' ? node : newFile({ content, mode, uid: OUR_UID, gid: OUR_UID });
      if (node === null) change(folder, (entries) => entries.set(name, file));
      else setState(file, { ...file.state, content });
      if (!synced) return;
      syncFile(file);
      syncUp(path);
    },
    replace: (path, text) => {
      const { folder, name, node } = locate(path);
      const meta = node?.kind === 'file' ? node.state : { mode: 0o600, uid: OUR_UID, gid: OUR_UID };
      const file = newFile({ ...meta, content: Buffer.from(text) });
      syncFile(file);
      change(folder, (entries) => entries.set(name, file));
      syncUp(path);
    },
    link: (path, target) => {
      const { folder, name } = entryAt(path);
      change(folder, (entries) => entries.set(name, { kind: 'link', target }));
      syncEntries(folder);
    },
    unlink: (path) => {
      const { folder, name } = entryAt(path);
      change(folder, (entries) => entries.delete(name));
      syncEntries(folder);
    },
    readText: (path) => {
      try {
        return fileAt(path).state.content.toString();
      } catch {
        return null;
      }
    },
    names: (path) => [...folderAt(path).entries.keys()],
    setOwner: (path, uid, gid) => {
      const file = fileAt(path);
      setState(file, { ...file.state, uid, gid });
      syncFile(file);
    },
    mount: (path) => {
      Object.assign(fileAt(path), { mounted: true, taken: false, ctimeNs: tick() });
    },
    takeFromUnder: (path) => {
      Object.assign(fileAt(path), { taken: true, ctimeNs: tick() });
    },
    isLink: (path) => entryAt(path).node?.kind === 'link',
  };

  /** The folder of the file (where it really is), and all above. */
  function syncUp(path: string): void {
    for (let at = dirname(locate(path).path); ; at = dirname(at)) {
      syncEntries(folderAt(at));
      if (at === '/') return;
    }
  }
}

/** One of the states since the last sync; the new content whole, cut short, or with zeros where it should end. */
function survivor(states: readonly FileState[], choose: (below: number) => number): FileState {
  const last = states.at(-1);
  if (last === undefined) throw new Error('a file has a state');
  if (states.length === 1) return last;
  const state = states[choose(states.length)] ?? last;
  if (state === states[0]) return state;
  const { content } = state;
  const kept = syncedPrefix(states.slice(0, states.indexOf(state) + 1));
  const length = kept + choose(content.length - kept + 1);
  switch (choose(3)) {
    case 0:
      return state;
    case 1:
      return { ...state, content: content.subarray(0, length) };
    default:
      return { ...state, content: Buffer.concat([content.subarray(0, length), Buffer.alloc(content.length - length)]) };
  }
}

/** Bytes that were synced and have only been added to since: no crash takes them. */
function syncedPrefix([first, ...later]: readonly FileState[]): number {
  const synced = first?.content ?? Buffer.alloc(0);
  const onlyAdded = later.every(({ content }) => content.subarray(0, synced.length).equals(synced));
  return onlyAdded ? synced.length : 0;
}

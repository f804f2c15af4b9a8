import { type BigIntStats, watch as watchFolder } from 'node:fs';
import {
  access,
  constants,
  type FileHandle,
  lchown,
  link,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  stat,
  unlink,
} from 'node:fs/promises';
import { platform, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { FileRights, FileStat, FileSystemPort, NewOwner, OpenFile } from '../core/ports.js';
import { createFailure, failureCode, noRegularFile, tooLarge } from './failure-words.js';

/** Some network file systems cannot sync a folder and report one of these; nothing more can be done there. */
const FOLDER_SYNC_UNSUPPORTED = new Set(['EINVAL', 'ENOTSUP', 'ENOSYS']);

/** Without O_NONBLOCK, opening a pipe would wait for its writer, and opening some devices for a carrier. */
const READING = constants.O_RDONLY | constants.O_NONBLOCK;

/** Appends to a file that must exist. */
const APPENDING = constants.O_WRONLY | constants.O_APPEND;

/** Creates the machine's own file system. Every call rejects with Node's `ErrnoException`. */
export function createFileSystem(): FileSystemPort {
  return {
    read: (path, limit) => withRegularFile(path, (file, size) => readWhole(file, { path, size, limit })),
    open: openForPieces,
    matches: (path, content) =>
      withRegularFile(path, async (file, size) => size === content.length && holds(file, content)),
    stat: statOf,
    user: ownUser,
    realPath: (path) => realpath(path),
    create: (path, content, mode, owner = 'process') =>
      inFolderOf(path, owner, (place, given) =>
        withFile(place, 'wx', async (file) => {
          await writeWhole(file, content);
          if (given !== null) await file.chown(given.uid, given.gid);
          await file.chmod(mode);
        }),
      ),
    createSynced: (path, content, rights, meanwhile) =>
      withSynced(path, 'wx', async (file) => {
        const made = await writeWithRights(file, content, rights);
        await Promise.all([file.sync(), meanwhile()]);
        return made;
      }),
    overwrite: (path, content) =>
      withFile(path, 'r+', async (file) => {
        await file.truncate(0);
        await writeWhole(file, content);
        return statFrom(await file.stat({ bigint: true }));
      }),
    append: (path, content) => withFile(path, APPENDING, (file) => appendWhole(file, content)),
    sync: (path) => withFile(path, READING, (file) => file.sync()),
    syncFolder,
    rename: (from, to) => rename(from, to),
    hardLink: (path, name) => link(path, name),
    remove: (path) => unlink(path),
    setOwner: (path, uid, gid) => lchown(path, uid, gid),
    makeFolder,
    list: (path) => readdir(path),
    checkWritable: (path) => access(path, constants.W_OK),
    watch: watchChanges,
  };
}

type Owner = Pick<FileStat, 'uid' | 'gid'>;

const ROOT = 0;
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY;

/**
 * Lets `make` create the last part of a path in the very folder that was opened, so that no other folder can take its
 * place meanwhile. `given` is the future owner; null leaves this process as the owner.
 */
async function inFolderOf<T>(
  path: string,
  owner: NewOwner,
  make: (place: string, given: Owner | null) => Promise<T>,
): Promise<T> {
  if (owner === 'process' || !(await isRoot())) return make(path, null);
  return withFile(dirname(path), FOLDER, async (folder) => {
    const { uid, gid } = await folder.stat();
    const given = owner === 'folder' ? { uid, gid } : owner;
    const isOthers = given.uid !== ROOT && (uid === ROOT || uid === given.uid);
    return make(join(`/proc/self/fd/${folder.fd}`, basename(path)), isOthers ? given : null);
  });
}

/** Tells whether this process can change a file's owner, on a system that has `/proc`. */
async function isRoot(): Promise<boolean> {
  return platform() === 'linux' && (await ownUser()) === ROOT;
}

/** Returns this process's user. Linux knows every user; other systems only those with a name. */
async function ownUser(): Promise<number | null> {
  try {
    return (await statOf('/proc/self').catch(() => userInfo())).uid;
  } catch {
    return null;
  }
}

/**
 * Makes a folder and its parents. Node's own way never ends in a folder that takes none (`/proc`), which also answers
 * ENOENT.
 */
async function makeFolder(path: string, mode: number, owner: NewOwner = 'process'): Promise<void> {
  const refused = await refusalOf(path, mode, owner);
  if (refused === null) return;
  const parent = dirname(path);
  if (failureCode(refused) !== 'ENOENT' || parent === path) throw refused;
  if (!(await isFolder(parent))) await makeFolder(parent, mode, owner);
  // Tried again even if the parent exists, because another call may have made it since the first try.
  const refusedAgain = await refusalOf(path, mode, owner);
  if (refusedAgain !== null) throw refusedAgain;
}

/** Returns why this one folder cannot be made; null if it exists. */
async function refusalOf(path: string, mode: number, owner: NewOwner): Promise<unknown> {
  try {
    await inFolderOf(path, owner, async (place, given) => {
      await mkdir(place, { mode });
      if (given === null) return;
      await withFile(place, FOLDER | constants.O_NOFOLLOW, (made) => made.chown(given.uid, given.gid));
    });
    return null;
  } catch (error) {
    return failureCode(error) === 'EEXIST' && (await isFolder(path)) ? null : error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** A new file is readable by its owner alone until its content is in and its real mode is set. */
const OWNER_ONLY = 0o600;

/** Writes a file. Rights that the file already has cost no call. */
async function writeWithRights(file: FileHandle, content: Buffer, { mode, owner }: FileRights): Promise<FileStat> {
  await writeWhole(file, content);
  const made = statFrom(await file.stat({ bigint: true }));
  const isGiven = owner !== undefined && (made.uid !== owner.uid || made.gid !== owner.gid);
  if (isGiven) await file.chown(owner.uid, owner.gid);
  // Changing the owner clears bits of the mode.
  if (isGiven || made.mode !== mode) await file.chmod(mode);
  return made;
}

/** Bytes compared at a time: enough for speed, few enough not to hold a large file in memory twice. */
const COMPARED_AT_ONCE = 512 * 1024;

/** Tells whether the file, which has as many bytes as the content, holds it. */
async function holds(file: FileHandle, content: Buffer): Promise<boolean> {
  const found = spareSlice ?? Buffer.allocUnsafeSlow(COMPARED_AT_ONCE);
  spareSlice = null;
  try {
    return await holdsBySlices(file, content, found);
  } finally {
    spareSlice = found;
  }
}

/** Kept from one comparison to the next, because every write has one. */
let spareSlice: Buffer | null = null;

async function holdsBySlices(file: FileHandle, content: Buffer, found: Buffer): Promise<boolean> {
  for (let at = 0; at < content.length; ) {
    const { bytesRead } = await file.read(found, 0, found.length, at);
    if (bytesRead === 0) return false;
    const expected = content.subarray(at, at + bytesRead);
    if (!expected.equals(found.subarray(0, bytesRead))) return false;
    at += bytesRead;
  }
  return true;
}

async function withFile<T>(path: string, flags: string | number, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags, OWNER_ONLY);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Does the same for what is durable when `use` has resolved: closing it, which nobody waits for, can lose nothing. */
async function withSynced<T>(path: string, flags: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags, OWNER_ONLY);
  try {
    return await use(file);
  } finally {
    file.close().catch(() => undefined);
  }
}

interface Regular {
  readonly file: FileHandle;
  readonly stat: FileStat;
  readonly size: number;
}

/** Opens a regular file. It checks the open file, not the path, so that nothing can take its place in between. */
async function openRegular(path: string): Promise<Regular> {
  const file = await open(path, READING).catch((error: unknown) => {
    // A socket, or a device that does not exist.
    throw failureCode(error) === 'ENXIO' ? noRegularFile(path) : error;
  });
  try {
    const found = statFrom(await file.stat({ bigint: true }));
    if (found.kind === 'folder') throw createFailure('EISDIR', `${path} is a folder`);
    if (found.kind !== 'file') throw noRegularFile(path);
    return { file, stat: found, size: Number(found.size) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function withRegularFile<T>(path: string, use: (file: FileHandle, size: number) => Promise<T>): Promise<T> {
  const { file, size } = await openRegular(path);
  try {
    return await use(file, size);
  } finally {
    await file.close();
  }
}

async function openForPieces(path: string): Promise<OpenFile> {
  const { file, stat: found, size } = await openRegular(path);
  return {
    size,
    stat: found,
    read: async (target, at) => (await file.read(target, 0, target.length, at)).bytesRead,
    close: () => file.close(),
  };
}

/**
 * Reads the whole size at once, which at 10 MB is three times as fast as `readFile` with its pieces of 512 KiB. The
 * size is only a first guess: files of `/proc` report 0, and a file may grow meanwhile.
 */
async function readWhole(
  file: FileHandle,
  { path, size, limit }: { readonly path: string; readonly size: number; readonly limit: number },
): Promise<Buffer> {
  if (size > limit) throw tooLarge(path, limit);
  let content = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(content, length, content.length - length, length);
    if (bytesRead === 0) return content.subarray(0, length);
    length += bytesRead;
    if (length > limit) throw tooLarge(path, limit);
    if (length === content.length) content = Buffer.concat([content], Math.min(content.length * 2, limit + 1));
  }
}

async function writeWhole(file: FileHandle, content: Buffer): Promise<void> {
  let written = 0;
  while (written < content.length) {
    const { bytesWritten } = await file.write(content, written, content.length - written, written);
    written += bytesWritten;
  }
}

async function appendWhole(file: FileHandle, content: Buffer): Promise<void> {
  let written = 0;
  while (written < content.length) {
    const { bytesWritten } = await file.write(content, written, content.length - written, null);
    written += bytesWritten;
  }
}

async function statOf(path: string): Promise<FileStat> {
  return statFrom(await stat(path, { bigint: true }));
}

function statFrom(found: BigIntStats): FileStat {
  return {
    dev: found.dev,
    ino: found.ino,
    links: Number(found.nlink),
    size: found.size,
    mtimeNs: found.mtimeNs,
    ctimeNs: found.ctimeNs,
    mode: Number(found.mode & 0o7777n),
    uid: Number(found.uid),
    gid: Number(found.gid),
    kind: found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other',
  };
}

async function syncFolder(path: string, after?: Promise<unknown>): Promise<void> {
  await withSynced(path, 'r', async (folder) => {
    await after;
    try {
      await folder.sync();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && FOLDER_SYNC_UNSUPPORTED.has(String(error.code)))) throw error;
    }
  });
}

function watchChanges(folder: string, onChange: () => void): () => void {
  try {
    const watcher = watchFolder(folder, { persistent: false }, onChange);
    // If the folder disappears or a kernel limit ends the watching, polling still notices everything.
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => undefined;
  }
}

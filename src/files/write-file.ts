import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileRights, FileStat, FileSystemPort } from '../core/ports.js';
import { createFailure, failureCode, tooLarge } from '../platform/failure-words.js';
import { exists } from '../platform/presence.js';

/** A file as it was found: what a replacement of it starts from and is checked against. */
export interface TargetFile {
  /** The path as it is configured, possibly a symbolic link. */
  readonly path: string;
  /** The file's real path; a replacement goes there, so that links stay. */
  readonly realPath: string;
  readonly bytes: Buffer;
  readonly stat: FileStat;
  /** The bytes were not read for this, but are what was known of a file with this stat. */
  readonly isAssumed?: boolean;
}

/** The file was changed by somebody else between reading and replacing it. Nothing was written; read it again. */
export class TargetChangedError extends Error {
  constructor(path: string) {
    super(`${path} was changed by another program while it was being written`);
    this.name = 'TargetChangedError';
  }
}

/** Two modifications no further apart than this may carry the same time stamp: FAT counts in 2 s, others in 1 s or in ticks. */
export const TICK_MS = 2_000;
const READ_ATTEMPTS = 10;
const WRITE_ATTEMPTS = 20;
const NEW_FILE_MODE = 0o600;

/** True when two looks at a path saw the same file, unmodified. */
export function sameFile(a: FileStat, b: FileStat): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}

/**
 * Reads the file at `path`, through links, together with a stat that belongs to exactly these bytes. Where it holds what
 * is `expected`, those very bytes are returned: a second copy of a large file per write is what would make writes slow.
 * Rejects with the file system's error, also for a file that is larger than a configuration may be.
 */
export async function readTarget(fileSystem: FileSystemPort, path: string, expected?: Buffer): Promise<TargetFile> {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    const realPath = await fileSystem.realPath(path);
    const before = await fileSystem.stat(realPath);
    const isExpected = expected !== undefined && (await fileSystem.matches(realPath, expected));
    const bytes = isExpected ? expected : await fileSystem.read(realPath, FILE_LIMITS.configuration);
    const after = await fileSystem.stat(realPath);
    if (sameFile(before, after)) return { path, realPath, bytes, stat: after };
  }
  throw alwaysChanging(path);
}

/** Makes an attempt that replaces the file again until nobody has changed the file meanwhile. */
export async function undisturbed<T>(path: string, attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 0; attempts < WRITE_ATTEMPTS; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof TargetChangedError)) throw error;
    }
  }
  throw alwaysChanging(path);
}

function alwaysChanging(path: string): Error {
  return createFailure('EAGAIN', `${path} is being written by another program all the time`);
}

/** Throws for a content that could be written and never be read again. */
export function checkReadable(path: string, content: Buffer): void {
  if (content.length > FILE_LIMITS.configuration) throw tooLarge(path, FILE_LIMITS.configuration);
}

/** True when every later change of the content shows in the stat: it comes with a time after the one of the last content. */
export function showsChanges({ mtimeNs, ctimeNs }: FileStat): boolean {
  return ctimeNs > mtimeNs;
}

/** Rejects with `TargetChangedError` unless the file still is the one that was read, or holds what was assumed. */
export async function checkUnchanged(fileSystem: FileSystemPort, target: TargetFile, nowNs: bigint): Promise<void> {
  const { path, bytes, stat, isAssumed = false } = target;
  const couldHide = isAssumed ? !showsChanges(stat) : nowNs - stat.mtimeNs <= BigInt(TICK_MS) * 1_000_000n;
  try {
    const isSame = !couldHide || (await fileSystem.matches(path, bytes));
    // A network file system asks its server for the stat of a file that is opened, and may remember it otherwise.
    if (isAssumed && !couldHide) await (await fileSystem.open(path)).close();
    // Two paths to one file are none here: a file with further names is not taken.
    if (isSame && sameFile(await fileSystem.stat(path), stat)) return;
  } catch (error) {
    if (failureCode(error) !== 'ENOENT') throw error;
  }
  throw new TargetChangedError(target.path);
}

/**
 * Replaces the file atomically and durably: a temporary file beside it with the same mode and owner, synced, renamed
 * over it, the folder synced. Either all of it has happened when this resolves, or it rejects; after a rejection the file
 * holds the old or the new content whole. Returns the new stat, or null when the file has already been changed again.
 */
export async function replaceTarget(
  fileSystem: FileSystemPort,
  target: TargetFile,
  content: Buffer,
): Promise<FileStat | null> {
  checkReadable(target.realPath, content);
  const { realPath, stat } = target;
  const displaced = temporaryPath(realPath);
  const rights = { mode: stat.mode, owner: stat };
  const letGo = () => fileSystem.remove(displaced).catch(() => undefined);
  try {
    const prepare = async ({ mtimeNs }: FileStat): Promise<void> => {
      await checkUnchanged(fileSystem, target, mtimeNs);
      // A file system without hard links is not protected against what `putBackWritten` looks for.
      await fileSystem.hardLink(realPath, displaced).catch(() => undefined);
    };
    const written = await throughTemporary(fileSystem, { realPath, content, rights }, prepare);
    await putBackWritten(fileSystem, target, displaced);
    const [present] = await Promise.all([syncName(fileSystem, realPath, written), letGo()]);
    return present;
  } catch (error) {
    await letGo();
    throw error;
  }
}

/**
 * A program that truncates the file and writes into it, as servers do, may have begun between the last look and the
 * replacing, and would write into a file that nobody sees: that file gets its place back. Rejects with `TargetChangedError`.
 */
async function putBackWritten(fileSystem: FileSystemPort, target: TargetFile, displaced: string): Promise<void> {
  const { size, mtimeNs } = target.stat;
  const present = await fileSystem.stat(displaced).catch(() => null);
  if (present === null || (present.size === size && present.mtimeNs === mtimeNs)) return;
  await fileSystem.rename(displaced, target.realPath);
  throw new TargetChangedError(target.path);
}

/** Creates the file durably where there is none, readable by its owner alone. A dangling link is an error and stays. */
export async function createTarget(
  fileSystem: FileSystemPort,
  path: string,
  content: Buffer,
): Promise<FileStat | null> {
  checkReadable(path, content);
  const file = { realPath: path, content, rights: { mode: NEW_FILE_MODE } };
  const written = await throughTemporary(fileSystem, file, async () => {
    if (!(await fileSystem.list(dirname(path))).includes(basename(path))) return;
    if (await exists(fileSystem, path)) throw new TargetChangedError(path);
    throw createFailure('ENOENT', `${path} is a symbolic link to a file that does not exist`);
  });
  return syncName(fileSystem, path, written);
}

/** Removes what a Keyway that was killed has left beside the file. Only call while no other one writes it. */
export async function removeStaleTemporaries(fileSystem: FileSystemPort, realPath: string): Promise<void> {
  const folder = dirname(realPath);
  for (const name of await fileSystem.list(folder)) {
    if (isTemporary(name, basename(realPath))) await fileSystem.remove(join(folder, name));
  }
}

/** The number of the file's names besides its own and those that a Keyway gives it while it replaces it. */
export async function otherNames(fileSystem: FileSystemPort, realPath: string): Promise<number> {
  const { dev, ino, kind, links } = await fileSystem.stat(realPath);
  if (kind !== 'file' || links === 1) return 0;
  const folder = dirname(realPath);
  const ours = (await fileSystem.list(folder)).filter((name) => isTemporary(name, basename(realPath)));
  const stats = await Promise.all(ours.map((name) => fileSystem.stat(join(folder, name)).catch(() => null)));
  const own = stats.filter((stat) => stat?.dev === dev && stat.ino === ino).length;
  return links - 1 - own;
}

/** A new name beside the file, recognisable as ours and hidden from programs that read a whole folder of `*.json`. */
export function temporaryPath(realPath: string): string {
  return join(dirname(realPath), `.${basename(realPath)}.keyway-${randomBytes(6).toString('hex')}.tmp`);
}

function isTemporary(name: string, target: string): boolean {
  const prefix = `.${target}.keyway-`;
  return name.startsWith(prefix) && /^[0-9a-f]{12}\.tmp$/.test(name.slice(prefix.length));
}

interface NewContent {
  readonly realPath: string;
  readonly content: Buffer;
  readonly rights: FileRights;
}

/** Renames the synced content over the file; resolves to the stat that it was written with. */
async function throughTemporary(
  fileSystem: FileSystemPort,
  { realPath, content, rights }: NewContent,
  prepare: (written: FileStat) => Promise<void>,
): Promise<FileStat> {
  const temporary = temporaryPath(realPath);
  return createWhole(fileSystem, { path: realPath, temporary }, async () => {
    const written = await fileSystem.createSynced(temporary, content, rights);
    await prepare(written);
    return written;
  });
}

/** Syncs the name of what was written; resolves to its stat now, null when the file has already been changed again. */
async function syncName(fileSystem: FileSystemPort, realPath: string, written: FileStat): Promise<FileStat | null> {
  const [present] = await Promise.all([fileSystem.stat(realPath), fileSystem.syncFolder(dirname(realPath))]);
  return present.ino === written.ino && present.mtimeNs === written.mtimeNs ? present : null;
}

/**
 * Renames what `write` makes under the temporary name, in the same folder, and syncs: the file comes to its path whole or
 * not at all, and where something fails nothing is left of it. The folder is for the caller to sync.
 */
export async function createWhole<T>(
  fileSystem: FileSystemPort,
  { path, temporary }: { readonly path: string; readonly temporary: string },
  write: () => Promise<T>,
): Promise<T> {
  try {
    const written = await write();
    await fileSystem.rename(temporary, path);
    return written;
  } catch (error) {
    // The error to tell is this one.
    await fileSystem.remove(temporary).catch(() => undefined);
    throw error;
  }
}

import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileRights, FileStat, FileSystemPort } from '../core/ports.js';
import { createFailure, failureCode, tooLarge } from '../platform/failure-words.js';
import { exists } from '../platform/presence.js';

/** A file as it was found, which its replacement starts from and is checked against. */
export interface TargetFile {
  /** The path as it is configured, possibly a symbolic link. */
  readonly path: string;
  /** The file's real path, where a replacement goes, so that links stay. */
  readonly realPath: string;
  readonly bytes: Buffer;
  readonly stat: FileStat;
  /** True if the bytes were not read now, but are known to belong to a file with this stat. */
  readonly isAssumed?: boolean;
}

/** Another program changed the file between reading and replacing it. Nothing was written; read it again. */
export class TargetChangedError extends Error {
  constructor(path: string) {
    super(`${path} was changed by another program while it was being written`);
    this.name = 'TargetChangedError';
  }
}

/** Milliseconds within which changes may have one time stamp: FAT counts in 2 s, others in 1 s or in ticks. */
export const TICK_MS = 2_000;
const READ_ATTEMPTS = 10;
const WRITE_ATTEMPTS = 20;
const NEW_FILE_MODE = 0o600;

/** Tells whether two stats of a path are of the same file, unmodified. */
export function sameFile(a: FileStat, b: FileStat): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}

/**
 * Reads the file at `path`, through links, together with a stat that belongs to exactly these bytes. If it holds what
 * is `expected`, returns those very bytes, because a second copy of a large file for each write would make writes slow.
 * Rejects with the file system's error, also for a file larger than a configuration may be.
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

/** Repeats an attempt to replace the file until no other program changes the file meanwhile. */
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

/** Throws for a content that could be written but never read again. */
export function checkReadable(path: string, content: Buffer): void {
  if (content.length > FILE_LIMITS.configuration) throw tooLarge(path, FILE_LIMITS.configuration);
}

/**
 * Tells whether every later change of the content will show in the stat, because its time will be after that of the
 * last content.
 */
export function showsChanges({ mtimeNs, ctimeNs }: FileStat): boolean {
  return ctimeNs > mtimeNs;
}

/** Rejects with `TargetChangedError` unless the file is still the one that was read, or holds what was assumed. */
export async function checkUnchanged(fileSystem: FileSystemPort, target: TargetFile, nowNs: bigint): Promise<void> {
  const { path, bytes, stat, isAssumed = false } = target;
  const couldHide = isAssumed ? !showsChanges(stat) : nowNs - stat.mtimeNs <= BigInt(TICK_MS) * 1_000_000n;
  try {
    const isSame = !couldHide || (await fileSystem.matches(path, bytes));
    const present = await (isAssumed && !couldHide ? statOfOpened(fileSystem, path) : fileSystem.stat(path));
    // Two paths to one file cannot occur here, because a file with further names is refused.
    if (isSame && sameFile(present, stat)) return;
  } catch (error) {
    if (failureCode(error) !== 'ENOENT') throw error;
  }
  throw new TargetChangedError(target.path);
}

/** Resolves to the stat of a file by opening it: a network file system may have cached that of its path. */
async function statOfOpened(fileSystem: FileSystemPort, path: string): Promise<FileStat> {
  const { stat, close } = await fileSystem.open(path);
  // It was only looked at.
  close().catch(() => undefined);
  return stat;
}

/** Work during a replacement, concurrent with its syncs. */
export interface ReplacementNotes {
  /** Called while the new content is synced. The file is not replaced before this resolves, nor if it rejects. */
  readonly before?: () => Promise<void>;
  /** Called once the file is replaced; the replacement waits for it. Never rejects. */
  readonly after?: () => Promise<void>;
}

/**
 * Replaces the file atomically and durably: writes a temporary file next to it with the same mode and owner, syncs it,
 * renames it over the file, and syncs the folder. Resolves once all of that is done; after a rejection the file holds
 * the old or the new content whole. Returns the new stat, or null if the file has already been changed again.
 */
export async function replaceTarget(
  fileSystem: FileSystemPort,
  target: TargetFile,
  content: Buffer,
  { before, after }: ReplacementNotes = {},
): Promise<FileStat | null> {
  checkReadable(target.realPath, content);
  const { realPath, stat } = target;
  const displaced = temporaryPath(realPath);
  const rights = { mode: stat.mode, owner: stat };
  const removeDisplaced = () => fileSystem.remove(displaced).catch(() => undefined);
  try {
    const prepare = async ({ mtimeNs }: FileStat): Promise<void> => {
      await checkUnchanged(fileSystem, target, mtimeNs);
      // Without hard links, a file system has no protection against what `putBackWritten` looks for.
      await fileSystem.hardLink(realPath, displaced).catch(() => undefined);
    };
    const replacing = throughTemporary(fileSystem, { realPath, content, rights }, prepare, before);
    const syncing = syncName(fileSystem, realPath, replacing);
    syncing.catch(() => undefined);
    await replacing;
    await putBackWritten(fileSystem, target, displaced);
    const [present] = await Promise.all([syncing, removeDisplaced(), after?.()]);
    return present;
  } catch (error) {
    await removeDisplaced();
    throw error;
  }
}

/**
 * Puts the replaced file back if another program has written into it. A program that truncates and writes the file, as
 * servers do, may have begun between the last check and the rename, and would write into a file without a name. Rejects
 * with `TargetChangedError` then.
 */
async function putBackWritten(fileSystem: FileSystemPort, target: TargetFile, displaced: string): Promise<void> {
  const { size, mtimeNs } = target.stat;
  const present = await fileSystem.stat(displaced).catch(() => null);
  if (present === null || (present.size === size && present.mtimeNs === mtimeNs)) return;
  await fileSystem.rename(displaced, target.realPath);
  throw new TargetChangedError(target.path);
}

/** Creates a missing file durably, readable by its owner alone. A dangling link is an error and stays. */
export async function createTarget(
  fileSystem: FileSystemPort,
  path: string,
  content: Buffer,
): Promise<FileStat | null> {
  checkReadable(path, content);
  const file = { realPath: path, content, rights: { mode: NEW_FILE_MODE } };
  const creating = throughTemporary(fileSystem, file, async () => {
    if (!(await fileSystem.list(dirname(path))).includes(basename(path))) return;
    if (await exists(fileSystem, path)) throw new TargetChangedError(path);
    throw createFailure('ENOENT', `${path} is a symbolic link to a file that does not exist`);
  });
  return syncName(fileSystem, path, creating);
}

/** Removes what a killed Keyway has left next to the file. Call only while no other one writes it. */
export async function removeStaleTemporaries(fileSystem: FileSystemPort, realPath: string): Promise<void> {
  const folder = dirname(realPath);
  for (const name of await fileSystem.list(folder)) {
    if (isTemporary(name, basename(realPath))) await fileSystem.remove(join(folder, name));
  }
}

/** Returns the number of the file's names, not counting its own and those that a Keyway uses while replacing it. */
export async function otherNames(fileSystem: FileSystemPort, realPath: string): Promise<number> {
  const { dev, ino, kind, links } = await fileSystem.stat(realPath);
  if (kind !== 'file' || links === 1) return 0;
  const folder = dirname(realPath);
  const ours = (await fileSystem.list(folder)).filter((name) => isTemporary(name, basename(realPath)));
  const stats = await Promise.all(ours.map((name) => fileSystem.stat(join(folder, name)).catch(() => null)));
  const own = stats.filter((stat) => stat?.dev === dev && stat.ino === ino).length;
  return links - 1 - own;
}

/** Returns a new name next to the file, recognisable as ours and hidden from readers of every `*.json`. */
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
  meanwhile = async (): Promise<void> => undefined,
): Promise<FileStat> {
  const temporary = temporaryPath(realPath);
  return createWhole(fileSystem, { path: realPath, temporary }, async () => {
    const written = await fileSystem.createSynced(temporary, content, rights, meanwhile);
    await prepare(written);
    return written;
  });
}

/** Syncs the name of a file once it is written; resolves to its stat, or null if it has already been changed again. */
async function syncName(
  fileSystem: FileSystemPort,
  realPath: string,
  writing: Promise<FileStat>,
): Promise<FileStat | null> {
  const syncing = fileSystem.syncFolder(dirname(realPath), writing);
  // A folder that cannot be opened must not end this while the file is still being written.
  syncing.catch(() => undefined);
  const written = await writing;
  const [present] = await Promise.all([fileSystem.stat(realPath), syncing]);
  return present.ino === written.ino && present.mtimeNs === written.mtimeNs ? present : null;
}

/**
 * Renames what `write` makes under the temporary name, in the same folder, so that the file appears whole or not at
 * all; a failure leaves nothing behind. Syncing the content is up to `write`, syncing the folder up to the caller.
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
    // The first error is the one to report.
    await fileSystem.remove(temporary).catch(() => undefined);
    throw error;
  }
}

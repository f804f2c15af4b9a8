import { randomBytes } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort, NewOwner } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { unlessMissing } from '../platform/presence.js';
import { removeHalfKept } from './kept-versions.js';
import { createWhole } from './write-file.js';

/** The folder for all that belongs to one configuration file: versions, the copy of an overwriting, counters. */
export interface DataFolder {
  readonly path: string;
  readonly versions: string;
  readonly inPlaceCopy: string;
  /** The last changes of the file, which a server beside may not have read (`configuration/unread-journal.ts`). */
  readonly unreadChanges: string;
  /** The digest of the content that somebody means the file to have (`meant-content.ts`). */
  readonly meantContent: string;
}

/** The data folder cannot be used; the message says why and what to do. */
export class DataFolderError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DataFolderError';
  }
}

/** The default path of a configuration file's data folder (design: "The data folder"). */
export function dataFolderBeside(config: string): string {
  return join(dirname(config), `${basename(config)}.keyway`);
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const MARKER = 'belongs-to.json';

/** Without a configuration file the folder belongs to none: this name stands for it. */
export function noFileIn(dataFolder: string): string {
  return join(dataFolder, '--no-config');
}

/** The names of the folder; touches nothing. */
export function dataFolderAt(path: string): DataFolder {
  return {
    path,
    versions: join(path, 'versions'),
    inPlaceCopy: join(path, 'in-place-copy'),
    unreadChanges: join(path, 'unread-changes'),
    meantContent: join(path, 'meant-content'),
  };
}

/**
 * Makes the folder (mode 0700) where it is missing and writes into it which configuration file it belongs to. Rejects
 * with `DataFolderError` when it is another user's, belongs to another one, or cannot be made. Does not lock it.
 */
export async function openDataFolder(
  fileSystem: FileSystemPort,
  path: string,
  configurationPath: string,
): Promise<DataFolder> {
  const folder = dataFolderAt(resolve(path));
  try {
    await makeDurable(fileSystem, folder.path, await ownerOf(fileSystem, configurationPath));
    await claim(fileSystem, folder.path, configurationPath);
    await fileSystem.makeFolder(folder.versions, FOLDER_MODE, 'folder');
    // Also where it was there: a Keyway that was killed may not have come to this, nor to the marker's.
    await fileSystem.syncFolder(folder.path);
  } catch (error) {
    if (error instanceof DataFolderError) throw error;
    throw unusable(folder.path, error);
  }
  return folder;
}

/** The error of a folder that the system does not let us use. */
export function unusable(path: string, cause: unknown): DataFolderError {
  const words = failureWords(cause);
  return new DataFolderError(`The data folder ${path} cannot be used: ${words}. Name another with --data-dir.`, {
    cause,
  });
}

/** Returns whose a folder that root makes becomes: the owner of the file, where there is one. */
async function ownerOf(fileSystem: FileSystemPort, configurationPath: string): Promise<NewOwner> {
  if (IS_ADDRESS.test(configurationPath)) return 'process';
  return fileSystem.stat(resolve(configurationPath)).catch((): NewOwner => 'process');
}

/** Makes the folder and its parents; each has a durable name before anything is put into it. */
async function makeDurable(fileSystem: FileSystemPort, path: string, owner: NewOwner): Promise<void> {
  const missing: string[] = [];
  let found = path;
  for (; (await unlessMissing(fileSystem.stat(found))) === null; found = dirname(found)) missing.unshift(found);
  // A Keyway that was killed may have made this one and not come to syncing its name.
  await fileSystem.syncFolder(dirname(found)).catch((error: unknown) => {
    // A folder that we may not read is not one that we have made something in.
    if (failureCode(error) !== 'EACCES' && failureCode(error) !== 'EPERM') throw error;
  });
  for (const folder of missing) {
    await fileSystem.makeFolder(folder, FOLDER_MODE, owner);
    await fileSystem.syncFolder(dirname(folder));
  }
}

/** Rejects with `DataFolderError` when the folder is another user's, or belongs to another configuration file. Changes nothing. */
export async function checkDataFolder(
  fileSystem: FileSystemPort,
  path: string,
  configurationPath: string,
): Promise<void> {
  const folder = resolve(path);
  await refuseOtherUsers(fileSystem, folder);
  const marker = join(folder, MARKER);
  const owner = await readMarker(fileSystem, marker);
  const own = await markerFor(fileSystem, configurationPath);
  // A file is the same by the path that it is called by, or by the place where it really is.
  if (owner === null || owner.path === own.path || owner.realPath === own.realPath) return;
  throw new DataFolderError(
    `The data folder ${folder} belongs to ${owner.path}, not to ${own.path}: name another with --data-dir, or, when the configuration file was moved, remove ${marker}.`,
  );
}

const ROOT = 0;

/** What is in the folder is trusted, and its owner may put anything there: root may do so anyway. */
async function refuseOtherUsers(fileSystem: FileSystemPort, folder: string): Promise<void> {
  const found = await unlessMissing(fileSystem.stat(folder));
  const user = await fileSystem.user();
  if (found === null || user === null || [user, ROOT].includes(found.uid) || user === ROOT) return;
  throw new DataFolderError(
    `The data folder ${folder} belongs to user ${found.uid}, and Keyway runs as user ${user}: run it as user ${found.uid}, or give it the folder: chown -R ${user} ${folder}`,
  );
}

const WRITABLE_BY_OTHERS = 0o022;

/** Tells whether the group or the world may write into the folder. */
export async function isOpenToOthers(fileSystem: FileSystemPort, { path }: DataFolder): Promise<boolean> {
  return ((await fileSystem.stat(path)).mode & WRITABLE_BY_OTHERS) !== 0;
}

/** Says in the folder whom it belongs to, unless it says so already. */
async function claim(fileSystem: FileSystemPort, folder: string, configurationPath: string): Promise<void> {
  await checkDataFolder(fileSystem, folder, configurationPath);
  const marker = join(folder, MARKER);
  if ((await readMarker(fileSystem, marker)) === null) {
    await writeMarker(fileSystem, marker, await markerFor(fileSystem, configurationPath));
  }
}

async function markerFor(fileSystem: FileSystemPort, configurationPath: string): Promise<Marker> {
  if (IS_ADDRESS.test(configurationPath)) return { path: configurationPath, realPath: configurationPath };
  const path = resolve(configurationPath);
  return { path, realPath: await fileSystem.realPath(path).catch(() => path) };
}

/** The owner of a folder in front of a running server. */
const IS_ADDRESS = /^https?:\/\//;

interface Marker {
  readonly path: string;
  readonly realPath: string;
}

async function readMarker(fileSystem: FileSystemPort, marker: string): Promise<Marker | null> {
  const bytes = await unlessMissing(fileSystem.read(marker, FILE_LIMITS.note));
  if (bytes === null) return null;
  const members = parseMembers(bytes);
  const { configurationFile: path, realPath } = members;
  if (typeof path === 'string' && typeof realPath === 'string') return { path, realPath };
  throw new DataFolderError(`${marker} does not say which configuration file the folder belongs to: remove it.`);
}

async function writeMarker(fileSystem: FileSystemPort, marker: string, { path, realPath }: Marker): Promise<void> {
  const temporary = `${marker}.${randomBytes(6).toString('hex')}.tmp`;
  const content = Buffer.from(`${JSON.stringify({ configurationFile: path, realPath }, null, 2)}\n`);
  // The folder is synced once that of the versions is in it, too.
  await createWhole(fileSystem, { path: marker, temporary }, async () => {
    await fileSystem.create(temporary, content, FILE_MODE, 'folder');
    await fileSystem.sync(temporary);
  });
}

/** The members of a small JSON object of ours; none when the bytes are no such object. */
export function parseMembers(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Removes what a Keyway that was killed has left half-done in the folder. Only call while holding the lock. */
export async function cleanDataFolder(fileSystem: FileSystemPort, folder: DataFolder): Promise<void> {
  for (const name of await fileSystem.list(folder.path)) {
    const isHalfDone = [MARKER, 'sessions.json', 'unread-changes', 'meant-content'].some((whole) =>
      name.startsWith(`${whole}.`),
    );
    if (isHalfDone) await fileSystem.remove(join(folder.path, name)).catch(() => undefined);
  }
  await removeHalfKept(fileSystem, folder.versions);
}

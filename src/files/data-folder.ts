import { randomBytes } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort, NewOwner } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { unlessMissing } from '../platform/presence.js';
import { removeHalfKept } from './kept-versions.js';
import { createWhole, removeStaleTemporaries } from './write-file.js';

/**
 * The folder for everything that belongs to one configuration file: versions, the copy for an interrupted overwrite,
 * counters.
 */
export interface DataFolder {
  readonly path: string;
  readonly versions: string;
  readonly inPlaceCopy: string;
  /** The last changes of the file, which a server may not have read (`configuration/unread-journal.ts`). */
  readonly unreadChanges: string;
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

/** Returns the name that stands for a configuration file if the folder has none. */
export function noFileIn(dataFolder: string): string {
  return join(dataFolder, '--no-config');
}

/** Returns the paths in the folder; touches nothing. */
export function dataFolderAt(path: string): DataFolder {
  return {
    path,
    versions: join(path, 'versions'),
    inPlaceCopy: join(path, 'in-place-copy'),
    unreadChanges: join(path, 'unread-changes'),
  };
}

/**
 * Makes the folder (mode 0700) if it is missing and records which configuration file it belongs to. Rejects with
 * `DataFolderError` if it is another user's, belongs to another file, or cannot be made. Does not lock it.
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
    // Even if it existed: a killed Keyway may not have synced this folder, or the marker's name.
    await fileSystem.syncFolder(folder.path);
  } catch (error) {
    if (error instanceof DataFolderError) throw error;
    throw unusable(folder.path, error);
  }
  return folder;
}

/** Returns the error of a folder that the system does not let Keyway use. */
export function unusable(path: string, cause: unknown): DataFolderError {
  const words = failureWords(cause);
  return new DataFolderError(`The data folder ${path} cannot be used: ${words}. Name another with --data-dir.`, {
    cause,
  });
}

/** Returns the owner of a folder that root makes: the file's owner, if there is one. */
async function ownerOf(fileSystem: FileSystemPort, configurationPath: string): Promise<NewOwner> {
  if (IS_ADDRESS.test(configurationPath)) return 'process';
  return fileSystem.stat(resolve(configurationPath)).catch((): NewOwner => 'process');
}

/** Makes the folder and its parents; each has a durable name before anything is put into it. */
async function makeDurable(fileSystem: FileSystemPort, path: string, owner: NewOwner): Promise<void> {
  const missing: string[] = [];
  let found = path;
  for (; (await unlessMissing(fileSystem.stat(found))) === null; found = dirname(found)) missing.unshift(found);
  // A killed Keyway may have made this one without syncing its name.
  await fileSystem.syncFolder(dirname(found)).catch((error: unknown) => {
    // A folder that we may not read is not one that we have made something in.
    if (failureCode(error) !== 'EACCES' && failureCode(error) !== 'EPERM') throw error;
  });
  for (const folder of missing) {
    await fileSystem.makeFolder(folder, FOLDER_MODE, owner);
    await fileSystem.syncFolder(dirname(folder));
  }
}

/**
 * Rejects with `DataFolderError` if the folder is another user's, or belongs to another configuration file. Changes
 * nothing.
 */
export async function checkDataFolder(
  fileSystem: FileSystemPort,
  path: string,
  configurationPath: string,
): Promise<void> {
  const folder = resolve(path);
  await refuseOtherUsers(fileSystem, folder);
  const owner = await readMarker(fileSystem, join(folder, MARKER));
  const own = await markerFor(fileSystem, configurationPath);
  if (owner === null || isSame(owner, own) || (await isFree(fileSystem, folder, owner, own))) return;
  const moved = IS_ADDRESS.test(own.path) ? 'it is the same server' : 'the configuration file was moved';
  throw new DataFolderError(
    `The data folder ${folder} belongs to ${owner.path}, not to ${own.path}: name another with --data-dir, or, when ${moved}, remove ${join(folder, MARKER)}.`,
  );
}

/** Compares files by the path they were named with, or by their real path. */
function isSame(owner: Marker, own: Marker): boolean {
  return owner.path === own.path || owner.realPath === own.realPath;
}

/** Keyway's own records contain nothing about the server, nor does what a killed Keyway has left of its hold. */
const NOT_LEARNED = [MARKER, 'lock', 'keyway.sock', 'records.jsonl'];

/** Tells whether nothing was ever learned about the folder's server: its address may have been wrong. */
async function isFree(fileSystem: FileSystemPort, folder: string, owner: Marker, own: Marker): Promise<boolean> {
  if (!IS_ADDRESS.test(owner.path) || !IS_ADDRESS.test(own.path)) return false;
  const { versions } = dataFolderAt(folder);
  const names = (await fileSystem.list(folder)).filter((name) => !NOT_LEARNED.some((one) => name.startsWith(one)));
  const kept = (await unlessMissing(fileSystem.list(versions))) ?? [];
  return kept.length === 0 && names.every((name) => name === basename(versions));
}

const ROOT = 0;

/** Rejects if another user owns the folder, because its content is trusted; root may own it. */
async function refuseOtherUsers(fileSystem: FileSystemPort, folder: string): Promise<void> {
  const found = await unlessMissing(fileSystem.stat(folder));
  const user = await fileSystem.user();
  if (found === null || user === null || [user, ROOT].includes(found.uid) || user === ROOT) return;
  throw new DataFolderError(
    `The data folder ${folder} belongs to user ${found.uid}, and Keyway runs as user ${user}: run it as user ${found.uid}, or give it the folder: chown -R ${user} ${folder}`,
  );
}

const WRITABLE_BY_OTHERS = 0o022;

/** Tells whether the group or everyone may write into the folder. */
export async function isOpenToOthers(fileSystem: FileSystemPort, { path }: DataFolder): Promise<boolean> {
  return ((await fileSystem.stat(path)).mode & WRITABLE_BY_OTHERS) !== 0;
}

/** Records in the folder which file it belongs to, unless that is recorded already. */
async function claim(fileSystem: FileSystemPort, folder: string, configurationPath: string): Promise<void> {
  await checkDataFolder(fileSystem, folder, configurationPath);
  const marker = join(folder, MARKER);
  const own = await markerFor(fileSystem, configurationPath);
  const owner = await readMarker(fileSystem, marker);
  if (owner !== null && isSame(owner, own)) return;
  if (owner !== null) await fileSystem.remove(marker);
  await writeMarker(fileSystem, marker, own);
}

async function markerFor(fileSystem: FileSystemPort, configurationPath: string): Promise<Marker> {
  if (IS_ADDRESS.test(configurationPath)) return { path: configurationPath, realPath: configurationPath };
  const path = resolve(configurationPath);
  return { path, realPath: await fileSystem.realPath(path).catch(() => path) };
}

/** Matches the owner of a folder in front of a running server. */
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
  // The folder is synced later, once the versions' folder is in it, too.
  await createWhole(fileSystem, { path: marker, temporary }, async () => {
    await fileSystem.create(temporary, content, FILE_MODE, 'folder');
    await fileSystem.sync(temporary);
  });
}

/** Returns the members of a small JSON object of Keyway's own; none if the bytes are not an object. */
export function parseMembers(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Half a backup, and notes to and from commands of Keyways up to 0.9, which nobody waits for any more. */
const OF_COMMANDS = /^(?:request-.+\.(?:tmp|answer|refused)|request-waiting-.+|meant-content(?:\..+)?)$/;

/** Removes what a killed Keyway has left unfinished in the folder. Call only while holding the lock. */
export async function cleanDataFolder(fileSystem: FileSystemPort, folder: DataFolder): Promise<void> {
  for (const name of await fileSystem.list(folder.path)) {
    const isHalfDone = [MARKER, 'sessions.json', 'unread-changes'].some((whole) => name.startsWith(`${whole}.`));
    if (isHalfDone || OF_COMMANDS.test(name)) await fileSystem.remove(join(folder.path, name)).catch(() => undefined);
  }
  await removeStaleTemporaries(fileSystem, folder.unreadChanges).catch(() => undefined);
  await removeHalfKept(fileSystem, folder.versions);
}

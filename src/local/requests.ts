import { randomBytes } from 'node:crypto';
import { basename, join } from 'node:path';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort } from '../core/ports.js';
import { failureCode } from './failure-words.js';
import type { Pieces } from './file-pieces.js';

/**
 * What a command asks of the Keyway that holds a data folder: a file in it, which goes once it has been done. It outlives
 * a crash on either side: the next start of that Keyway does what is left.
 */
export interface FolderRequest {
  readonly path: string;
  /** `restore`: everything becomes this state; `import`: the counters in it replace those of the same keys. */
  readonly kind: RequestKind;
}

export type RequestKind = 'restore' | 'import';

const NAME = /^request-(restore|import)-[0-9a-f]{12}$/;
const REFUSED = '.refused';
const FILE_MODE = 0o600;

/** Puts the request into the folder, durably. */
export async function submitRequest(
  fileSystem: FileSystemPort,
  dataFolder: string,
  kind: RequestKind,
  content: Pieces,
): Promise<FolderRequest> {
  const path = join(dataFolder, `request-${kind}-${randomBytes(6).toString('hex')}`);
  const temporary = `${path}.tmp`;
  try {
    await fileSystem.create(temporary, Buffer.alloc(0), FILE_MODE);
    for await (const piece of content) await fileSystem.append(temporary, piece);
    await fileSystem.sync(temporary);
    await fileSystem.rename(temporary, path);
    await fileSystem.syncFolder(dataFolder);
  } catch (error) {
    for (const made of [temporary, path]) await fileSystem.remove(made).catch(() => undefined);
    throw error;
  }
  return { path, kind };
}

/** The requests that wait in the folder. */
export async function waitingRequests(
  fileSystem: FileSystemPort,
  dataFolder: string,
): Promise<readonly FolderRequest[]> {
  const found: FolderRequest[] = [];
  for (const name of await fileSystem.list(dataFolder)) {
    const kind = NAME.exec(name)?.[1];
    if (kind === 'restore' || kind === 'import') found.push({ path: join(dataFolder, name), kind });
  }
  return found;
}

/** The request is done: it goes. */
export async function finishRequest(
  fileSystem: FileSystemPort,
  dataFolder: string,
  { path }: FolderRequest,
): Promise<void> {
  await fileSystem.remove(path);
  await fileSystem.syncFolder(dataFolder);
}

/** The request cannot be done: it goes, and its sender finds the reason. */
export async function refuseRequest(
  fileSystem: FileSystemPort,
  dataFolder: string,
  request: FolderRequest,
  reason: string,
): Promise<void> {
  await fileSystem.create(request.path + REFUSED, Buffer.from(reason), FILE_MODE).catch(() => undefined);
  await finishRequest(fileSystem, dataFolder, request);
}

/** What has become of a request: null while it waits, then why it was refused, or that it was done. */
export async function requestOutcome(
  fileSystem: FileSystemPort,
  dataFolder: string,
  { path }: FolderRequest,
): Promise<{ readonly refused: string | null } | null> {
  if ((await fileSystem.list(dataFolder)).includes(basename(path))) return null;
  const reason = await fileSystem.read(path + REFUSED, FILE_LIMITS.note).catch((error: unknown) => {
    if (failureCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (reason !== null) await fileSystem.remove(path + REFUSED).catch(() => undefined);
  return { refused: reason?.toString('utf8') ?? null };
}

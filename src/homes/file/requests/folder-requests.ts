import { randomBytes } from 'node:crypto';
import { basename, join } from 'node:path';
import { FILE_LIMITS } from '../../../core/file-limits.js';
import type { FileSystemPort } from '../../../core/ports.js';
import type { Pieces } from '../../../files/file-pieces.js';
import { createWhole } from '../../../files/write-file.js';
import { unlessMissing } from '../../../platform/presence.js';

/**
 * A command's request to the Keyway that holds a data folder: a file in it, which goes once it has been done. It
 * outlives a crash on either side: the next start of that Keyway does what is left.
 */
export interface FolderRequest {
  readonly path: string;
  readonly kind: RequestKind;
}

/**
 * `restore`: everything becomes this state; `import`: the counters in it replace those of the same keys; `waiting`: the
 * answer is to name the changes whose write failed; `version`: the configuration file becomes these bytes, such changes
 * are given up, and the answer names them.
 */
const REQUEST_KINDS = ['restore', 'import', 'waiting', 'version'] as const;

export type RequestKind = (typeof REQUEST_KINDS)[number];

const NAME = /^request-([a-z]+)-[0-9a-f]{12}$/;
const REFUSED = '.refused';
const ANSWER = '.answer';
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
  await createWhole(fileSystem, { path, temporary }, async () => {
    await fileSystem.create(temporary, Buffer.alloc(0), FILE_MODE, 'folder');
    for await (const piece of content) await fileSystem.append(temporary, piece);
    await fileSystem.sync(temporary);
  });
  await fileSystem.syncFolder(dataFolder).catch(async (error: unknown) => {
    await fileSystem.remove(path).catch(() => undefined);
    throw error;
  });
  return { path, kind };
}

export async function waitingRequests(
  fileSystem: FileSystemPort,
  dataFolder: string,
): Promise<readonly FolderRequest[]> {
  const found: FolderRequest[] = [];
  for (const name of await fileSystem.list(dataFolder)) {
    const kind = REQUEST_KINDS.find((each) => each === NAME.exec(name)?.[1]);
    if (kind !== undefined) found.push({ path: join(dataFolder, name), kind });
  }
  return found;
}

/** The request is done: it goes, and its sender finds the answer, where there is one. */
export async function finishRequest(
  fileSystem: FileSystemPort,
  dataFolder: string,
  { path }: FolderRequest,
  answer: Buffer | null = null,
): Promise<void> {
  if (answer !== null) await fileSystem.create(path + ANSWER, answer, FILE_MODE, 'folder').catch(() => undefined);
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
  await fileSystem.create(request.path + REFUSED, Buffer.from(reason), FILE_MODE, 'folder').catch(() => undefined);
  await finishRequest(fileSystem, dataFolder, request);
}

/** The outcome of a request that is gone: the reason why it was refused, or the answer. */
export interface RequestOutcome {
  readonly refused: string | null;
  readonly answer: Buffer | null;
}

/** Null while the request waits. */
export async function requestOutcome(
  fileSystem: FileSystemPort,
  dataFolder: string,
  { path }: FolderRequest,
): Promise<RequestOutcome | null> {
  if ((await fileSystem.list(dataFolder)).includes(basename(path))) return null;
  const refused = await take(fileSystem, path + REFUSED);
  return { refused: refused?.toString('utf8') ?? null, answer: await take(fileSystem, path + ANSWER) };
}

/** Reads what was left for the sender, and removes it; null where nothing was. */
async function take(fileSystem: FileSystemPort, path: string): Promise<Buffer | null> {
  const content = await unlessMissing(fileSystem.read(path, FILE_LIMITS.note));
  if (content !== null) await fileSystem.remove(path).catch(() => undefined);
  return content;
}

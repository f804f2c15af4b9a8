import { createHash, randomBytes } from 'node:crypto';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { FileSystemPort } from '../core/ports.js';
import { unlessMissing } from '../platform/presence.js';
import type { DataFolder } from './data-folder.js';
import { createWhole } from './write-file.js';

/**
 * A command of the operator's that replaces the file beside a Keyway that serves says so in the data folder, so that it is
 * not taken for a server that writes its memory.
 */
export async function noteMeantContent(fileSystem: FileSystemPort, folder: DataFolder, content: Buffer): Promise<void> {
  const path = folder.meantContent;
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  await createWhole(fileSystem, { path, temporary }, () =>
    fileSystem.create(temporary, digestOf(content), 0o600, 'folder'),
  );
}

/** True when these bytes were noted last. The note goes with that, and with the first look of a Keyway that starts. */
export async function isMeantContent(
  fileSystem: FileSystemPort,
  folder: DataFolder,
  bytes: Buffer,
  { atStart = false }: { readonly atStart?: boolean } = {},
): Promise<boolean> {
  const note = await unlessMissing(fileSystem.read(folder.meantContent, FILE_LIMITS.note)).catch(() => null);
  if (note === null) return false;
  const isMeant = note.equals(digestOf(bytes));
  if (isMeant || atStart) await fileSystem.remove(folder.meantContent).catch(() => undefined);
  return isMeant;
}

function digestOf(bytes: Buffer): Buffer {
  return Buffer.from(createHash('sha256').update(bytes).digest('hex'));
}

import type { ClockPort, FileSystemPort, LogPort } from '../../../core/ports.js';
import { areMany } from '../../../core/replace-policy.js';
import { readDocument } from '../../../document/document.js';
import type { DataFolder } from '../../../files/data-folder.js';
import { createInPlaceWriting } from '../../../files/in-place.js';
import { createKeptVersions } from '../../../files/kept-versions.js';
import { lockPorts } from '../../../files/lock.js';
import { namingFullDisk } from '../../../files/mounts.js';
import { createTarget, readTarget, replaceTarget, undisturbed } from '../../../files/write-file.js';
import { failureWords } from '../../../platform/failure-words.js';
import { unlessMissing } from '../../../platform/presence.js';
import { SETTLED_AFTER } from '../../../wire/traits/storing.js';
import { type ChangeJournal, createChangeJournal, type FileChange } from './change-journal.js';
import { differences } from './pending-changes.js';
import { ContentChangedError, refuseOtherContent, type WholeContent } from './whole-content.js';

export interface ReplaceContentOptions {
  readonly path: string;
  /** Held by this process, as the file is. */
  readonly folder: DataFolder;
  readonly inPlace: boolean;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
}

/**
 * Replaces the content of a configuration file that no Keyway serves, byte for byte. As in a Keyway that serves, the
 * present content is kept first, and the change is recorded in case a server of the same file reverts it. Rejects with
 * words for people, and leaves the file as it was.
 */
export async function replaceContent(
  options: ReplaceContentOptions,
  content: Buffer,
  { replaces, forever = false }: WholeContent = {},
): Promise<void> {
  const { path, folder, inPlace, fileSystem, clock, log } = options;
  const { keep } = createKeptVersions({ fileSystem, folder: folder.versions, clock });
  const overwriting = createInPlaceWriting({ fileSystem, copyPath: folder.inPlaceCopy, log, keep });
  try {
    await undisturbed(path, async () => {
      await overwriting.recover(path);
      const present = await unlessMissing(readTarget(fileSystem, path));
      refuseOtherContent(path, present, replaces);
      if (present === null) {
        await createTarget(fileSystem, path, content);
        return;
      }
      const change = changeBetween(present.bytes, content);
      const removed = [...(change?.written.keys?.values() ?? [])].filter((record) => record === null).length;
      await namingFullDisk(fileSystem, folder.path, () =>
        keep(present.bytes, { forever: forever || areMany(removed) }),
      );
      const journal = change === null ? null : await openJournal(options);
      if (change !== null) await journal?.intend(change);
      await namingFullDisk(fileSystem, present.realPath, () =>
        inPlace ? overwriting.replace(present, content) : replaceTarget(fileSystem, present, content),
      );
      if (change !== null) await journal?.add(change);
      await journal?.close();
    });
  } catch (error) {
    if (error instanceof ContentChangedError) throw error;
    throw new Error(`the configuration file could not be written: ${failureWords(error)}`, { cause: error });
  }
}

/** Null where one of them cannot be read. */
function changeBetween(before: Buffer, after: Buffer): FileChange | null {
  try {
    return differences(readDocument(before).configuration, readDocument(after).configuration);
  } catch {
    return null;
  }
}

/** Opens the journal that tells the next Keyway what a server of the same file may revert. */
async function openJournal({ folder, fileSystem, clock, log }: ReplaceContentOptions): Promise<ChangeJournal> {
  const boot = await lockPorts(fileSystem).processes.boot();
  const path = folder.unreadChanges;
  const journal = createChangeJournal({ path, boot, milliseconds: SETTLED_AFTER, fileSystem, clock, log });
  // The changes that the Keyway before has noted stay.
  await journal.read();
  return journal;
}

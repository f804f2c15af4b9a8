import type { ConfigurationChange } from '../../../core/model.js';
import type { ClockPort, FileSystemPort, LogPort } from '../../../core/ports.js';
import { areMany } from '../../../core/replace-policy.js';
import { readDocument } from '../../../document/document.js';
import type { DataFolder } from '../../../files/data-folder.js';
import { createInPlaceWriting } from '../../../files/in-place.js';
import { createKeptVersions } from '../../../files/kept-versions.js';
import { lockPorts } from '../../../files/lock.js';
import { createTarget, readTarget, replaceTarget, undisturbed } from '../../../files/write-file.js';
import { failureWords } from '../../../platform/failure-words.js';
import { unlessMissing } from '../../../platform/presence.js';
import { SETTLED_AFTER } from '../../../wire/traits/storing.js';
import { differences } from './pending-changes.js';
import { createUnreadJournal } from './unread-journal.js';

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
 * Makes a configuration file, that no Keyway serves, this content, byte for byte. As with a Keyway that serves, the present
 * content is kept first, and the change is noted for servers beside. Rejects with words for people, the file then being as it was.
 */
export async function replaceContent(options: ReplaceContentOptions, content: Buffer): Promise<void> {
  const { path, folder, inPlace, fileSystem, clock, log } = options;
  const { keep } = createKeptVersions({ fileSystem, folder: folder.versions, clock });
  const overwriting = createInPlaceWriting({ fileSystem, copyPath: folder.inPlaceCopy, log, keep });
  try {
    await undisturbed(path, async () => {
      await overwriting.recover(path);
      const present = await unlessMissing(readTarget(fileSystem, path));
      if (present === null) {
        await createTarget(fileSystem, path, content);
        return;
      }
      const change = changeBetween(present.bytes, content);
      const removed = [...(change?.written.keys?.values() ?? [])].filter((record) => record === null).length;
      await keep(present.bytes, { forever: areMany(removed) });
      if (inPlace) await overwriting.replace(present, content);
      else await replaceTarget(fileSystem, present, content);
      if (change !== null) await note(options, change);
    });
  } catch (error) {
    throw new Error(`the configuration file could not be written: ${failureWords(error)}`, { cause: error });
  }
}

interface Change {
  readonly former: ConfigurationChange;
  readonly written: ConfigurationChange;
}

/** Null where one of them cannot be read. */
function changeBetween(before: Buffer, after: Buffer): Change | null {
  try {
    return differences(readDocument(before).configuration, readDocument(after).configuration);
  } catch {
    return null;
  }
}

/** Notes for the next Keyway what a server beside may take back. */
async function note({ folder, fileSystem, clock, log }: ReplaceContentOptions, change: Change): Promise<void> {
  const boot = await lockPorts(fileSystem).processes.boot();
  const path = folder.unreadChanges;
  const journal = createUnreadJournal({ path, boot, milliseconds: SETTLED_AFTER, fileSystem, clock, log });
  // The changes that the Keyway before has noted stay.
  await journal.read();
  await journal.add({ at: clock.now(), ...change });
}

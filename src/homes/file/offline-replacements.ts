import { basename } from 'node:path';
import { LocalRecords } from '../../core/kept-records.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort } from '../../core/ports.js';
import { readDocument } from '../../document/document.js';
import type { DataFolder } from '../../files/data-folder.js';
import { piecesOf } from '../../files/file-pieces.js';
import { inDataFolder } from '../../files/foreign.js';
import { holdForServing } from '../../files/hold.js';
import { InUseError, lockPorts } from '../../files/lock.js';
import { openRecordsFile } from '../../files/records-file.js';
import { type LocalBackend, openLocalBackend } from './backend.js';
import { replaceContent } from './configuration/replace-content.js';
import { readState } from './counters/lines.js';
import { replaceStore } from './counters/replace-store.js';
import type { Replacements } from './replacements.js';
import { forgetRestore, notedRestores, noteRestore } from './restore-intent.js';
import { withNotes } from './restored-notes.js';
import { waitingChanges } from './waiting-changes.js';

/** A configuration file and its data folder, as a command names them. */
export interface StoredPlace {
  /** Null: counters without a configuration file. */
  readonly configPath: string | null;
  readonly dataFolder: string;
  readonly inPlace: boolean;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly progress: ProgressPort;
  /** Ends a restore, with its reason as the error, as long as nothing has been changed. */
  readonly stop?: AbortSignal;
}

/**
 * The replacements of a home that nobody serves. All but an import need neither counters in memory nor a file that can be
 * read. Each rejects with an `Error` for people, also where somebody holds the home.
 */
export function offlineReplacements(place: StoredPlace): Replacements {
  const { fileSystem, dataFolder, configPath, progress, stop } = place;

  /** Does the work on file and folder in hand. What an earlier restore was to bring is over with it. */
  function inHand<T>(work: (path: string, folder: DataFolder) => Promise<T>): Promise<T> {
    return inDataFolder(fileSystem, place, async () => {
      if (configPath === null) throw new Error('there is no configuration file');
      const held = { ...lockPorts(fileSystem), log: place.log, dataFolder, configurationPath: configPath };
      const hold = await holdForServing({ ...held, lookMilliseconds: 0 }).catch(namingRemedy);
      try {
        const earlier = await notedRestores(fileSystem, dataFolder);
        const done = await work(configPath, hold.folder);
        for (const one of earlier) await forgetRestore(fileSystem, dataFolder, one);
        return done;
      } finally {
        await hold.release();
      }
    });
  }

  function open(): Promise<LocalBackend> {
    return openLocalBackend({ ...place, dataDir: dataFolder, pollMilliseconds: 0, watch: false });
  }

  /** Has a restore finished that was interrupted, so that the file does not stay without its counters. */
  async function finishEarlier(): Promise<void> {
    const earlier = await notedRestores(fileSystem, dataFolder).catch(() => []);
    // A file that cannot be read is replaced all the same.
    if (earlier.length > 0)
      await open().then(
        ({ close }) => close(),
        () => undefined,
      );
  }

  return {
    restore: (backup) =>
      inHand(async (path, folder) => {
        const noted = await noteRestore(fileSystem, dataFolder, backup);
        try {
          const shown = (share: number) => {
            stop?.throwIfAborted();
            progress.show('taking over', share);
          };
          const { configuration, notes, ...state } = await readState(piecesOf(fileSystem, noted, shown));
          if (configuration === null) throw new Error('the backup holds no configuration file');
          progress.show('writing');
          const registered = () => readDocument(configuration).configuration.keys.map(({ accessKey }) => accessKey);
          // Records that cannot be read keep nothing else from coming back.
          const records =
            notes.size === 0 ? new LocalRecords() : await openRecordsFile({ ...place, folder: dataFolder });
          await withNotes(records, notes, () =>
            replaceStore(place, { ...state, report: basename(noted), registered }, async () => {
              await replaceContent({ ...place, path, folder }, configuration);
            }),
          );
        } finally {
          await forgetRestore(fileSystem, dataFolder, noted).catch(() => undefined);
        }
      }),
    importCounters: (content) =>
      inDataFolder(fileSystem, place, async () => {
        progress.show('reading the configuration file and its counters');
        const backend = await open().catch(namingRemedy);
        progress.show('writing');
        await backend.replacements.importCounters(content).finally(backend.close);
      }),
    async putFile(content, how) {
      await finishEarlier();
      return inHand(async (path, folder) => {
        await replaceContent({ ...place, path, folder }, content, how);
        return waitingChanges({});
      });
    },
  };
}

const REMEDY = {
  folder: 'It listens for no commands here: it is embedded in another program, is starting, or its log says why.',
  file: 'Or name the data folder that it was started with, so that it does this itself.',
} as const;

function namingRemedy(error: unknown): never {
  if (!(error instanceof InUseError)) throw error;
  throw new Error(`${error.message} ${REMEDY[error.of]}`, { cause: error });
}

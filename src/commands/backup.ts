import { resolve } from 'node:path';
import { SERVER_FILES } from '../../revisions/all.js';
import { FILE_LIMITS } from '../core/file-limits.js';
import { endedForAll } from '../document/check/keeps-starting.js';
import { checkRestorable } from '../document/check/restorable.js';
import { readDocument } from '../document/document.js';
import { checkDataFolder } from '../files/data-folder.js';
import { inDataFolder } from '../files/foreign.js';
import { readRecordsFile } from '../files/records-file.js';
import { checkState, LinesError, writeState } from '../homes/file/counters/lines.js';
import { type ReadState, readStored } from '../homes/file/counters/stored.js';
import type { StoredPlace } from '../homes/file/offline-replacements.js';
import { failureWords } from '../platform/failure-words.js';
import { unlessMissing } from '../platform/presence.js';
import { writeNew } from './new-file.js';
import { openReplacements } from './replacements.js';
import { documentCommand, givenPieces } from './stored-place.js';

const MADE_ANEW = 'keyway token add NAME --may PRESET';

export const backup = documentCommand({
  name: 'backup',
  words: ['FILE'],
  async work(
    { fileSystem, dataFolder, configPath, progress },
    { words: [file = ''] },
    { folder, output, clock, wait },
  ) {
    const path = resolve(folder, file);
    const { records, ...state } = await inDataFolder(fileSystem, { dataFolder, configPath }, async () => {
      await checkDataFolder(fileSystem, dataFolder, configPath);
      progress.show('reading the configuration file and its counters');
      const stored = await whole(configPath, wait, () => readStored(fileSystem, dataFolder, configPath));
      return { ...stored, records: await readRecordsFile(fileSystem, dataFolder) };
    });
    progress.show(`writing ${file}`);
    const notes = records.of('notes');
    await writeNew(fileSystem, path, writeState({ ...state, notes }, clock.now()));
    const { counters, reports } = state;
    output.line(
      `Wrote ${path}: the configuration file, counters of ${counters.length} keys, ${reports?.length ?? 0} remembered reports, ${notes.size} notes of keys`,
    );
    const tokens = records.of('tokens').size;
    if (tokens > 0)
      output.line(
        `Not in it, so that none that was removed comes back: ${tokens} named tokens. Elsewhere each is made again: ${MADE_ANEW}`,
      );
  },
  offered: 'paths',
  help: (settings) => `Usage: keyway backup FILE [--config FILE] [--data-dir DIR]

Writes the configuration file, the counters and the remembered reports as one consistent state, and
the notes of keys, into a new file (mode 0600: it holds every key and credential). It may run while
Keyway serves: what it takes is what was durable at one moment, and what a crash at that moment would
have left. Named tokens are not in it: one that was removed must not come back with an old backup.

${settings}

  keyway backup /var/backups/keyway-$(date +%F).jsonl`,
});

/** Servers empty their file and write into it: the number of looks that they are given to finish. */
const LOOKS = 5;
const BETWEEN_LOOKS = 200;

/** Reads a state whose file is a configuration. Rejects with an `Error` for people where it stays none: no restore would take it. */
async function whole(
  path: string,
  wait: (milliseconds: number) => Promise<void>,
  read: () => Promise<ReadState>,
): Promise<ReadState> {
  for (let look = 1; ; look += 1) {
    const state = await read();
    try {
      if (state.configuration !== null) readDocument(state.configuration);
      return state;
    } catch (error) {
      const words = `${path} is no configuration, so that nothing could be restored from a backup: ${failureWords(error)}`;
      if (look === LOOKS) throw new Error(words, { cause: error });
    }
    await wait(BETWEEN_LOOKS);
  }
}

export const restore = documentCommand({
  name: 'restore',
  words: ['FILE'],
  async work(place, { words: [file = ''] }, { folder, output }) {
    const { fileSystem, progress } = place;
    const path = resolve(folder, file);
    const { counters, notes } = await checkBackup(place, file, path);
    progress.show('handing it over');
    const replacements = await openReplacements(place);
    await replacements.restore(givenPieces(fileSystem, path));
    output.line(
      `${place.configPath}, the counters of ${counters} keys and ${notes} notes are again what ${file} holds`,
    );
    output.line(`Named tokens are in no backup: those of here stay, and others are made again: ${MADE_ANEW}`);
  },
  offered: 'paths',
  help: (settings) => `Usage: keyway restore FILE [--config FILE] [--data-dir DIR] [--in-place]

Makes the configuration file, the counters and the remembered reports what a backup holds. The
present configuration file is kept as a version first. A Keyway that serves from it takes both over
in one moment. Counters of keys that the backup does not have wait for their return, as after an
edit; keys of which it has no note keep theirs. A backup that is damaged or not whole changes nothing, nor does one that holds what the API
refuses, a key twice, or no credentials where the present file has them.

${settings}

  keyway restore /var/backups/keyway-2026-11-21.jsonl`,
});

/** Resolves to the numbers of counters and of notes. Rejects with an `Error` for people where the file is no backup, or not to be restored. */
async function checkBackup(
  { fileSystem, progress, configPath }: Pick<StoredPlace, 'fileSystem' | 'progress'> & { readonly configPath: string },
  file: string,
  path: string,
): Promise<{ readonly counters: number; readonly notes: number }> {
  const told = givenPieces(fileSystem, path, (share) => progress.show(`reading ${file}`, share));
  const { configuration, ...counts } = await checkState(told).catch((error: unknown) => {
    if (!(error instanceof LinesError)) throw error;
    const isNone = /^line 1: unexpected /.test(error.message);
    const words = isNone ? ' is no backup that "keyway backup" wrote' : '';
    throw new Error(`${file}${words}: ${error.message}`, { cause: error });
  });
  if (configuration === null) throw new Error(`${file} holds no configuration file: it is no backup`);
  const present = await unlessMissing(fileSystem.read(configPath, FILE_LIMITS.configuration));
  refuseUnfit(file, configuration, present);
  return counts;
}

function refuseUnfit(file: string, content: Buffer, present: Buffer | null): void {
  try {
    checkRestorable(content, present);
    const ended = present === null ? null : endedForAll(present, content, SERVER_FILES);
    if (ended !== null) throw new Error(`no server would start from it: ${ended}: nothing was restored`);
  } catch (error) {
    throw new Error(`${file}: ${failureWords(error)}`, { cause: error });
  }
}

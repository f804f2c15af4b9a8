import { resolve } from 'node:path';
import type { KeptCounters } from '../core/keys/types.js';
import { inDataFolder } from '../files/foreign.js';
import { countersLine, readCountersLines, writeState } from '../homes/file/counters/lines.js';
import { readSalvage, readStored } from '../homes/file/counters/stored.js';
import { exists } from '../platform/presence.js';
import { valueFlag } from '../settings/flags.js';
import type { Output } from './command.js';
import { openReplacements } from './replacements.js';
import { givenPieces, inFile, storedCommand } from './stored-place.js';

const FROM = valueFlag('from', 'DIR', 'paths');

export const countersExport = storedCommand({
  name: 'counters export',
  words: [],
  flags: [FROM],
  async work({ fileSystem, dataFolder, configPath }, { values }, { folder, output }) {
    const from = values.get(FROM.flag)?.[0];
    if (from === undefined) {
      // The file decides over a create that a crash interrupted; without it the counters are told as they are.
      const isThere = configPath !== null && (await exists(fileSystem, configPath));
      if (!isThere && !(await exists(fileSystem, dataFolder))) {
        throw new Error(
          `there are no counters: ${[configPath, dataFolder].filter(Boolean).join(' and ')} do not exist`,
        );
      }
      const { counters } = await inDataFolder(fileSystem, { dataFolder, configPath }, () =>
        readStored(fileSystem, dataFolder, isThere ? configPath : null),
      );
      print(counters, output);
      return;
    }
    const { counters, damage } = await readSalvage(fileSystem, resolve(folder, from));
    print(counters, output);
    if (damage.length > 0) throw new Error(`${from} is damaged, and this is what can be read: ${damage.join('; ')}`);
  },
  help: (settings) => `Usage: keyway counters export [--from DIR] [--config FILE] [--data-dir DIR]

Prints the counters as they are stored, one JSON object a line: access_key, bytes_up, bytes_down,
connections, created_at (milliseconds since 1970) and, of keys that left the configuration file and
whose counters wait for their return, left_at. Integers are exact. It may run while Keyway serves,
and then shows what is durable at one moment.

  --from DIR  a damaged store that Keyway has moved aside, as its log names it: prints what can be
              read of it, and says what cannot

${settings}

  keyway counters export > counters.jsonl`,
});

/** A line for each of a million keys, in pieces that a pipe takes. */
function print(counters: readonly KeptCounters[], output: Output): void {
  for (let from = 0; from < counters.length; from += 1000) {
    output.line(
      counters
        .slice(from, from + 1000)
        .map(countersLine)
        .join('\n'),
    );
  }
}

export const countersImport = storedCommand({
  name: 'counters import',
  words: ['FILE'],
  async work(place, { words: [file = ''] }, { folder, input, output, clock }) {
    const told = (share: number) => place.progress.show(`reading ${file}`, share);
    const text = file === '-' ? input.pieces() : givenPieces(place.fileSystem, resolve(folder, file), told);
    const counters = await inFile(file === '-' ? 'standard input' : file, readCountersLines(text));
    place.progress.show('handing them over');
    const content = writeState(
      { configuration: null, counters, reports: null, sources: null, notes: new Map() },
      clock.now(),
    );
    const replacements = await openReplacements(place);
    await replacements.importCounters(content);
    output.line(`Took over the counters of ${counters.length} keys`);
  },
  offered: 'paths',
  help: (settings) => `Usage: keyway counters import FILE [--config FILE] [--data-dir DIR]

Takes over counters from lines as "keyway counters export" prints them, - for standard input: each
replaces that key's counters, others stay. Counters of a key that is not in the configuration file
wait for it. All lines are taken over, or none; a line that is wrong is named. It may run while
Keyway serves: its answers show the imported counters at once.

${settings}

  keyway counters import counters.jsonl`,
});

import { resolve } from 'node:path';
import type { KeptVersion } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import {
  type ComparedVersion,
  compareVersion,
  compareVersions,
  versionToOffer,
} from '../../document/compared-versions.js';
import { differenceWords, membersOf, type VersionDifference } from '../../document/version-difference.js';
import { type HomeVersions, recordOf, versionsOf } from '../../gateway/homes/versions.js';
import { failureWords } from '../../platform/failure-words.js';
import { type FlagReading, type ParsedFlags, switchFlag, valueFlag } from '../../settings/flags.js';
import { type Settings, UPSTREAM_SETTINGS } from '../../settings/table.js';
import { type CommandContext, wordsOf } from '../command.js';
import { complainingLog } from '../complaining-log.js';
import { defineCommand, UsageError } from '../define-command.js';
import { keyLine } from '../keys/change.js';
import { printable } from '../keys/printable.js';
import { openReplacements } from '../replacements.js';
import { textTable } from '../text-table.js';

const JSON_FLAG = switchFlag('json');
const OUT = valueFlag('out', 'FILE', 'paths');
const DROP_WAITING = switchFlag('drop-waiting');
const DRY_RUN = switchFlag('dry-run');
/** The most changes of one kind that are named. */
const MOST_NAMED = 20;
const HEAD = ['version', 'kept at (UTC)', 'kept', 'keys', 'restoring it changes'];

/** The command line of both, read. */
interface Asked {
  readonly json: boolean;
  readonly wanted: string | undefined;
  readonly dropWaiting: boolean;
  readonly dryRun: boolean;
  /** The file to write a version to, or null. */
  readonly out: string | null;
}

/** The scaffold of both: the reading of their command line, and the kept versions of one home's configuration. */
const OVER_VERSIONS = {
  ask: (reading: FlagReading, { words }: ParsedFlags): Asked => ({
    json: reading.isOn('json'),
    wanted: words[0],
    dropWaiting: reading.isOn(DROP_WAITING.flag),
    dryRun: reading.isOn(DRY_RUN.flag),
    out: reading.value(OUT.flag),
  }),
  async home({ home }: Settings, _asked: Asked, { context }: { readonly context: CommandContext }) {
    const versions = versionsOf(home, { ...context, openReplacements, log: complainingLog(context) });
    if (versions === null) throw new UsageError('without a configuration file there are no kept versions');
    return versions;
  },
};

/** The last one before a great loss, then the others as they are. */
function offeredFirst(versions: readonly ComparedVersion[]): readonly ComparedVersion[] {
  const lost = versions.findIndex(({ forever }) => forever);
  return lost < 0 ? versions : [versions[lost], ...versions.toSpliced(lost, 1)].flatMap((version) => version ?? []);
}

/** A version as JSON has it. */
function comparedRecord(version: ComparedVersion) {
  const { keys, difference } = version;
  const counts = difference && {
    keysAdded: difference.added.length,
    keysRemoved: difference.removed.length,
    keysChanged: difference.changed.length,
    members: membersOf(difference.places),
  };
  return { ...recordOf(version), keys, differs: counts };
}

function rowOf({ id, keptAt, forever, keys, difference }: ComparedVersion): readonly string[] {
  const kept = forever ? 'always' : 'until newer ones replace it';
  const words = difference === null ? 'not known' : printable(differenceWords(difference));
  return [id, new Date(keptAt).toISOString(), kept, keys === null ? 'not readable' : `${keys}`, words];
}

export const configList = defineCommand<Asked, HomeVersions>({
  ...OVER_VERSIONS,
  name: 'config list',
  settings: ['config', ...UPSTREAM_SETTINGS, 'dataDir', 'database'],
  flags: [JSON_FLAG],
  words: { names: [] },
  async work(home, { json }, { output, complain }) {
    const { versions, problem } = await home.read(compareVersions);
    const listed = offeredFirst(versions.filter(({ isNow }) => !isNow).toReversed());
    if (json) output.line(JSON.stringify(listed.map(comparedRecord), null, 2));
    else if (listed.length === 0) output.line(versions.length === 0 ? home.none : `${home.none} but what is there now`);
    else output.line(textTable(HEAD, listed.map(rowOf)));
    if (problem !== null && listed.length > 0) complain(`what differs from now is not known: ${reasonOf(problem)}`);
  },
  help: (settings) => `Usage: keyway config list [--config FILE | --upstream URL] [--data-dir DIR] [--json]

Lists the kept versions of the server's configuration file, or with --upstream of the configuration of that
running server, newest first, each with its keys and what restoring it would change of what is
there now: "+3 −1 keys, dns" brings three keys back, takes one away and changes the member "dns".
One that is what is there now is left out.

Keyway keeps one before every removal, replacement, rotation and import, where something was added
since the newest, so that the newest brings back what was taken away and loses nothing made before.
While keys come and go all the time it is at most one in ten seconds: of what came and went between
two, the newest may lack some. Others are kept before the first write after a start, after every
edit from outside, before every replacement of the whole, and hourly while keys are written. The
last 10 stay, one an hour for a day, one a day for 30 days; the very first one, and those from
before a great loss, stay for good.

${settings}
  --json                      Print the same as JSON.`,
});

export const configRestore = defineCommand<Asked, HomeVersions>({
  ...OVER_VERSIONS,
  name: 'config restore',
  settings: ['config', ...UPSTREAM_SETTINGS, 'dataDir', 'inPlace', 'database'],
  words: { names: ['VERSION'], least: 0 },
  flags: [DROP_WAITING, OUT, DRY_RUN, JSON_FLAG],
  async work(versions, { json, wanted, dropWaiting, out, dryRun }, { output, folder }) {
    if (wanted === undefined) throw new Error(offerOf(await versions.read(versionToOffer)));
    if (dryRun) {
      await versions.check(wanted);
      for (const line of await previewOf(versions, wanted, json)) output.line(line);
      return;
    }
    if (out !== null && versions.writeOut === null) throw new Error('--out: expected --upstream with it');
    const done =
      out === null || versions.writeOut === null
        ? await versions.restore(wanted, { dropWaiting })
        : await versions.writeOut(wanted, { path: resolve(folder, out), named: out });
    for (const line of json ? [JSON.stringify(done.json, null, 2)] : done.lines) output.line(line);
    if (done.problem !== null) throw new Error(done.problem);
  },
  help: (
    settings,
  ) => `Usage: keyway config restore VERSION [--config FILE | --upstream URL] [--data-dir DIR] [--in-place]
                             [--dry-run] [--drop-waiting] [--out FILE] [--json]

Makes the server's configuration file, byte for byte, what it was in that version; what it is now
is kept as a version first. A Keyway that serves the file does this itself, live at once. VERSION is
as "keyway config list" shows it, or its beginning as far as it is the only one.

With --upstream the version is sent to that running server, and what it has now kept first; the
server has its keys within some seconds.

With --dry-run it says what would change, and changes nothing.

With --out it is written to a new file instead, with the keys as Keyway knew them last, and nothing
is sent: for a server that has destroyed its file and does not start. Put it where that was.

Changes that such a Keyway could not write, because the disk was full or the file broken, wait in it
and come back over the restored version; they are named, keys as in the log by the beginning of
their SHA-256. With --drop-waiting it gives them up, so that the version is what stands.

${settings}
  --dry-run                   Say what would change, and change nothing.
  --drop-waiting              Give up the changes that wait for a write.
  --out FILE                  Write it to this new file, readable by you alone; with --upstream.
  --json                      Print what was restored, or would change, as JSON.

  keyway config list
  keyway config restore 20261121T032400`,
});

/** Tells the changes that restoring a version would make. Throws an `Error` for people where it cannot be told. */
async function previewOf(home: HomeVersions, wanted: string, json: boolean): Promise<readonly string[]> {
  const { versions, problem } = await home.read((source) => compareVersion(source, wanted));
  const [version] = versions;
  if (version === undefined) return [];
  const { keptAt, id, difference, isNow } = version;
  if (difference === null)
    throw new Error(problem === null ? `version ${id} cannot be read as a configuration` : reasonOf(problem));
  if (json)
    return [JSON.stringify({ wouldRestore: comparedRecord(version), ...differenceRecord(difference) }, null, 2)];
  const when = `version ${id} of ${new Date(keptAt).toISOString()}`;
  return [
    `${when} would change: ${isNow ? 'nothing' : printable(differenceWords(difference))}`,
    ...linesOf(difference),
  ];
}

const reasonOf = (problem: unknown): string =>
  problem instanceof DomainError ? wordsOf(problem) : failureWords(problem);

function differenceRecord({ added, removed, changed, places }: VersionDifference) {
  const keysOf = (keys: VersionDifference['added']) => keys.map(({ accessKey }) => accessKey);
  return { added: keysOf(added), removed: keysOf(removed), changed: keysOf(changed), places };
}

function linesOf({ added, removed, changed, places }: VersionDifference): readonly string[] {
  const named = (doing: string, all: readonly string[]) => [
    ...all.slice(0, MOST_NAMED).map((each) => `  would ${doing} ${each}`),
    ...(all.length > MOST_NAMED ? [`  would ${doing} ${all.length - MOST_NAMED} more`] : []),
  ];
  return [
    ...named('add', added.map(keyLine)),
    ...named('remove', removed.map(keyLine)),
    ...named('set', changed.map(keyLine)),
    ...named('change', places.map(printable)),
  ];
}

/** The version to restore where none is named. */
function offerOf(offered: KeptVersion | null): string {
  if (offered === null) return 'no versions are kept of anything else than what is there now';
  const what = offered.forever ? 'The last good content before a loss' : 'The newest one';
  return `expected a VERSION. ${what} was kept on ${new Date(offered.keptAt).toISOString()}: keyway config restore ${offered.id}`;
}

import { resolve } from 'node:path';
import type { KeptVersion } from '../../document/retention.js';
import { type HomeVersions, recordOf, versionsOf } from '../../gateway/homes/versions.js';
import { type FlagReading, type ParsedFlags, switchFlag, valueFlag } from '../../settings/flags.js';
import { type Settings, UPSTREAM_SETTINGS } from '../../settings/table.js';
import type { CommandContext } from '../command.js';
import { complainingLog } from '../complaining-log.js';
import { defineCommand, UsageError } from '../define-command.js';
import { textTable } from '../text-table.js';

const JSON_FLAG = switchFlag('json');
const OUT = valueFlag('out', 'FILE', 'paths');
const DROP_WAITING = switchFlag('drop-waiting');

/** The command line of both, read. */
interface Asked {
  readonly json: boolean;
  readonly wanted: string | undefined;
  readonly dropWaiting: boolean;
  /** The file to write a version to, or null. */
  readonly out: string | null;
}

/** The scaffold of both: the reading of their command line, and the kept versions of one home's configuration. */
const OVER_VERSIONS = {
  ask: (reading: FlagReading, { words }: ParsedFlags): Asked => ({
    json: reading.isOn('json'),
    wanted: words[0],
    dropWaiting: reading.isOn(DROP_WAITING.flag),
    out: reading.value(OUT.flag),
  }),
  async home({ home }: Settings, _asked: Asked, { context }: { readonly context: CommandContext }) {
    const versions = versionsOf(home, { ...context, log: complainingLog(context) });
    if (versions === null) throw new UsageError('without a configuration file there are no kept versions');
    return versions;
  },
};

/** The last one before a great loss, then the others as they are. */
function offeredFirst(versions: readonly KeptVersion[]): readonly KeptVersion[] {
  const lost = versions.findIndex(({ forever }) => forever);
  return lost < 0 ? versions : [versions[lost], ...versions.toSpliced(lost, 1)].flatMap((version) => version ?? []);
}

export const configList = defineCommand<Asked, HomeVersions>({
  ...OVER_VERSIONS,
  name: 'config list',
  settings: ['config', 'upstream', 'dataDir', 'database'],
  flags: [JSON_FLAG],
  words: { names: [] },
  async work(versions, { json }, { output }) {
    const records = offeredFirst((await versions.list()).toReversed()).map(recordOf);
    if (json) output.line(JSON.stringify(records, null, 2));
    else if (records.length === 0) output.line(versions.none);
    else {
      const rows = records.map(({ id, keptAt, forever }) => [id, keptAt, forever ? 'for ever' : 'for now']);
      output.line(textTable(['version', 'kept at (UTC)', 'kept'], rows));
    }
  },
  help: (settings) => `Usage: keyway config list [--config FILE | --upstream URL] [--data-dir DIR] [--json]

Lists the kept versions of the server's configuration file, or with --upstream of the configuration of that
running server, newest first. Keyway keeps one before
its first write after a start, after every edit from outside, before every replacement through the
API, and at most one an hour for further key writes: the last 10, one a day for 30 days, the very
first and those before a great loss for ever. In a database it keeps one before every replacement.

${settings}
  --json                      Print the same as JSON.`,
});

export const configRestore = defineCommand<Asked, HomeVersions>({
  ...OVER_VERSIONS,
  name: 'config restore',
  settings: ['config', ...UPSTREAM_SETTINGS, 'dataDir', 'inPlace', 'database'],
  words: { names: ['VERSION'], least: 0 },
  flags: [DROP_WAITING, OUT, JSON_FLAG],
  async work(versions, { json, wanted, dropWaiting, out }, { output, folder }) {
    if (wanted === undefined) throw new Error(offerOf(await versions.list()));
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
                             [--drop-waiting] [--out FILE] [--json]

Makes the server's configuration file, byte for byte, what it was in that version; what it is now
is kept as a version first. A Keyway that serves the file takes it as an edit by hand, live at
once. VERSION is as "keyway config list" shows it, or its beginning as far as it is the only one.

With --upstream the version is sent to that running server, and what it has now kept first; the
server has its keys within some seconds.

With --out it is written to a new file instead, with the keys as Keyway knew them last, and nothing
is sent: for a server that has destroyed its file and does not start. Put it where that was.

Changes that such a Keyway could not write, because the disk was full or the file broken, wait in it
and come back over the restored version; they are named, keys as in the log by the beginning of
their SHA-256. With --drop-waiting the Keyway that serves restores the version itself and gives
them up, so that the version is what stands.

${settings}
  --drop-waiting              Give up the changes that wait for a write.
  --out FILE                  Write it to this new file, readable by you alone; with --upstream.
  --json                      Print what was restored as JSON.

  keyway config list
  keyway config restore 20261121T032400`,
});

/** The version to restore where none is named: one kept before a great loss comes first. */
function offerOf(versions: readonly KeptVersion[]): string {
  const beforeLoss = versions.findLast(({ forever }) => forever);
  const offered = beforeLoss ?? versions.at(-1);
  if (offered === undefined) return 'no versions are kept';
  const what = beforeLoss === undefined ? 'The newest one' : 'The last good content before a loss';
  return `expected a VERSION. ${what} was kept on ${new Date(offered.keptAt).toISOString()}: keyway config restore ${offered.id}`;
}

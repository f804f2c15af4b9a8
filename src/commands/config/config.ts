import { resolve } from 'node:path';
import { type ResolvedUpstream, silent } from '../../gateway/options.js';
import { readDocument } from '../../local/document/document.js';
import { withKnownKeys } from '../../local/document/known-keys.js';
import type { KeptVersion } from '../../local/document/retention.js';
import { checkDataFolder, dataFolderAt, dataFolderOf } from '../../local/file/data-folder.js';
import { createKeptVersions } from '../../local/file/kept-versions.js';
import { listVersions } from '../../local/file/restore-version.js';
import type { VersionsOptions } from '../../local/file/rewrite-file.js';
import { createTarget } from '../../local/file/write-file.js';
import { type RestoredBeside, restoreVersionBeside } from '../../local/restore-beside.js';
import { exists } from '../../platform/presence.js';
import { UPSTREAM_SETTINGS, upstreamOf } from '../../serve/upstream.js';
import { type FlagShape, isOn, parseFlags, problemText } from '../../settings/flags.js';
import { settingsHelp } from '../../settings/help.js';
import { readSettings, type SettingName, settingFlags } from '../../settings/read.js';
import { readKnownKeys } from '../../southbound/state/known-keys.js';
import { restoreConfiguration } from '../../southbound/state/restore-configuration.js';
import { type Command, type CommandContext, type ExitCode, usageProblem, wordsOf } from '../command.js';
import { complainingLog } from '../complaining-log.js';
import { textTable } from '../text-table.js';

const JSON_FLAG: FlagShape = { flag: 'json', placeholder: null, repeatable: false };
const OUT: FlagShape = { flag: 'out', placeholder: 'FILE', repeatable: false, offered: 'paths' };
const DROP_WAITING: FlagShape = { flag: 'drop-waiting', placeholder: null, repeatable: false };

/** A command over the kept versions of one configuration file. */
interface VersionsCommand {
  readonly name: string;
  /** The settings that it looks at. */
  readonly settings: readonly SettingName[];
  /** What its words are called; it takes exactly these. */
  readonly words: readonly string[];
  /** How many of them it needs; all where it does not say. */
  readonly least?: number;
  /** Flags besides those of its settings and --json. */
  readonly flags?: readonly FlagShape[];
  work(place: Place, context: CommandContext): Promise<void>;
  /** The same where the configuration is in a database. */
  overDatabase(place: DatabasePlace, context: CommandContext): Promise<void>;
}

interface DatabasePlace extends Pick<Place, 'json' | 'words'> {
  readonly url: string;
}

interface Place {
  /** Of a file, or of a running server; then `path` is its origin. */
  readonly versions: VersionsOptions;
  /** The running server whose versions they are, or null. */
  readonly upstream: ResolvedUpstream | null;
  readonly json: boolean;
  readonly words: readonly string[];
  readonly dropsWaiting: boolean;
  /** The file to write a version to, or null. */
  readonly out: string | null;
}

function flagsOf({ settings, flags = [] }: VersionsCommand): readonly FlagShape[] {
  return [...settingFlags(settings), ...flags, JSON_FLAG];
}

/** The place that a command line names, or the exit code after what is wrong was said. */
async function readPlace(
  command: VersionsCommand,
  argv: readonly string[],
  context: CommandContext,
): Promise<Place | DatabasePlace | ExitCode> {
  const flags = parseFlags(argv, flagsOf(command));
  const { environment, folder, fileSystem, clock } = context;
  const readFile = fileSystem.read;
  const sources = { flags, environment, folder, readFile };
  const answer = await readSettings(sources, command.settings);
  const problems = answer.ok ? [] : answer.problems.map(problemText);
  if (flags.words.length > command.words.length || flags.words.length < (command.least ?? command.words.length)) {
    problems.push(`expected ${['keyway', command.name, ...command.words].join(' ')}, and flags`);
  }
  if (!answer.ok || problems.length > 0) return usageProblem(context, command.name, problems);
  const { config, database: url, inPlace } = answer.settings;
  const asked = { json: isOn(flags, 'json'), words: flags.words };
  if (url !== null) return { ...asked, url };
  const dataFolder = dataFolderOf(answer.settings);
  const upstream = await upstreamOf(answer.settings, fileSystem);
  const path = upstream?.origin ?? config;
  if (path === null || dataFolder === null) {
    return usageProblem(context, command.name, ['without a configuration file there are no kept versions']);
  }
  const versions = { fileSystem, clock, log: complainingLog(context), path, dataFolder, inPlace };
  return {
    ...asked,
    versions,
    upstream,
    dropsWaiting: isOn(flags, DROP_WAITING.flag),
    out: flags.values.get(OUT.flag)?.[0] ?? null,
  };
}

/** Loaded where one is asked for. */
const database = () => import('../../database/backend.js');

async function runOn(command: VersionsCommand, argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  try {
    const place = await readPlace(command, argv, context);
    if (typeof place === 'number') return place;
    await ('url' in place ? command.overDatabase(place, context) : command.work(place, context));
    return 0;
  } catch (error) {
    context.progress.clear();
    context.complain(`keyway ${command.name}: ${wordsOf(error)}`);
    return 1;
  }
}

function recordOf({ id, keptAt, forever }: KeptVersion) {
  return { id, keptAt: new Date(keptAt).toISOString(), forever };
}

/** The last one before a great loss, then the others as they are. */
function offeredFirst(versions: readonly KeptVersion[]): readonly KeptVersion[] {
  const lost = versions.findIndex(({ forever }) => forever);
  return lost < 0 ? versions : [versions[lost], ...versions.toSpliced(lost, 1)].flatMap((version) => version ?? []);
}

const list: VersionsCommand = {
  name: 'config list',
  settings: ['config', 'upstream', 'dataDir', 'database'],
  words: [],
  work: async ({ versions: place, json }, { output }) =>
    show(await listVersions(place), {
      json,
      output,
      none: `No versions of ${place.path} are kept in ${place.dataFolder}`,
    }),
  overDatabase: async ({ url, json }, { output }) => {
    const { listDatabaseVersions } = await database();
    show(await listDatabaseVersions(url), { json, output, none: 'No versions are kept in the database' });
  },
};

function show(
  versions: readonly KeptVersion[],
  { json, output, none }: Pick<Place, 'json'> & Pick<CommandContext, 'output'> & { readonly none: string },
): void {
  const records = offeredFirst(versions.toReversed()).map(recordOf);
  if (json) output.line(JSON.stringify(records, null, 2));
  else if (records.length === 0) output.line(none);
  else {
    const rows = records.map(({ id, keptAt, forever }) => [id, keptAt, forever ? 'for ever' : 'for now']);
    output.line(textTable(['version', 'kept at (UTC)', 'kept'], rows));
  }
}

const restore: VersionsCommand = {
  name: 'config restore',
  settings: ['config', ...UPSTREAM_SETTINGS, 'dataDir', 'inPlace', 'database'],
  words: ['VERSION'],
  least: 0,
  flags: [DROP_WAITING, OUT],
  work: async (given, context) => {
    const {
      versions: place,
      json,
      words: [wanted],
      dropsWaiting,
      upstream,
    } = given;
    const { output } = context;
    if (wanted === undefined) throw new Error(offerOf(await listVersions(place)));
    if (upstream === null && given.out !== null) throw new Error('--out: expected --upstream with it');
    if (upstream !== null && given.out !== null) return writeOut({ ...given, out: given.out }, context);
    if (upstream !== null) return restoreUpstream({ ...given, upstream }, context);
    const done = await restoreVersionBeside(place, wanted, { dropWaiting: dropsWaiting });
    const restored = recordOf(done.version);
    const { waiting, dropped } = done;
    if (json) output.line(JSON.stringify({ path: place.path, restored, waiting, dropped }, null, 2));
    else {
      output.line(`${place.path} is again what it was on ${restored.keptAt} (version ${restored.id})`);
      for (const line of waitingText(done)) output.line(line);
    }
  },
  overDatabase: async ({ url, json, words: [wanted] }, context) => {
    const { listDatabaseVersions, openDatabaseBackend } = await database();
    if (wanted === undefined) throw new Error(offerOf(await listDatabaseVersions(url)));
    const { output, clock, random, progress } = context;
    const log = complainingLog(context);
    const backend = await openDatabaseBackend({ url, migrates: false, listens: false, clock, random, log, progress });
    try {
      const restored = recordOf(await backend.document.restore(wanted));
      if (json) output.line(JSON.stringify({ restored }, null, 2));
      else output.line(`The configuration is again what it was on ${restored.keptAt} (version ${restored.id})`);
    } finally {
      await backend.close();
    }
  },
};

/** Writes a version of a running server's configuration to a file, with the keys that it had last. */
async function writeOut(
  { versions: place, words, json, out }: Place & { readonly out: string },
  { output, folder, fileSystem }: CommandContext,
): Promise<void> {
  const { clock, dataFolder, path: origin } = place;
  await checkDataFolder(fileSystem, dataFolder, origin);
  const versions = createKeptVersions({ fileSystem, clock, folder: dataFolderAt(dataFolder).versions });
  const version = await versions.find(words[0] ?? '');
  const path = resolve(folder, out);
  if (await exists(fileSystem, path)) throw new Error(`${out} exists and is not overwritten`);
  const content = await versions.read(version.id);
  const known = await readKnownKeys(fileSystem, dataFolder, readDocument(content).configuration.keys);
  const { bytes, keys, added, removed } = withKnownKeys(content, known);
  await createTarget(fileSystem, path, bytes);
  const restored = recordOf(version);
  if (json) return output.line(JSON.stringify({ path, upstream: origin, restored, keys, added, removed }, null, 2));
  output.line(`${out} is the configuration of ${origin} on ${restored.keptAt} (version ${restored.id})`);
  output.line(
    `with the ${keys} keys that Keyway knew last: ${added} more than it had then, and ${removed} of those not`,
  );
}

/** Sends a version back to the running server that it is of. */
async function restoreUpstream(
  { versions: place, words, json, upstream }: Place & { readonly upstream: ResolvedUpstream },
  { output, progress }: CommandContext,
): Promise<void> {
  const { fileSystem, clock, dataFolder, path } = place;
  await checkDataFolder(fileSystem, dataFolder, path);
  const versions = createKeptVersions({ fileSystem, clock, folder: dataFolderAt(dataFolder).versions });
  const { serverAt } = await import('../../gateway/upstream.js');
  const server = serverAt(upstream, { clock, log: silent });
  try {
    progress.show(`sending it to ${path}, which takes it over within some seconds`);
    const { version, isLive } = await restoreConfiguration({ server, versions, clock }, words[0] ?? '');
    const restored = recordOf(version);
    if (json) output.line(JSON.stringify({ upstream: path, restored, live: isLive }, null, 2));
    else output.line(`${path} was sent its configuration of ${restored.keptAt} (version ${restored.id})`);
    if (!isLive)
      throw new Error(
        `${path} does not show the keys of that version: it may not be its configuration, or a key was changed before the server had read it. Then send it again`,
      );
  } finally {
    progress.clear();
    server.close();
  }
}

/** What to restore, for who names nothing: what was kept before a great loss comes first. */
function offerOf(versions: readonly KeptVersion[]): string {
  const beforeLoss = versions.findLast(({ forever }) => forever);
  const offered = beforeLoss ?? versions.at(-1);
  if (offered === undefined) return 'no versions are kept';
  const what = beforeLoss === undefined ? 'The newest one' : 'The last good content before a loss';
  return `expected a VERSION. ${what} was kept on ${new Date(offered.keptAt).toISOString()}: keyway config restore ${offered.id}`;
}

function waitingText({ version, waiting, dropped }: RestoredBeside): readonly string[] {
  const remedy = `To have the version alone: keyway config restore ${version.id} --drop-waiting`;
  if (waiting === null) {
    if (dropped) return ['What waited for a write was dropped.'];
    return [`The Keyway that serves did not say what waits for a write; that comes back over it. ${remedy}`];
  }
  const { count, lines } = waiting;
  if (count === 0) return [];
  const many = count === 1 ? '1 change' : `${count} changes`;
  const heading = dropped
    ? `Dropped, of what could not be written before, ${many}:`
    : `What could not be written before comes back over it, ${many}:`;
  const more = count > lines.length ? [`  and ${count - lines.length} more`] : [];
  return [heading, ...lines.map((line) => `  ${line}`), ...more, ...(dropped ? [] : [remedy])];
}

export const configList: Command = {
  name: list.name,
  flags: flagsOf(list),
  help: () => `Usage: keyway config list [--config FILE | --upstream URL] [--data-dir DIR] [--json]

Lists the kept versions of the server's configuration file, or with --upstream of the configuration of that
running server, newest first. Keyway keeps one before
its first write after a start, after every edit from outside, before every replacement through the
API, and at most one an hour for further key writes: the last 10, one a day for 30 days, the very
first and those before a great loss for ever. In a database it keeps one before every replacement.

${settingsHelp(list.settings)}
  --json                      Print the same as JSON.`,
  run: (argv, context) => runOn(list, argv, context),
};

export const configRestore: Command = {
  name: restore.name,
  flags: flagsOf(restore),
  help: () => `Usage: keyway config restore VERSION [--config FILE | --upstream URL] [--data-dir DIR] [--in-place]
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

${settingsHelp(restore.settings)}
  --drop-waiting              Give up the changes that wait for a write.
  --out FILE                  Write it to this new file, readable by you alone; with --upstream.
  --json                      Print what was restored as JSON.

  keyway config list
  keyway config restore 20261121T032400`,
  run: (argv, context) => runOn(restore, argv, context),
};

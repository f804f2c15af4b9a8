import { recordsOfTokens } from '../core/named-tokens.js';
import type { LogPort } from '../core/ports.js';
import { checkDataFolder } from '../files/data-folder.js';
import { inDataFolder } from '../files/foreign.js';
import { readRecordsFile } from '../files/records-file.js';
import { openConnections } from '../homes/database/connection.js';
import { databaseProblem, migrate, readSchema, SCHEMA_VERSION } from '../homes/database/schema.js';
import { exportState, importState, unlessStopped } from '../homes/database/transfer.js';
import { writeState } from '../homes/file/counters/lines.js';
import { readStored } from '../homes/file/counters/stored.js';
import { notesPut } from '../homes/file/restored-notes.js';
import { exists } from '../platform/presence.js';
import { isOn, type ParsedFlags, problemText, switchFlag } from '../settings/flags.js';
import type { HomePlace, HomePlaceOf } from '../settings/home.js';
import { readSettings, type SettingName } from '../settings/read.js';
import type { Command, CommandContext } from './command.js';
import { complainingLog } from './complaining-log.js';
import { type CommandPlan, defineCommand, UsageError } from './define-command.js';
import { openReplacements } from './replacements.js';

/** A command over a database, and perhaps over a configuration file. */
interface DatabasePlan extends Pick<CommandPlan<Asked, Homes>, 'name' | 'help' | 'flags'> {
  readonly settings: readonly SettingName[];
  work(homes: Homes, flags: ParsedFlags, context: CommandContext): Promise<void>;
}

interface Asked {
  /** Null where none is named. */
  readonly database: HomePlaceOf<'database'> | null;
  readonly flags: ParsedFlags;
}

interface Homes {
  readonly database: HomePlaceOf<'database'>;
  /** The place of a file that is or would be there. */
  readonly beside: HomePlace;
}

const REPLACE = switchFlag('replace');
const DATABASE_SETTINGS: readonly SettingName[] = ['database', 'noMigrate'];
const FILE_SETTINGS: readonly SettingName[] = ['config', 'dataDir', 'inPlace'];

const NO_DATABASE = 'expected --database or KEYWAY_DATABASE_URL';

/** Makes it a command that reads the database apart from the file: here both are named. */
function databaseCommand(plan: DatabasePlan): Command {
  const names = plan.settings.filter((name) => DATABASE_SETTINGS.includes(name));
  return defineCommand<Asked, Homes>({
    ...plan,
    apart: DATABASE_SETTINGS,
    words: { names: [] },
    async ask({ problems }, flags, { sources }) {
      const answer = await readSettings({ ...sources, flags: only(flags, ['database', 'no-migrate']) }, names);
      const database = answer.ok && answer.settings.home.kind === 'database' ? answer.settings.home : null;
      if (!answer.ok) problems.push(...answer.problems.map(problemText));
      else if (database === null) problems.push(NO_DATABASE);
      return { database, flags };
    },
    async home({ home: beside }, { database }) {
      if (database === null) throw new UsageError(NO_DATABASE);
      return { database, beside };
    },
    async work(homes, { flags }, context) {
      await plan.work(homes, flags, context);
    },
    failure: databaseProblem,
  });
}

function only(flags: ParsedFlags, names: readonly string[]): ParsedFlags {
  return {
    ...flags,
    problems: [],
    values: new Map([...flags.values].filter(([name]) => names.includes(name) || name === 'settings')),
  };
}

export const databaseMigrate = databaseCommand({
  name: 'database migrate',
  settings: ['database'],
  async work({ database: { url } }, _flags, { output }) {
    const connections = openConnections({ url, most: 1 });
    try {
      const { version, problem } = await readSchema(connections);
      if (version > SCHEMA_VERSION && problem !== null) throw new Error(problem);
      output.line(schemaLine(version >= SCHEMA_VERSION ? [] : await migrate(connections)));
    } finally {
      await connections.close();
    }
  },
  help: (settings) => `Usage: keyway database migrate [--database URL]

Makes the schema "keyway" in a PostgreSQL database, or brings it up to date, in one transaction: for
those who start their gateways with --no-migrate. It needs a role that may create in the database;
docs/database.md says which rights the gateways then need.

${settings}

  KEYWAY_DATABASE_URL=postgres://keyway@db.internal/keyway keyway database migrate`,
});

const schemaLine = (applied: readonly number[]): string =>
  `The schema of the database: ${applied.length === 0 ? 'nothing to do' : `brought up to version ${applied.at(-1)}`}`;

export const databaseImport = databaseCommand({
  name: 'database import',
  settings: ['database', ...FILE_SETTINGS, 'noMigrate'],
  flags: [REPLACE],
  async work({ database: { url, migrates }, beside: { document } }, flags, context) {
    const { fileSystem, progress, random, clock, output } = context;
    const stop = stopOf(context);
    if (typeof document === 'string') throw new Error(document);
    const { configPath: config, dataFolder } = document;
    const migrated = migrates ? (versions: readonly number[]) => output.line(schemaLine(versions)) : null;
    await unlessStopped(stop, () => expectSchema(url, migrated));
    const place = { dataFolder, configPath: config };
    const { configuration, counters, reports, records } = await inDataFolder(fileSystem, place, async () => {
      await checkDataFolder(fileSystem, dataFolder, config);
      progress.show('reading the configuration file and its counters');
      const stored = await readStored(fileSystem, dataFolder, config);
      return { ...stored, records: await readRecordsFile(fileSystem, dataFolder) };
    });
    if (configuration === null) throw new Error(`there is no configuration file ${config}`);
    const moving = [...recordsOfTokens(records, clock.now()), ...notesPut(records.of('notes'))];
    const state = { configuration, counters, reports: reports ?? [], records: moving };
    const log = complainingLog(context);
    try {
      const replaces = isOn(flags, REPLACE.flag);
      const options = { url, replaces, refused: refusedIn(log), clock, random, progress, stop };
      const imported = await importState(state, options);
      output.line(
        `Took over ${config}: ${imported.keys} keys, counters of ${counters.length}, ${state.reports.length} remembered reports and ${imported.tokens} named tokens`,
      );
      if (imported.present.length > 0)
        context.complain(
          `The database has, or had, named tokens of these names: they stay as they are there: ${imported.present.join(', ')}`,
        );
    } catch (error) {
      throw new Error(`${config} was not taken over: ${databaseProblem(error)}`, { cause: error });
    }
  },
  help: (settings) => `Usage: keyway database import [--config FILE] [--data-dir DIR] [--database URL] [--replace]

Takes the configuration file, the counters, the remembered reports, the named tokens and the notes
of keys over into a database, all or nothing; makes the schema there first, unless --no-migrate is
given. File and data folder stay as they are. Stop the Keyway that serves them first: what it counts
afterwards is not taken over.

${settings}
  --replace                   Replace what the database holds; otherwise keys in it are an error.

  KEYWAY_DATABASE_URL=postgres://keyway@db.internal/keyway \\
    keyway database import --config /etc/tunnel/server.jsonc`,
});

export const databaseExport = databaseCommand({
  name: 'database export',
  settings: ['database', ...FILE_SETTINGS],
  flags: [REPLACE],
  async work({ database: { url }, beside: { document } }, flags, context) {
    const { fileSystem, progress, clock, output } = context;
    const stop = stopOf(context);
    if (typeof document === 'string') throw new Error(document);
    const { configPath: config } = document;
    if (!isOn(flags, REPLACE.flag) && (await exists(fileSystem, config)))
      throw new Error(`${config} exists: --replace replaces it, and keeps it as a version`);
    await unlessStopped(stop, () => expectSchema(url, null));
    const log = complainingLog(context);
    const place = { ...document, fileSystem, clock, log, progress, stop };
    const written = await exportState({ url, refused: refusedIn(log), progress, stop }, async (state) => {
      let count = 0;
      async function* counters() {
        for await (const one of state.counters) {
          yield one;
          count += 1;
        }
      }
      const content = writeState({ ...state, counters: counters(), sources: null }, clock.now());
      const replacements = await openReplacements(place);
      await replacements.restore(content);
      return `counters of ${count} keys, ${state.reports.length} remembered reports and ${state.notes.size} notes of keys`;
    });
    output.line(`Wrote ${config}, ${written}`);
  },
  help: (settings) => `Usage: keyway database export [--config FILE] [--data-dir DIR] [--database URL] [--replace]

Writes what a database holds back as an embedded Keyway keeps it: a configuration file, and a data
folder with counters, remembered reports and the notes of keys. It may run while gateways serve, and takes one moment.

${settings}
  --replace                   Replace the configuration file; it is kept as a version first.

  keyway database export --config ./server.jsonc`,
});

/** Returns a signal that is given once the process is asked to end. */
function stopOf({ untilStopped }: CommandContext): AbortSignal {
  const stop = new AbortController();
  void untilStopped().then((signal) => stop.abort(new Error(`it was ended by ${signal} before it was done`)));
  return stop.signal;
}

/** Says what of the state has no place in the configuration as it was put. */
const refusedIn = (log: LogPort) => (reason: string) =>
  log.warn({ reason }, 'the configuration has no place for a change');

/** Rejects where this Keyway cannot use the schema; one that is missing or older is brought up to date where `migrated` is given. */
async function expectSchema(url: string, migrated: ((versions: readonly number[]) => void) | null): Promise<void> {
  const connections = openConnections({ url, most: 1 });
  try {
    const { problem, version } = await readSchema(connections);
    if (problem === null) return;
    if (version > SCHEMA_VERSION) throw new Error(`${problem}: run the command of a newer Keyway`);
    if (migrated === null) throw new Error(`${problem}: run "keyway database migrate" first`);
    migrated(await migrate(connections));
  } finally {
    await connections.close();
  }
}

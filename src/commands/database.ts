import type { LogPort } from '../core/ports.js';
import { openConnections } from '../database/connection.js';
import { databaseProblem, migrate, readSchema, SCHEMA_VERSION } from '../database/schema.js';
import { exportState, importState } from '../database/transfer.js';
import { writeState } from '../local/counters/lines.js';
import { readStored } from '../local/counters/stored.js';
import { checkDataFolder } from '../local/file/data-folder.js';
import { settleRequest } from '../local/settle-jobs.js';
import { exists } from '../platform/presence.js';
import { type FlagShape, isOn, type ParsedFlags, parseFlags, problemText } from '../settings/flags.js';
import { settingsHelp } from '../settings/help.js';
import type { HomePlace, HomePlaceOf } from '../settings/home.js';
import { readSettings, type SettingName, settingFlags } from '../settings/read.js';
import { type Command, type CommandContext, type ExitCode, usageProblem } from './command.js';
import { complainingLog } from './complaining-log.js';

/** A command over a database, and perhaps over a configuration file. */
interface DatabaseCommand {
  readonly name: string;
  readonly settings: readonly SettingName[];
  readonly flags?: readonly FlagShape[];
  work(given: Given, context: CommandContext): Promise<void>;
}

interface Given {
  readonly database: HomePlaceOf<'database'>;
  /** Where a file is, or would be. */
  readonly beside: HomePlace;
  readonly flags: ParsedFlags;
}

const REPLACE: FlagShape = { flag: 'replace', placeholder: null, repeatable: false };
const DATABASE_SETTINGS: readonly SettingName[] = ['database', 'noMigrate'];
const FILE_SETTINGS: readonly SettingName[] = ['config', 'dataDir', 'inPlace'];

function flagsOf({ settings, flags = [] }: DatabaseCommand): readonly FlagShape[] {
  return [...settingFlags(settings), ...flags];
}

async function runOn(command: DatabaseCommand, argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const flags = parseFlags(argv, flagsOf(command));
  const { environment, folder, fileSystem, progress } = context;
  const sources = { flags, environment, folder, readFile: fileSystem.read, revisionProblem: () => null };
  // The one is read apart from the other: here both are named.
  const isItsOwn = (name: SettingName) => DATABASE_SETTINGS.includes(name);
  const ofDatabase = { ...sources, flags: only(flags, ['database', 'no-migrate']) };
  const database = await readSettings(ofDatabase, command.settings.filter(isItsOwn));
  const others = await readSettings(
    sources,
    command.settings.filter((name) => !isItsOwn(name)),
  );
  const problems = [database, others].flatMap((answer) => (answer.ok ? [] : answer.problems.map(problemText)));
  if (flags.words.length > 0) problems.push(`expected keyway ${command.name}, and flags`);
  const home = database.ok ? database.settings.home : null;
  if (home !== null && home.kind !== 'database') problems.push('expected --database or KEYWAY_DATABASE_URL');
  if (!others.ok || home?.kind !== 'database' || problems.length > 0)
    return usageProblem(context, command.name, problems);
  try {
    await command.work({ database: home, beside: others.settings.home, flags }, context);
    return 0;
  } catch (error) {
    progress.clear();
    context.complain(`keyway ${command.name}: ${databaseProblem(error)}`);
    return 1;
  }
}

function only(flags: ParsedFlags, names: readonly string[]): ParsedFlags {
  return {
    ...flags,
    problems: [],
    values: new Map([...flags.values].filter(([name]) => names.includes(name) || name === 'settings')),
  };
}

const migrating: DatabaseCommand = {
  name: 'database migrate',
  settings: ['database'],
  async work({ database: { url } }, { output }) {
    const connections = openConnections({ url, most: 1 });
    try {
      const { version, problem } = await readSchema(connections);
      if (version > SCHEMA_VERSION && problem !== null) throw new Error(problem);
      output.line(schemaLine(version >= SCHEMA_VERSION ? [] : await migrate(connections)));
    } finally {
      await connections.close();
    }
  },
};

const schemaLine = (applied: readonly number[]): string =>
  `The schema of the database: ${applied.length === 0 ? 'nothing to do' : `brought up to version ${applied.at(-1)}`}`;

const importing: DatabaseCommand = {
  name: 'database import',
  settings: ['database', ...FILE_SETTINGS, 'noMigrate'],
  flags: [REPLACE],
  async work({ database: { url, migrates }, beside: { stored }, flags }, context) {
    const { fileSystem, progress, random, clock, output } = context;
    if (typeof stored === 'string' || stored.configPath === null)
      throw new Error('there is no configuration file to take over');
    const { configPath: config, dataFolder } = stored;
    await expectSchema(url, migrates ? (versions) => output.line(schemaLine(versions)) : null);
    await checkDataFolder(fileSystem, dataFolder, config);
    progress.show('reading the configuration file and its counters');
    const { configuration, counters, reports } = await readStored(fileSystem, dataFolder, config);
    if (configuration === null) throw new Error(`there is no configuration file ${config}`);
    const state = { configuration, counters, reports: reports ?? [] };
    const log = complainingLog(context);
    try {
      const replaces = isOn(flags, REPLACE.flag);
      const keys = await importState(state, { url, replaces, refused: refusedIn(log), clock, random, progress });
      output.line(
        `Took over ${config}: ${keys} keys, counters of ${counters.length} and ${state.reports.length} remembered reports`,
      );
    } catch (error) {
      throw new Error(`${config} was not taken over: ${databaseProblem(error)}`, { cause: error });
    }
  },
};

const exporting: DatabaseCommand = {
  name: 'database export',
  settings: ['database', ...FILE_SETTINGS],
  flags: [REPLACE],
  async work({ database: { url }, beside: { stored }, flags }, context) {
    const { fileSystem, progress, clock, output } = context;
    if (typeof stored === 'string' || stored.configPath === null)
      throw new Error('there is no configuration file to write');
    const { configPath: config } = stored;
    if (!isOn(flags, REPLACE.flag) && (await exists(fileSystem, config)))
      throw new Error(`${config} exists: --replace replaces it, and keeps it as a version`);
    await expectSchema(url, null);
    const log = complainingLog(context);
    const place = { ...stored, fileSystem, clock, log, progress };
    const written = await exportState({ url, refused: refusedIn(log), progress }, async (state) => {
      let count = 0;
      async function* counters() {
        for await (const one of state.counters) {
          yield one;
          count += 1;
        }
      }
      const content = writeState({ ...state, counters: counters(), sources: null }, clock.now());
      await settleRequest(place, 'restore', content, state.configuration);
      return `counters of ${count} keys and ${state.reports.length} remembered reports`;
    });
    output.line(`Wrote ${config}, ${written}`);
  },
};

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

export const databaseMigrate: Command = {
  name: migrating.name,
  flags: flagsOf(migrating),
  help: () => `Usage: keyway database migrate [--database URL]

Makes the schema "keyway" in a PostgreSQL database, or brings it up to date, in one transaction: for
those who start their gateways with --no-migrate. It needs a role that may create in the database;
docs/database.md says which rights the gateways then need.

${settingsHelp(migrating.settings)}

  KEYWAY_DATABASE_URL=postgres://keyway@db.internal/keyway keyway database migrate`,
  run: (argv, context) => runOn(migrating, argv, context),
};

export const databaseImport: Command = {
  name: importing.name,
  flags: flagsOf(importing),
  help: () => `Usage: keyway database import [--config FILE] [--data-dir DIR] [--database URL] [--replace]

Takes the configuration file, the counters and the remembered reports of an embedded Keyway over into
a database, all or nothing; makes the schema there first, unless --no-migrate is given. File and data
folder stay as they are. Stop the Keyway that serves them first: what it counts afterwards is not
taken over.

${settingsHelp(importing.settings)}
  --replace                   Replace what the database holds; otherwise keys in it are an error.

  KEYWAY_DATABASE_URL=postgres://keyway@db.internal/keyway \\
    keyway database import --config /etc/tunnel/server.jsonc`,
  run: (argv, context) => runOn(importing, argv, context),
};

export const databaseExport: Command = {
  name: exporting.name,
  flags: flagsOf(exporting),
  help: () => `Usage: keyway database export [--config FILE] [--data-dir DIR] [--database URL] [--replace]

Writes what a database holds back as an embedded Keyway keeps it: a configuration file, and a data
folder with counters and remembered reports. It may run while gateways serve, and takes one moment.

${settingsHelp(exporting.settings)}
  --replace                   Replace the configuration file; it is kept as a version first.

  keyway database export --config ./server.jsonc`,
  run: (argv, context) => runOn(exporting, argv, context),
};

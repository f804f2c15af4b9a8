import { dataFolderAt } from '../local/data-folder.js';
import { createKeptVersions } from '../local/kept-versions.js';
import type { KeptVersion } from '../local/retention.js';
import { dataFolderOf } from '../settings.js';
import { type FlagShape, parseFlags, problemText } from '../settings-flags.js';
import { settingsHelp } from '../settings-help.js';
import { readSettings, type SettingName, settingFlags } from '../settings-read.js';
import { type Command, type CommandContext, type ExitCode, usageProblem, wordsOf } from './command.js';
import { textTable } from './text-table.js';

const SETTINGS_USED: readonly SettingName[] = ['config', 'dataDir'];
const JSON_FLAG: FlagShape = { flag: 'json', placeholder: null, repeatable: false };

/** What both commands work on. */
interface Place {
  readonly config: string;
  readonly dataFolder: string;
  readonly json: boolean;
  readonly words: readonly string[];
}

/** The place, or the exit code after what is wrong was said. */
async function readPlace(
  name: string,
  argv: readonly string[],
  words: number,
  context: CommandContext,
): Promise<Place | ExitCode> {
  const flags = parseFlags(argv, [...settingFlags(SETTINGS_USED), JSON_FLAG]);
  const { environment, folder, fileSystem } = context;
  const readFile = (path: string) => fileSystem.read(path);
  const answer = await readSettings(
    { flags, environment, folder, readFile, revisionProblem: () => null },
    SETTINGS_USED,
  );
  const problems = answer.ok ? [] : answer.problems.map(problemText);
  if (flags.words.length !== words) {
    problems.push(
      words === 0 ? `${name} takes flags only` : 'expected one version, as "keyway config list" shows them',
    );
  }
  const dataFolder = answer.ok ? dataFolderOf(answer.settings) : null;
  if (!answer.ok || problems.length > 0) return usageProblem(context, name, problems);
  const { config } = answer.settings;
  if (config === null || dataFolder === null) {
    return usageProblem(context, name, ['--no-config: without a configuration file there are no kept versions']);
  }
  return { config, dataFolder, json: flags.values.has('json'), words: flags.words };
}

async function list({ dataFolder, json }: Place, context: CommandContext): Promise<ExitCode> {
  const { fileSystem, clock } = context;
  const kept = createKeptVersions({ fileSystem, folder: dataFolderAt(dataFolder).versions, clock });
  const versions = (await kept.list()).toReversed();
  if (json) {
    const records = versions.map(({ id, keptAt, forever }) => ({
      id,
      keptAt: new Date(keptAt).toISOString(),
      forever,
    }));
    context.output.line(JSON.stringify(records, null, 2));
  } else if (versions.length === 0) context.output.line(`No versions are kept in ${dataFolder}`);
  else context.output.line(textTable(['version', 'kept at', 'kept'], versions.map(row)));
  return 0;
}

function row({ id, keptAt, forever }: KeptVersion): readonly string[] {
  return [id, new Date(keptAt).toISOString(), forever ? 'for ever' : 'for now'];
}

/** Runs a command over the place that its command line names; a failure is said. */
async function at(
  name: string,
  words: number,
  argv: readonly string[],
  context: CommandContext,
  work: (place: Place, context: CommandContext) => Promise<ExitCode>,
): Promise<ExitCode> {
  const place = await readPlace(name, argv, words, context);
  if (typeof place === 'number') return place;
  try {
    return await work(place, context);
  } catch (error) {
    context.complain(`keyway ${name}: ${wordsOf(error)}`);
    return 1;
  }
}

export const configList: Command = {
  name: 'config list',
  summary: 'list the kept versions of the configuration file',
  help: () => `Usage: keyway config list [--config FILE] [--data-dir DIR] [--json]

Lists the kept versions of the server's configuration file, newest first. Keyway keeps one before
its first write after a start, after every edit from outside, before every replacement through the
API, and at most one an hour for further key writes: the last 10, one a day for 30 days, the very
first and those before a great loss for ever.

${settingsHelp(SETTINGS_USED)}
  --json                      print the same as JSON`,
  run: (argv, context) => at('config list', 0, argv, context, list),
};

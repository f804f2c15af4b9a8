import { runInOrder } from '../replay/in-order.js';
import { brokenResult, type ScenarioResult, summaryOf } from '../replay/result.js';
import { type BrokenFile, readScenarioFiles, type ScenarioFile } from '../replay/scenario-files.js';
import { playEmbedded } from '../replay-embedded.js';
import { parseFlags, problemText } from '../settings-flags.js';
import type { Revision } from '../wire/revision.js';
import { type Command, type CommandContext, type ExitCode, usageProblem, wordsOf } from './command.js';
import {
  type BaseUrl,
  baseUrlOf,
  createReporter,
  isOfRevision,
  type ReporterName,
  readFlags,
  reporterNameOf,
  revisionOf,
  scenarioPaths,
  switchFlag,
  timeoutOf,
  valueFlag,
} from './replay-settings.js';

/** Scenarios on embedded cores wait more than they compute. */
const AT_ONCE = 4;

const FLAGS = [
  valueFlag('target', 'URL'),
  valueFlag('revision', 'R'),
  valueFlag('username', 'NAME'),
  valueFlag('token', 'TOKEN'),
  switchFlag('writes'),
  switchFlag('destructive'),
  valueFlag('reporter', 'json|junit|tap'),
  switchFlag('update'),
  valueFlag('timeout', 'SECONDS'),
];

interface ReplaySettings {
  readonly target: BaseUrl | null;
  readonly revision: Revision | null;
  readonly revisionText: string | null;
  readonly reporter: ReporterName;
  readonly timeoutMilliseconds: number;
  readonly words: readonly string[];
}

function readSettings(argv: readonly string[]): ReplaySettings | readonly string[] {
  const flags = parseFlags(argv, FLAGS);
  const reading = readFlags(flags);
  const settings: ReplaySettings = {
    target: baseUrlOf(reading, 'target'),
    revision: revisionOf(reading, 'revision'),
    revisionText: reading.value('revision'),
    reporter: reporterNameOf(reading),
    timeoutMilliseconds: timeoutOf(reading),
    words: flags.words,
  };
  const problems = [...flags.problems.map(problemText), ...reading.problems];
  return problems.length > 0 ? problems : settings;
}

async function run(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const settings = readSettings(argv);
  if (!('words' in settings)) return usageProblem(context, 'replay', settings);
  try {
    const files = await chosenFiles(settings, context);
    return await playAll(files, settings, context);
  } catch (error) {
    context.complain(`keyway replay: ${wordsOf(error)}`);
    return 2;
  }
}

/** Every scenario of the paths; of the pack those of the revision that was asked for. */
async function chosenFiles({ words, revision }: ReplaySettings, context: CommandContext) {
  const files = await readScenarioFiles(scenarioPaths(words, context), context.fileSystem);
  if (files.length === 0) throw new Error('there is no scenario in these paths');
  if (words.length > 0 || revision === null) return files;
  return files.filter((file) => file.kind === 'broken' || isOfRevision(file.scenario.revision, revision));
}

async function playAll(
  files: readonly (ScenarioFile | BrokenFile)[],
  settings: ReplaySettings,
  context: CommandContext,
): Promise<ExitCode> {
  let stopped = false;
  context.untilStopped().then(() => {
    stopped = true;
  });
  const reporter = createReporter(settings.reporter, context);
  reporter.begin(files.length);
  const options = {
    revision: settings.revisionText,
    timeoutMilliseconds: settings.timeoutMilliseconds,
    isStopped: () => stopped,
  };
  const results = await runInOrder<ScenarioFile | BrokenFile, ScenarioResult>(files, AT_ONCE, {
    work: async (file) => (file.kind === 'broken' ? brokenResult(file) : playEmbedded(file, options)),
    onDone: (result) => reporter.done(result),
    isStopped: () => stopped,
  });
  const summary = summaryOf(results);
  reporter.end(results, summary);
  if (stopped) context.complain(`keyway replay: interrupted after ${results.length} of ${files.length} scenarios`);
  if (summary.different > 0) return 1;
  return summary.broken > 0 || stopped ? 2 : 0;
}

export const replay: Command = {
  name: 'replay',
  help: () => 'TBD',
  run,
};

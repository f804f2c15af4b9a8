import type { TargetCredentials } from '../replay/control.js';
import { formatScenario } from '../replay/format.js';
import { runInOrder } from '../replay/in-order.js';
import type { PlayedStep } from '../replay/play.js';
import { brokenResult, type ScenarioResult, summaryOf } from '../replay/result.js';
import { type BrokenFile, readScenarioFiles, type ScenarioFile } from '../replay/scenario-files.js';
import { standInsFor } from '../replay/stand-ins.js';
import { createTargetPlayer, type TargetPlayer } from '../replay/target-player.js';
import { updatedScenario } from '../replay/update.js';
import type { Permissions } from '../replay/why-not.js';
import { playEmbedded } from '../replay-embedded.js';
import { parseFlags, problemText } from '../settings-flags.js';
import type { Revision } from '../wire/revision.js';
import { type Command, type CommandContext, type ExitCode, usageProblem, wordsOf } from './command.js';
import {
  type BaseUrl,
  baseUrlOf,
  createReporter,
  credentialsOf,
  type FlagReading,
  isOfRevision,
  keepSaved,
  REPORTERS,
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

const SOURCES = { username: 'KEYWAY_USERNAME', password: 'KEYWAY_PASSWORD', token: 'KEYWAY_TOKEN' };

const FLAGS = [
  valueFlag('target', 'URL'),
  valueFlag('revision', 'R', 'revisions'),
  valueFlag('username', 'NAME'),
  valueFlag('token', 'TOKEN'),
  switchFlag('writes'),
  switchFlag('destructive'),
  valueFlag('reporter', 'json|junit|tap', REPORTERS),
  switchFlag('update'),
  valueFlag('timeout', 'SECONDS'),
];

interface ReplaySettings {
  readonly target: BaseUrl | null;
  readonly revision: Revision | null;
  readonly revisionText: string | null;
  readonly credentials: TargetCredentials;
  readonly permissions: Permissions;
  readonly reporter: ReporterName;
  readonly update: boolean;
  readonly timeoutMilliseconds: number;
  readonly words: readonly string[];
}

function readSettings(argv: readonly string[], context: CommandContext): ReplaySettings | readonly string[] {
  const flags = parseFlags(argv, FLAGS);
  const reading = readFlags(flags);
  const destructive = reading.isOn('destructive');
  const settings: ReplaySettings = {
    target: baseUrlOf(reading, 'target'),
    revision: revisionOf(reading, 'revision'),
    revisionText: reading.value('revision'),
    credentials: credentialsOf(reading, context, SOURCES),
    permissions: { writes: reading.isOn('writes') || destructive, destructive },
    reporter: reporterNameOf(reading),
    update: reading.isOn('update'),
    timeoutMilliseconds: timeoutOf(reading),
    words: flags.words,
  };
  const problems = [...flags.problems.map(problemText), ...reading.problems];
  if (reading.value('target') === null) problems.push(...onlyForTargets(settings, reading));
  else if (reading.value('revision') === null)
    problems.push('--revision: expected what the target speaks, such as --revision 0.2.48');
  if (settings.update && settings.words.length === 0)
    problems.push('--update: expected the paths whose answers are to be rewritten');
  return problems.length > 0 ? problems : settings;
}

function onlyForTargets({ update }: ReplaySettings, reading: FlagReading): readonly string[] {
  const given = ['username', 'token', 'writes', 'destructive'].filter((flag) => reading.value(flag) !== null);
  return [...given, ...(update ? ['update'] : [])].map((flag) => `--${flag}: expected a --target beside it`);
}

async function run(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const settings = readSettings(argv, context);
  if (!('words' in settings)) return usageProblem(context, 'replay', settings);
  const stop = { asked: false };
  context.untilStopped().then(() => {
    stop.asked = true;
  });
  try {
    const files = await chosenFiles(settings, context);
    const { target, revision } = settings;
    if (target === null || revision === null) return await playEmbeddedFiles(files, settings, context, stop);
    return await playTargetFiles(files, { ...settings, target, revision }, context, stop);
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

interface Stop {
  asked: boolean;
}

async function playEmbeddedFiles(
  files: readonly (ScenarioFile | BrokenFile)[],
  { reporter: name, revisionText, timeoutMilliseconds }: ReplaySettings,
  context: CommandContext,
  stop: Stop,
): Promise<ExitCode> {
  const reporter = createReporter(name, context);
  reporter.begin(files.length);
  const isStopped = () => stop.asked;
  const options = { revision: revisionText, timeoutMilliseconds, isStopped };
  const results = await runInOrder<ScenarioFile | BrokenFile, ScenarioResult>(files, AT_ONCE, {
    work: async (file) => (file.kind === 'broken' ? brokenResult(file) : playEmbedded(file, options)),
    onDone: (result) => reporter.done(result),
    isStopped,
  });
  reporter.end(results, summaryOf(results));
  return exitCodeOf(results, files.length, context, stop);
}

async function playTargetFiles(
  files: readonly (ScenarioFile | BrokenFile)[],
  settings: ReplaySettings & { readonly target: BaseUrl; readonly revision: Revision },
  context: CommandContext,
  stop: Stop,
): Promise<ExitCode> {
  const { target, revision, credentials, permissions, timeoutMilliseconds } = settings;
  const { random } = context;
  const player = await createTargetPlayer({
    ...target,
    revision,
    credentials,
    permissions,
    timeoutMilliseconds,
    random,
    keepSaved: (saved) => keepSaved(saved, context),
  });
  const results: ScenarioResult[] = [];
  let problems: readonly string[] = [];
  try {
    const scenarios = files.flatMap((file) => (file.kind === 'scenario' ? [file.scenario] : []));
    const say = settings.reporter === 'text' ? context.output.line : context.complain;
    for (const line of player.plan(scenarios)) say(`on ${target.origin}: ${line}`);
    const reporter = createReporter(settings.reporter, context);
    reporter.begin(files.length);
    for (const file of files) {
      if (stop.asked) break;
      const result = await playOne(file, player, settings, context, stop);
      results.push(result);
      reporter.done(result);
    }
    reporter.end(results, summaryOf(results));
  } finally {
    problems = await player.finish();
    for (const problem of problems) context.complain(`keyway replay: ${problem}`);
  }
  const code = exitCodeOf(results, files.length, context, stop);
  return problems.length > 0 && code === 0 ? 2 : code;
}

async function playOne(
  file: ScenarioFile | BrokenFile,
  player: TargetPlayer,
  { update, credentials }: ReplaySettings,
  context: CommandContext,
  stop: Stop,
): Promise<ScenarioResult> {
  if (file.kind === 'broken') return brokenResult(file);
  const isStopped = () => stop.asked;
  if (!update) return player.play(file, { isStopped });
  const steps: PlayedStep[] = [];
  const bindings = standInsFor(file.scenario, player.keyPrefix, credentials.operator?.username);
  const result = await player.play(file, { isStopped, bindings, onStep: (step) => steps.push(step) });
  if (result.outcome !== 'different' || stop.asked) return result;
  if (file.scenario.source === 'spec')
    return { ...result, hint: 'not rewritten: this scenario is written from the specification' };
  const date = new Date(context.clock.now()).toISOString().slice(0, 10);
  const marks = { serverVersion: player.facts.version, date };
  const content = formatScenario(updatedScenario(file.scenario, { steps, bindings }, marks));
  await context.fileSystem.overwrite(file.path, Buffer.from(content));
  context.complain(`rewrote ${file.path}`);
  return { ...result, outcome: 'equal', known: result.differences.length, differences: [] };
}

function exitCodeOf(results: readonly ScenarioResult[], count: number, context: CommandContext, stop: Stop): ExitCode {
  if (stop.asked) context.complain(`keyway replay: interrupted after ${results.length} of ${count} scenarios`);
  const { different, broken } = summaryOf(results);
  if (different > 0) return 1;
  return broken > 0 || stop.asked ? 2 : 0;
}

export const replay: Command = {
  name: 'replay',
  flags: FLAGS,
  words: 'paths',
  help: () => `Usage: keyway replay [PATHS…] [--revision R]
       keyway replay [PATHS…] --target URL --revision R [--writes | --destructive]

Plays scenarios and compares every answer. PATHS are scenario files and folders; without them the
scenarios that come with Keyway, or those of R.

Without --target each scenario is played on an embedded core of its own that stands in exactly the
state it names, with a fixed clock and fixed randomness; --revision plays it on another revision.

On a target only what reads is played, unless more is permitted; what is not played says why. A
login signs out whoever is signed in. Keys are made under generated texts, no other is touched, and
they are removed at the end, on failure and on interrupt. What is replaced is saved first and put back.

  --target URL               The server's base URL, with its web path: http://127.0.0.1:9090/secret
  --revision R               earliest, dns, current, or a version such as 0.2.48.
  --username NAME            The operator; the password comes from KEYWAY_PASSWORD.
  --token TOKEN              The static token (or KEYWAY_TOKEN).
  --writes                   Also makes keys of its own.
  --destructive              Also replaces configuration, rules, DNS settings and audit list.
  --update                   Rewrites the expected answers of recordings from the target.
  --reporter json|junit|tap  For programs, instead of text.
  --timeout SECONDS          How long one exchange may take. Default: 10.

  keyway replay
  KEYWAY_PASSWORD=… keyway replay --target http://127.0.0.1:9090 --revision 0.2.48 --username admin
  keyway replay recordings --revision 0.3.6

Exit codes: 0 equal, 1 something differs, 2 could not run.`,
  run,
};

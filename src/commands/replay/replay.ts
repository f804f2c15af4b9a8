import { playEmbedded } from '../../embedded/play.js';
import { formatScenario } from '../../replay/format.js';
import { runInOrder } from '../../replay/in-order.js';
import type { PlayedStep } from '../../replay/play.js';
import { brokenResult, type ScenarioResult, summaryOf } from '../../replay/result.js';
import type { BrokenFile, ScenarioFile } from '../../replay/scenario-files.js';
import { standInsFor } from '../../replay/stand-ins.js';
import type { TargetPlayer } from '../../replay/target-player.js';
import { updatedScenario } from '../../replay/update.js';
import { parseFlags, problemText } from '../../settings/flags.js';
import type { TargetCredentials } from '../../southbound/control.js';
import type { Revision } from '../../wire/traits/revision.js';
import { type Command, type CommandContext, type ExitCode, usageProblem } from '../command.js';
import { createReporter, type FoundFiles, meetServer, type Playing, runPlaying, sayPlan } from './run.js';
import {
  type BaseUrl,
  baseUrlOf,
  credentialsOf,
  type FlagReading,
  PLAY_FLAGS,
  type PlaySettings,
  readFlags,
  readPlaySettings,
  revisionOf,
  switchFlag,
  valueFlag,
} from './settings.js';

/** Scenarios on embedded cores wait more than they compute. */
const AT_ONCE = 4;

const SOURCES = { username: 'KEYWAY_USERNAME', password: 'KEYWAY_PASSWORD', token: 'KEYWAY_TOKEN' };

const FLAGS = [
  valueFlag('target', 'URL'),
  valueFlag('revision', 'R', 'revisions'),
  valueFlag('username', 'NAME'),
  valueFlag('token', 'TOKEN'),
  switchFlag('update'),
  ...PLAY_FLAGS,
];

interface ReplaySettings extends PlaySettings {
  readonly target: BaseUrl | null;
  readonly revision: Revision | null;
  readonly revisionText: string | null;
  readonly credentials: TargetCredentials;
  readonly update: boolean;
}

function readSettings(argv: readonly string[], context: CommandContext): ReplaySettings | readonly string[] {
  const flags = parseFlags(argv, FLAGS);
  const reading = readFlags(flags);
  const settings: ReplaySettings = {
    target: baseUrlOf(reading, 'target'),
    revision: revisionOf(reading, 'revision'),
    revisionText: reading.value('revision'),
    credentials: credentialsOf(reading, context, SOURCES),
    update: reading.isOn('update'),
    ...readPlaySettings(reading, flags),
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
  const { target, revision } = settings;
  const asked = { settings, revisions: revision === null ? [] : [revision] };
  return runPlaying('replay', asked, context, async (files, playing) =>
    target === null || revision === null
      ? playEmbeddedFiles(files, settings, playing)
      : playTargetFiles(files, { ...settings, target, revision }, playing),
  );
}

async function playEmbeddedFiles(
  files: FoundFiles,
  { reporter: name, revisionText, timeoutMilliseconds }: ReplaySettings,
  { context, isStopped }: Playing,
): Promise<readonly ScenarioResult[]> {
  const reporter = createReporter(name, context);
  reporter.begin(files.length);
  const options = { revision: revisionText, timeoutMilliseconds, isStopped };
  const results = await runInOrder<ScenarioFile | BrokenFile, ScenarioResult>(files, AT_ONCE, {
    work: async (file) => (file.kind === 'broken' ? brokenResult(file) : playEmbedded(file, options)),
    onDone: (result) => reporter.done(result),
    isStopped,
  });
  reporter.end(results, summaryOf(results));
  return results;
}

async function playTargetFiles(
  files: FoundFiles,
  settings: ReplaySettings & { readonly target: BaseUrl; readonly revision: Revision },
  playing: Playing,
): Promise<readonly ScenarioResult[]> {
  const { context, isStopped, problems } = playing;
  const player = await meetServer('target', { ...settings, ...settings.target }, context);
  const results: ScenarioResult[] = [];
  try {
    sayPlan(player, files, settings, context);
    const reporter = createReporter(settings.reporter, context);
    reporter.begin(files.length);
    for (const file of files) {
      if (isStopped()) break;
      const result = await playOne(file, player, settings, playing);
      results.push(result);
      reporter.done(result);
    }
    reporter.end(results, summaryOf(results));
  } finally {
    problems.push(...(await player.finish()));
  }
  return results;
}

async function playOne(
  file: ScenarioFile | BrokenFile,
  player: TargetPlayer,
  { update, credentials, revision }: ReplaySettings & { readonly revision: Revision },
  { context, isStopped }: Playing,
): Promise<ScenarioResult> {
  if (file.kind === 'broken') return brokenResult(file);
  if (!update) return player.play(file, { isStopped });
  const steps: PlayedStep[] = [];
  const bindings = standInsFor(file.scenario, player.keyPrefix, credentials.operator?.username);
  const result = await player.play(file, { isStopped, bindings, onStep: (step) => steps.push(step) });
  if (result.outcome !== 'different' || isStopped()) return result;
  if (file.scenario.source === 'spec')
    return { ...result, hint: 'not rewritten: this scenario is written from the specification' };
  const date = new Date(context.clock.now()).toISOString().slice(0, 10);
  const marks = { serverVersion: player.facts.version, date, traits: revision };
  const content = formatScenario(updatedScenario(file.scenario, { steps, bindings }, marks));
  await context.fileSystem.overwrite(file.path, Buffer.from(content));
  context.complain(`rewrote ${file.path}`);
  return { ...result, outcome: 'equal', known: result.differences.length, differences: [] };
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

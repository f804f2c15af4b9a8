import { REVISIONS } from '../../../revisions/all.js';
import { createCaller } from '../../client/caller.js';
import type { FileSystemPort } from '../../core/ports.js';
import { readTarget, replaceTarget } from '../../files/write-file.js';
import { brokenResult, type ScenarioResult } from '../../lab/compare/result.js';
import { formatScenario } from '../../lab/format/format.js';
import { NoApiThere } from '../../lab/live/target-facts.js';
import type { TargetPlayer } from '../../lab/live/target-player.js';
import { runInOrder } from '../../lab/play/in-order.js';
import type { PlayedStep } from '../../lab/play/play.js';
import type { BrokenFile, ScenarioFile } from '../../lab/play/scenario-files.js';
import { createLook } from '../../lab/reads/look.js';
import { type ReadReport, readServer } from '../../lab/reads/standing.js';
import { updatedScenario } from '../../lab/record/update.js';
import { fittingWords, operationsIn } from '../../lab/report/verdict.js';
import { failureCode } from '../../platform/failure-words.js';
import { type FlagReading, type ParsedFlags, switchFlag, valueFlag } from '../../settings/flags.js';
import { type OperationName, operationsOf } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { CommandContext, ExitCode } from '../command.js';
import { defineCommand, NO_HOME } from '../define-command.js';
import {
  type FoundFiles,
  filesIn,
  finishAll,
  meetServer,
  type Played,
  type Playing,
  runPlaying,
  sayBeside,
  sayPlan,
  whyUnjudged,
} from './run.js';
import {
  type BaseUrl,
  baseUrlOf,
  credentialsOf,
  lineOf,
  PLAY_FLAGS,
  readPlaySettings,
  revisionOf,
  trustedBy,
} from './settings.js';

/** Scenarios on embedded cores wait more than they compute. */
const AT_ONCE = 4;

/** Headings of the two columns of a difference. */
const SIDES = ['expected', 'found'] as const;

const SOURCES = { username: 'KEYWAY_USERNAME', password: 'KEYWAY_PASSWORD', token: 'KEYWAY_TOKEN' };

const FLAGS = [
  valueFlag('target', 'URL'),
  valueFlag('revision', 'R', 'revisions'),
  valueFlag('username', 'NAME'),
  valueFlag('token', 'TOKEN'),
  switchFlag('update'),
  switchFlag('format'),
  ...PLAY_FLAGS,
];

type ReplaySettings = ReturnType<typeof readSettings>;

function readSettings(reading: FlagReading, flags: ParsedFlags, context: CommandContext) {
  const settings = {
    target: baseUrlOf(reading, 'target'),
    revision: revisionOf(reading, 'revision'),
    revisionText: reading.value('revision'),
    credentials: credentialsOf(reading, context, SOURCES),
    update: reading.isOn('update'),
    format: reading.isOn('format'),
    ...readPlaySettings(reading, flags),
  };
  const { update, format, words } = settings;
  if (reading.value('target') === null)
    for (const flag of ['username', 'token', 'ca', 'writes', 'update'])
      if (flags.values.has(flag)) reading.problems.push(`--${flag}: expected a --target with it`);
  if (reading.value('target') !== null && reading.value('revision') === null)
    reading.problems.push('--revision: expected what the target speaks, such as --revision 0.2.48');
  if (update && words.length === 0)
    reading.problems.push('--update: expected the paths whose answers are to be rewritten');
  const others = format ? [...flags.values.keys()].filter((flag) => flag !== 'format') : [];
  reading.problems.push(...others.map((flag) => `--${flag}: expected no --format with it`));
  if (format && words.length === 0) reading.problems.push('--format: expected the paths that are to be formatted');
  return settings;
}

async function work(settings: ReplaySettings, context: CommandContext): Promise<ExitCode> {
  if (settings.format) return formatFiles(settings.words, context);
  const { target, revision } = settings;
  const revisions = revision === null ? [] : [revision];
  return runPlaying('replay', { settings, revisions, sides: SIDES }, context, async (files, playing) =>
    target === null || revision === null
      ? playEmbeddedFiles(files, settings, playing)
      : playTargetFiles(files, { ...settings, target, revision }, playing),
  );
}

/** The operations that a verdict is about: those of the scenarios that were named, else all that the revision serves. */
function askedIn(files: FoundFiles, { words, revision }: ReplaySettings): readonly OperationName[] {
  const named = files.flatMap((file) => (file.kind === 'scenario' ? [file.scenario] : []));
  if (words.length > 0 || revision === null) return operationsIn(named);
  return operationsOf(revision).map(({ name }) => name);
}

async function playEmbeddedFiles(files: FoundFiles, settings: ReplaySettings, playing: Playing): Promise<Played> {
  const { playEmbedded } = await import('../../embedded/play.js');
  const { revisionText, timeoutMilliseconds } = settings;
  const { isStopped } = playing;
  playing.begin(files.length);
  const options = { revision: revisionText, timeoutMilliseconds, isStopped };
  await runInOrder<ScenarioFile | BrokenFile, ScenarioResult>(files, AT_ONCE, {
    work: async (file) => (file.kind === 'broken' ? brokenResult(file) : playEmbedded(file, options)),
    onDone: playing.done,
    isStopped,
  });
  return { asked: askedIn(files, settings), reads: null };
}

type OnTarget = ReplaySettings & { readonly target: BaseUrl; readonly revision: Revision };

async function playTargetFiles(files: FoundFiles, settings: OnTarget, playing: Playing): Promise<Played> {
  const { context, isStopped } = playing;
  const asked = askedIn(files, settings);
  let player: TargetPlayer;
  try {
    player = await meetServer('target', { ...settings, ...settings.target }, context);
  } catch (error) {
    return { asked, reads: await readElsewhere(error, settings, playing) };
  }
  try {
    sayPlan(player, files, settings, context);
    // Scenarios that were named are asked for alone.
    const reads = settings.words.length > 0 ? null : await player.read(REVISIONS, lineOf);
    const tried = settings.writes ? await player.tryChanges(isStopped) : [];
    if (reads !== null) sayFitting(reads, settings, context);
    const looked = [...(reads?.results ?? []), ...tried];
    playing.begin(looked.length + files.length);
    for (const result of looked) playing.done(result);
    for (const file of files) {
      if (isStopped()) break;
      playing.done(await playOne(file, player, settings, playing));
    }
    return { asked, reads, unjudged: whyUnjudged([player], [settings.credentials]) };
  } finally {
    await finishAll([player], playing);
  }
}

/** Says first which other line would explain the differences. */
function sayFitting({ lines }: ReadReport, settings: OnTarget, context: CommandContext): void {
  const words = fittingWords(lines);
  if (words !== null) sayBeside(settings, context)(`${words}, not ${settings.revisionText}`);
}

/**
 * A server whose API stands where another line has it is not of this revision. Rejects with the error where it stands
 * nowhere.
 */
async function readElsewhere(error: unknown, settings: OnTarget, playing: Playing): Promise<ReadReport> {
  const { target, revision, credentials, timeoutMilliseconds } = settings;
  if (!(error instanceof Error && error.cause instanceof NoApiThere)) throw error;
  const trusted = await trustedBy(settings.ca, playing.context);
  const caller = createCaller({ origin: target.origin, timeoutMilliseconds, ...trusted });
  try {
    const look = createLook({ caller, webpath: target.webpath, token: credentials.token, session: null });
    const reads = await readServer(look, revision, REVISIONS, lineOf);
    if (reads.lines.fitting.length === 0) throw error;
    sayFitting(reads, settings, playing.context);
    playing.begin(reads.results.length);
    for (const result of reads.results) playing.done(result);
    return reads;
  } finally {
    caller.close();
  }
}

async function playOne(
  file: ScenarioFile | BrokenFile,
  player: TargetPlayer,
  { update, revision, revisionText }: OnTarget,
  { context, isStopped }: Playing,
): Promise<ScenarioResult> {
  if (file.kind === 'broken') return brokenResult(file);
  if (!update) return player.play(file, { isStopped });
  const steps: PlayedStep[] = [];
  const bindings = player.standIns(file.scenario);
  const result = await player.play(file, { isStopped, bindings, onStep: (step) => steps.push(step) });
  if (result.outcome !== 'different' || isStopped()) return result;
  if (file.scenario.source !== 'recorded')
    return { ...result, hint: 'not rewritten: this scenario is written by hand' };
  const date = new Date(context.clock.now()).toISOString().slice(0, 10);
  const { facts, target } = player;
  const marks = { serverVersion: facts.version, date, revision: revisionText ?? revision.id, traits: revision, target };
  const content = formatScenario(updatedScenario(file.scenario, { steps, bindings }, marks));
  await replaceFile(context.fileSystem, file.path, Buffer.from(content));
  context.complain(`rewrote ${file.path}`);
  return { ...result, outcome: 'equal', known: result.differences.length, differences: [] };
}

/** The codes of a file system for a file that may be written, but in whose place no other may be put. */
const IRREPLACEABLE = new Set(['EACCES', 'EPERM', 'EBUSY']);

async function replaceFile(fileSystem: FileSystemPort, path: string, content: Buffer): Promise<void> {
  try {
    await replaceTarget(fileSystem, await readTarget(fileSystem, path), content);
  } catch (error) {
    if (!IRREPLACEABLE.has(failureCode(error) ?? '')) throw error;
    // Such as another user's file, or one that alone is mounted into a container.
    await fileSystem.overwrite(path, content);
  }
}

/** Writes scenario files in their canonical form; what is no scenario is said, and stays as it is. */
async function formatFiles(words: readonly string[], context: CommandContext): Promise<ExitCode> {
  const { fileSystem, output, complain } = context;
  const seen = { changed: 0, broken: 0 };
  const files = await filesIn(words, context);
  for (const file of files) {
    if (file.kind === 'broken') {
      complain(`keyway replay: ${file.problem}`);
      seen.broken += 1;
      continue;
    }
    const content = Buffer.from(formatScenario(file.scenario));
    if (await fileSystem.matches(file.path, content)) continue;
    await replaceFile(fileSystem, file.path, content);
    output.line(`formatted ${file.path}`);
    seen.changed += 1;
  }
  output.line(`${seen.changed} of ${files.length} files changed`);
  return seen.broken > 0 ? 2 : 0;
}

export const replay = defineCommand<ReplaySettings, null>({
  name: 'replay',
  flags: FLAGS,
  offered: 'paths',
  ask: (reading, flags, { context }) => readSettings(reading, flags, context),
  home: NO_HOME,
  work: (_home, settings, context) => work(settings, context),
  failureCode: 2,
  help: () => `Usage: keyway replay [PATHS…] [--revision R]
       keyway replay [PATHS…] --target URL --revision R [--writes]
       keyway replay --format PATHS…

Plays scenarios and compares every answer. PATHS are scenario files and folders; without them the
scenarios that come with Keyway, or those of R.

Without --target each scenario is played on an embedded core of its own that stands in exactly the
state it names, with a fixed clock and fixed randomness; --revision plays it on another revision.

On a target everything that reads show is read and held against the revision: every read of the API,
who is let in (with wrong credentials, too), links, panel and CORS; and the answers are held against one
another. Of the scenarios only those that read are played, unless more is permitted; what is not played
says why. A login, only with a password given, signs out whoever is signed in. Keys are made under
generated texts, no other is touched, and they are removed at the end, on failure and on interrupt.
Nothing else of the server is changed: what only that would show is said to be not seen. Keys, rules,
DNS settings and configuration are read before and after: what is not as before is said last.

  --target URL               The server's base URL, with its web path: http://127.0.0.1:9090/secret
  --revision R               earliest, dns, current, or a version such as 0.2.48.
  --username NAME            The operator; the password comes from KEYWAY_PASSWORD.
  --token TOKEN              The static token (or KEYWAY_TOKEN).
  --writes                   Also makes keys of its own, and tries each change of keys without a credential.
  --update                   Rewrites the expected answers of recordings from the target.
  --format                   Plays nothing: writes the files in their canonical form.
  --require-played N|N%      How many operations have to be seen, or what share of them; else exit code 3.
  --ca FILE                  Certificates in PEM that are trusted instead of the system's.
  --reporter json|junit|github
                             For programs, instead of text.
  --verbose                  Names every scenario that is not played, rather than each reason.
  --timeout SECONDS          How long one exchange may take. Default: 10.

  keyway replay
  KEYWAY_PASSWORD=… keyway replay --target http://127.0.0.1:9090 --revision 0.2.48 --username admin
  keyway replay recordings --revision 0.3.6

Exit codes: 0 equal, 1 something differs or is not as it was before the run, 2 could not run or nothing
was played, 3 less was seen than --require-played asks for, or no credential was given.`,
});

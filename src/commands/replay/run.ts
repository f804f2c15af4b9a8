import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveRevision } from '../../../revisions/index.js';
import type { TargetCredentials } from '../../client/signed-in-caller.js';
import { type ScenarioResult, summaryOf } from '../../lab/compare/result.js';
import { createTargetPlayer, type TargetOptions, type TargetPlayer } from '../../lab/live/target-player.js';
import { type BrokenFile, readScenarioFiles, type ScenarioFile } from '../../lab/play/scenario-files.js';
import type { ReadReport } from '../../lab/reads/standing.js';
import type { LineSink, Reporter } from '../../lab/report/report.js';
import { createGithubReporter } from '../../lab/report/report-github.js';
import { createJsonReporter, createJunitReporter } from '../../lab/report/report-machine.js';
import { createTextReporter, type TextDetail } from '../../lab/report/report-text.js';
import { shortfall, verdictOf } from '../../lab/report/verdict.js';
import type { OperationName } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import { type CommandContext, type ExitCode, wordsOf } from '../command.js';
import { type PlaySettings, type ReporterName, trustedBy } from './settings.js';

/** Tells what becomes of scenarios in the form that was asked for, and on a terminal how far it is. */
function createReporter(
  { reporter: name, isVerbose }: PlaySettings,
  { output, progress, folder }: CommandContext,
  sides: readonly [string, string],
): Reporter {
  const reporter = REPORTERS[name](output.line, { sides, folder, isVerbose });
  let [done, count] = [0, 0];
  const show = () => progress.show(`${done} of ${count}`, done / Math.max(count, 1));
  return {
    begin(total) {
      count = total;
      show();
    },
    done(result) {
      done += 1;
      reporter.done?.(result);
      show();
    },
    end: (end) => reporter.end(end),
  };
}

const REPORTERS: Readonly<Record<ReporterName, (line: LineSink, shown: Shown) => Reporter>> = {
  text: (line, { sides, ...detail }) => createTextReporter(line, sides, detail),
  github: (line, { sides, ...detail }) => createGithubReporter(line, sides, detail),
  json: createJsonReporter,
  junit: createJunitReporter,
};

interface Shown extends TextDetail {
  readonly sides: readonly [string, string];
  readonly folder: string;
}

/** The folder of the scenarios that come with Keyway, wherever it is installed. */
function packFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'fixtures')) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, 'fixtures');
}

const PACK_FOLDERS = ['earliest', 'dns', 'current', 'lines', 'recorded'];

/** Scenario files and what was found to be none, in their order. */
export type FoundFiles = readonly (ScenarioFile | BrokenFile)[];

/** The scenarios of these files and folders. Rejects with an error for people when there is none. */
export async function filesIn(
  words: readonly string[],
  { folder, fileSystem }: Pick<CommandContext, 'folder' | 'fileSystem'>,
  isWanted?: (folder: string) => boolean,
): Promise<FoundFiles> {
  const paths = words.map((each) => resolve(folder, each));
  const files = (await readScenarioFiles(paths, fileSystem, isWanted)).map(withKnownRevision);
  if (files.length === 0) throw new Error('there is no scenario in these paths');
  return files;
}

/** The scenarios that come with Keyway, of the folders that are wanted. */
export function filesOfPack(
  context: Pick<CommandContext, 'folder' | 'fileSystem'>,
  isWanted?: (folder: string) => boolean,
): Promise<FoundFiles> {
  const folders = PACK_FOLDERS.map((each) => join(packFolder(), each));
  return filesIn(folders, context, isWanted);
}

/**
 * The scenarios of the paths; without paths those that come with Keyway, where revisions are named those that belong to
 * one of them.
 */
async function chosenFiles(
  { words }: PlaySettings,
  revisions: readonly Revision[],
  context: CommandContext,
): Promise<FoundFiles> {
  if (words.length > 0) return filesIn(words, context);
  if (revisions.length === 0) return filesOfPack(context);
  // A folder of the pack that is named after a revision or a version holds nothing of others: most need not be read.
  const isWanted = (name: string) => !resolveRevision(name).ok || isOfOne(name, revisions);
  const pack = await filesOfPack(context, isWanted);
  return pack.filter((file) => file.kind === 'broken' || isOfOne(file.scenario.revision, revisions));
}

/** A scenario of a revision that nobody knows is no valid one. */
function withKnownRevision(file: FoundFiles[number]): FoundFiles[number] {
  if (file.kind === 'broken') return file;
  const resolved = resolveRevision(file.scenario.revision);
  if (resolved.ok) return file;
  const { name, path } = file;
  return { kind: 'broken', name, path, problem: `${path}: /revision: ${resolved.problem}` };
}

/** Tells whether a scenario belongs to one of the revisions: it names it, or a server version that speaks it. */
function isOfOne(scenarioRevision: string, revisions: readonly Revision[]): boolean {
  const resolved = resolveRevision(scenarioRevision);
  return resolved.ok && revisions.includes(resolved.revision);
}

/** Meets the server that a flag names; rejects with an error for people that names it too. */
export async function meetServer(
  flag: string,
  { ca, ...options }: Omit<TargetOptions, 'random' | 'ca'> & Pick<PlaySettings, 'ca'>,
  context: CommandContext,
): Promise<TargetPlayer> {
  try {
    const trusted = await trustedBy(ca, context);
    return await createTargetPlayer({ ...options, ...trusted, random: context.random, pause: context.wait });
  } catch (error) {
    throw new Error(`--${flag} ${options.origin}: ${wordsOf(error)}`, { cause: error });
  }
}

/** Says something to people: in the report for them, beside one for programs as a complaint. */
export function sayBeside({ reporter }: PlaySettings, { output, complain }: CommandContext): (words: string) => void {
  return reporter === 'text' ? output.line : complain;
}

/** Says what is going to be changed on a server, before it is. */
export function sayPlan(
  player: TargetPlayer,
  files: FoundFiles,
  settings: PlaySettings,
  context: CommandContext,
): void {
  const say = sayBeside(settings, context);
  const scenarios = files.flatMap((file) => (file.kind === 'scenario' ? [file.scenario] : []));
  for (const line of player.plan(scenarios)) say(`on ${player.target.origin}: ${line}`);
}

/** Why nothing can be said of servers of which nothing differed, or null: one that asks for a credential let nobody in. */
export function whyUnjudged(
  players: readonly TargetPlayer[],
  credentials: readonly TargetCredentials[],
): string | null {
  const closed = players.findIndex(({ facts }) => !facts.isLetIn);
  const given = credentials[closed];
  if (given === undefined) return null;
  const isGiven = (given.token ?? '') !== '' || given.operator !== null;
  return isGiven ? 'no credential that was given lets anybody in' : 'no credential was given';
}

/** A run of a command that plays scenarios. */
export interface Playing {
  readonly context: CommandContext;
  /** Tells whether a signal has asked for the end. */
  readonly isStopped: () => boolean;
  /** Why not all could be played; sentences for people. */
  readonly problems: string[];
  /** Sentences for people about everything on a server that is not as before, said last. */
  readonly changes: string[];
  /** Sentences for people about changes that others made there meanwhile. */
  readonly byOthers: string[];
  /** Told once how many results there will be. */
  begin(count: number): void;
  /** Told of every result, in order. */
  done(result: ScenarioResult): void;
}

/** Ends with every server that was met: removes the run's own keys, and tells what is not as before. */
export async function finishAll(players: readonly TargetPlayer[], playing: Playing): Promise<void> {
  for (const player of players) {
    const { left, byOthers } = await player.finish();
    playing.changes.push(...left);
    playing.byOthers.push(...byOthers);
  }
}

/** The settings of a run. */
interface Asked {
  readonly settings: PlaySettings;
  readonly revisions: readonly Revision[];
  /** Headings of the two columns of a difference. */
  readonly sides: readonly [string, string];
}

/** The result of playing all, which the verdict is made from. */
export interface Played {
  readonly asked: readonly OperationName[];
  /** The results of reads alone; null where no server was read. */
  readonly reads: ReadReport | null;
  /** Why nothing can be said of a server although nothing differed; left out where something can. */
  readonly unjudged?: string | null;
  /** Lines for people, beneath the verdict. */
  readonly summary?: readonly string[];
  /** True where the differences make the exit code 1; left out, any does. */
  readonly fails?: boolean;
}

/**
 * Has the scenarios that were asked for played, reports it whatever happens, and says what went wrong. The exit code is 1
 * when anything differs, or is not on a server as it was before, 2 when something could not be played, was interrupted, or
 * nothing was played at all, 3 when less was seen than is required, or too little for a verdict.
 */
export async function runPlaying(
  command: string,
  { settings, revisions, sides }: Asked,
  context: CommandContext,
  play: (files: FoundFiles, playing: Playing) => Promise<Played>,
): Promise<ExitCode> {
  const reporter = createReporter(settings, context, sides);
  const results: ScenarioResult[] = [];
  const playing: Playing = {
    context,
    isStopped: watchForStop(context),
    problems: [],
    changes: [],
    byOthers: [],
    begin: (count) => reporter.begin?.(count),
    done(result) {
      results.push(result);
      reporter.done?.(result);
    },
  };
  let played: Played | null = null;
  try {
    const files = await chosenFiles(settings, revisions, context);
    played = await play(files, playing);
    if (playing.isStopped()) playing.problems.push(`interrupted after ${results.length} results`);
  } catch (error) {
    playing.problems.push(wordsOf(error));
  }
  const summary = summaryOf(results);
  const isPlayed = summary.equal + summary.different > 0;
  if (!isPlayed && summary.broken === 0 && playing.problems.length === 0) playing.problems.push(whyNothing(results));
  const verdict =
    played === null || !isPlayed ? null : verdictOf(results, played.asked, played.reads, played.unjudged ?? null);
  const said = [...playing.problems, ...playing.changes.map((each) => `not as before: ${each}`)];
  reporter.end({ results, summary, verdict, problems: said });
  if (settings.reporter === 'text') for (const line of played?.summary ?? []) context.output.line(line);
  const short = settings.required === null || verdict === null ? null : shortfall(verdict, settings.required);
  const isWhole = summary.broken === 0 && playing.problems.length === 0;
  if (short !== null && isWhole) context.complain(`keyway ${command}: ${short}`);
  for (const problem of said) context.complain(`keyway ${command}: ${problem}`);
  for (const each of playing.byOthers)
    context.complain(`keyway ${command}: others change the server meanwhile: ${each}`);
  if ((played?.fails ?? summary.different > 0) || playing.changes.length > 0) return 1;
  if (!isWhole) return 2;
  return short === null && (verdict?.unjudged ?? null) === null ? 0 : 3;
}

function whyNothing(results: readonly ScenarioResult[]): string {
  if (results.length === 0) return 'nothing was played: no scenario of this revision comes with Keyway, so name paths';
  return 'nothing was played: every scenario was skipped';
}

function watchForStop({ untilStopped, complain }: CommandContext): () => boolean {
  const stop = { asked: false };
  untilStopped().then(() => {
    stop.asked = true;
    complain('ending, once what the run made is removed; another signal ends it at once');
  });
  return () => stop.asked;
}

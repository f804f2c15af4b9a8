import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { resolveRevision } from '../../../revisions/index.js';
import type { LineSink, Reporter } from '../../replay/report.js';
import { createJsonReporter, createJunitReporter, createTapReporter } from '../../replay/report-machine.js';
import { createTextReporter } from '../../replay/report-text.js';
import { type ScenarioResult, summaryOf } from '../../replay/result.js';
import type { SavedState } from '../../replay/saved-state.js';
import { type BrokenFile, readScenarioFiles, type ScenarioFile } from '../../replay/scenario-files.js';
import { createTargetPlayer, type TargetOptions, type TargetPlayer } from '../../replay/target-player.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { type CommandContext, type ExitCode, wordsOf } from '../command.js';
import type { PlaySettings, ReporterName } from './settings.js';

/** Writes what stood on a server beside the user, readable by nobody else, until it is put back. */
async function keepSaved(
  saved: SavedState,
  flag: string,
  { folder, fileSystem, clock, complain }: CommandContext,
): Promise<() => Promise<void>> {
  const time = new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '');
  const path = join(folder, `keyway-saved-${flag}-${time}.json`);
  const { config, rules, dns, audit, keys } = saved;
  const content = writeJson({ config, rules, dns, audit: [...audit], keys: [...keys] }, 2);
  await fileSystem.create(path, Buffer.from(`${content}\n`), 0o600);
  await fileSystem.sync(path);
  complain(`what stood there is saved in ${path} until it is put back`);
  return () => fileSystem.remove(path);
}

/** Tells what becomes of scenarios in the form that was asked for, and on a terminal how far it is. */
export function createReporter(
  name: ReporterName,
  { output, progress }: CommandContext,
  sides: readonly [string, string] = ['expected', 'found'],
): Reporter {
  const reporter = REPORTERS[name](output.line, sides);
  let [done, count] = [0, 0];
  const show = () => progress.show(`${done} of ${count}`, done / Math.max(count, 1));
  return {
    begin(total) {
      count = total;
      reporter.begin(total);
      show();
    },
    done(result) {
      done += 1;
      reporter.done(result);
      show();
    },
    end: (results, summary) => reporter.end(results, summary),
  };
}

const REPORTERS: Readonly<Record<ReporterName, (line: LineSink, sides: readonly [string, string]) => Reporter>> = {
  text: createTextReporter,
  json: createJsonReporter,
  junit: createJunitReporter,
  tap: createTapReporter,
};

/** The folder of the scenarios that come with Keyway, wherever it is installed. */
export function packFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'fixtures')) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, 'fixtures');
}

const PACK_FOLDERS = ['earliest', 'dns', 'current', 'lines', 'recorded'];

/** Scenario files and what was found to be none, in their order. */
export type FoundFiles = readonly (ScenarioFile | BrokenFile)[];

/**
 * The scenarios of the paths; without paths those that come with Keyway, where revisions are named those that belong to
 * one of them. Rejects with an error for people when there is none.
 */
async function chosenFiles(
  { words }: PlaySettings,
  revisions: readonly Revision[],
  { folder, fileSystem }: CommandContext,
): Promise<FoundFiles> {
  const asked = words.map((each) => resolve(folder, each));
  const pack = PACK_FOLDERS.map((each) => join(packFolder(), each));
  const files = (await readScenarioFiles(asked.length > 0 ? asked : pack, fileSystem)).map(withKnownRevision);
  if (files.length === 0) throw new Error('there is no scenario in these paths');
  if (asked.length > 0 || revisions.length === 0) return files;
  return files.filter((file) => file.kind === 'broken' || isOfOne(file.scenario.revision, revisions));
}

/** A scenario of a revision that nobody knows is no valid one. */
function withKnownRevision(file: FoundFiles[number]): FoundFiles[number] {
  if (file.kind === 'broken') return file;
  const resolved = resolveRevision(file.scenario.revision);
  if (resolved.ok) return file;
  const { name, path } = file;
  return { kind: 'broken', name, path, problem: `${path}: /revision: ${resolved.problem}` };
}

/** Whether a scenario belongs to one of the revisions: it names it, or a server version that speaks it. */
function isOfOne(scenarioRevision: string, revisions: readonly Revision[]): boolean {
  const resolved = resolveRevision(scenarioRevision);
  return resolved.ok && revisions.includes(resolved.revision);
}

/** Meets the server that a flag names; rejects with an error for people that names it too. */
export async function meetServer(
  flag: string,
  options: Omit<TargetOptions, 'random' | 'keepSaved'>,
  context: CommandContext,
): Promise<TargetPlayer> {
  try {
    const keep: TargetOptions['keepSaved'] = (saved) => keepSaved(saved, flag, context);
    return await createTargetPlayer({ ...options, random: context.random, keepSaved: keep });
  } catch (error) {
    throw new Error(`--${flag} ${options.origin}: ${wordsOf(error)}`, { cause: error });
  }
}

/** Says what is going to be changed on a server, before it is; beside a report for programs as a complaint. */
export function sayPlan(
  { plan, target }: TargetPlayer,
  files: FoundFiles,
  { reporter }: PlaySettings,
  { output, complain }: CommandContext,
): void {
  const say = reporter === 'text' ? output.line : complain;
  const scenarios = files.flatMap((file) => (file.kind === 'scenario' ? [file.scenario] : []));
  for (const line of plan(scenarios)) say(`on ${target.origin}: ${line}`);
}

/** A run of a command that plays scenarios. */
export interface Playing {
  readonly context: CommandContext;
  /** Whether a signal has asked for the end. */
  readonly isStopped: () => boolean;
  /** What is to be said at the end, such as what could not be put back on a server. */
  readonly problems: string[];
}

/**
 * Has the scenarios that were asked for played, and says what went wrong. The exit code is 1 when anything differs, 2 when
 * something could not be played, was interrupted, or could not be put back.
 */
export async function runPlaying(
  command: string,
  asked: { readonly settings: PlaySettings; readonly revisions: readonly Revision[] },
  context: CommandContext,
  play: (files: FoundFiles, playing: Playing) => Promise<readonly ScenarioResult[]>,
): Promise<ExitCode> {
  const playing: Playing = { context, isStopped: watchForStop(context), problems: [] };
  let results: readonly ScenarioResult[] = [];
  try {
    const files = await chosenFiles(asked.settings, asked.revisions, context);
    results = await play(files, playing);
    if (playing.isStopped()) playing.problems.push(`interrupted after ${results.length} of ${files.length} scenarios`);
  } catch (error) {
    playing.problems.push(wordsOf(error));
  }
  for (const problem of playing.problems) context.complain(`keyway ${command}: ${problem}`);
  const { different, broken } = summaryOf(results);
  if (different > 0) return 1;
  return broken > 0 || playing.problems.length > 0 ? 2 : 0;
}

function watchForStop({ untilStopped }: CommandContext): () => boolean {
  const stop = { asked: false };
  untilStopped().then(() => {
    stop.asked = true;
  });
  return () => stop.asked;
}

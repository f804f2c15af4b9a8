import { messageOf } from '../../core/errors.js';
import type { Lines } from '../../embedded/play.js';
import { type ComparedScenario, changesIn } from '../../lab/compare/changes.js';
import { CHANGE_KINDS, type ChangeKind, changeOf } from '../../lab/compare/line-changes.js';
import { brokenResult, comparedResult, type ScenarioResult, unplayedResult } from '../../lab/compare/result.js';
import { traitDifferences, traitWords } from '../../lab/compare/trait-differences.js';
import type { BrokenFile, ScenarioFile } from '../../lab/play/scenario-files.js';
import { changeLines } from '../../lab/report/report-changes.js';
import { operationsIn } from '../../lab/report/verdict.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { CommandContext, ExitCode } from '../command.js';
import { type FoundFiles, type Played, type Playing, runPlaying } from './run.js';
import type { PlaySettings } from './settings.js';

/** A move from one line to another, tried on embedded cores. */
export interface RehearseSettings extends PlaySettings {
  readonly lines: Lines;
  readonly from: Revision;
  readonly to: Revision;
  /** The least change that makes the exit code 1. */
  readonly failOn: ChangeKind;
}

/** Plays scenarios on embedded cores of both lines, and says by client and operation what the move changes. */
export function rehearse(settings: RehearseSettings, context: CommandContext): Promise<ExitCode> {
  const { lines, from } = settings;
  const asked = { settings, revisions: [from], sides: [lines.from, lines.to] as const };
  return runPlaying('compare', asked, context, (files, playing) => rehearseAll(files, settings, playing));
}

async function rehearseAll(files: FoundFiles, settings: RehearseSettings, playing: Playing): Promise<Played> {
  const { from, to, lines, failOn } = settings;
  playing.begin(files.length);
  const compared: ComparedScenario[] = [];
  for (const file of files) {
    if (playing.isStopped()) break;
    const { result, differences } = await rehearseOne(file, settings, playing);
    compared.push(...comparedAs(file, { result, differences }, settings));
    playing.done(result);
  }
  const changes = changesIn(compared, { left: from, right: to });
  const moved = addressLines(settings);
  const told = [...moved, ...changeLines(changes)];
  const counted = CHANGE_KINDS.slice(0, CHANGE_KINDS.indexOf(failOn) + 1);
  return {
    asked: operationsIn(files.flatMap((file) => (file.kind === 'scenario' ? [file.scenario] : []))),
    reads: null,
    summary:
      told.length === 0
        ? [`Nothing changes from ${lines.from} to ${lines.to}.`]
        : [`What changes from ${lines.from} to ${lines.to}, by client:`, ...told],
    fails: moved.length > 0 || changes.some(({ kind }) => counted.includes(kind)),
  };
}

/** The result of a scenario on two servers, with what differs between them. */
export interface ComparedFile extends Pick<ComparedScenario, 'differences'> {
  readonly result: ScenarioResult;
}

/** A scenario as its changes are told; nothing for one that was not played. */
export function comparedAs(
  file: ScenarioFile | BrokenFile,
  { result, differences }: ComparedFile,
  { words }: Pick<PlaySettings, 'words'>,
): readonly ComparedScenario[] {
  const isPlayed = result.outcome === 'equal' || result.outcome === 'different';
  if (file.kind === 'broken' || !isPlayed) return [];
  return [{ name: words.length > 0 ? result.name : null, scenario: file.scenario, differences }];
}

async function rehearseOne(
  file: ScenarioFile | BrokenFile,
  { lines, from, to, timeoutMilliseconds }: RehearseSettings,
  { isStopped }: Playing,
): Promise<ComparedFile> {
  if (file.kind === 'broken') return { result: brokenResult(file), differences: [] };
  // Not needed to compare servers.
  const { compareEmbedded } = await import('../../embedded/play.js');
  try {
    const compared = await compareEmbedded(file, lines, { timeoutMilliseconds, isStopped });
    const becauseOf = (difference: (typeof compared.differences)[number]) =>
      changeOf(difference, { left: from, right: to }).because;
    return { result: comparedResult(file, { ...compared, becauseOf }), differences: compared.differences };
  } catch (error) {
    return { result: unplayedResult(file, 'broken', messageOf(error)), differences: [] };
  }
}

/** Scenarios are played wherever a line has its API; clients know an address. */
function addressLines({ from, to }: RehearseSettings): readonly string[] {
  const root = traitDifferences(from, to).find(({ trait }) => trait === 'API root');
  if (root === undefined) return [];
  return ['every client', '  reads that fail', `    everything, at the address that it knows   (${traitWords(root)})`];
}

import { messageOf } from '../../core/errors.js';
import type { Lines } from '../../embedded/play.js';
import { groupDifferences, type RunDifference } from '../../replay/compare/compare-runs.js';
import { CHANGE_KINDS, type ChangeKind, changeOf } from '../../replay/compare/line-changes.js';
import { brokenResult, comparedResult, type ScenarioResult, unplayedResult } from '../../replay/compare/result.js';
import { traitDifferences, traitWords } from '../../replay/compare/trait-differences.js';
import { valueInWords } from '../../replay/format/json-difference.js';
import type { BrokenFile, ScenarioFile } from '../../replay/play/scenario-files.js';
import { operationsIn } from '../../replay/report/verdict.js';
import type { JsonValue } from '../../wire/json/json.js';
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

/** Plays scenarios on embedded cores of both lines, and says by client session and operation what the move changes. */
export function rehearse(settings: RehearseSettings, context: CommandContext): Promise<ExitCode> {
  const { lines, from } = settings;
  const asked = { settings, revisions: [from], sides: [lines.from, lines.to] as const };
  return runPlaying('compare', asked, context, (files, playing) => rehearseAll(files, settings, playing));
}

async function rehearseAll(files: FoundFiles, settings: RehearseSettings, playing: Playing): Promise<Played> {
  playing.begin(files.length);
  const changes: Change[] = addressChange(settings);
  for (const file of files) {
    if (playing.isStopped()) break;
    const { result, differences } = await rehearseOne(file, settings, playing);
    changes.push(...changesIn(result.name, differences, settings));
    playing.done(result);
  }
  const scenarios = files.flatMap((file) => (file.kind === 'scenario' ? [file.scenario] : []));
  const counted = CHANGE_KINDS.slice(0, CHANGE_KINDS.indexOf(settings.failOn) + 1);
  return {
    asked: operationsIn(scenarios),
    reads: null,
    summary: summaryLines(changes, settings),
    fails: changes.some(({ kind }) => counted.includes(kind)),
  };
}

interface Rehearsed {
  readonly result: ScenarioResult;
  readonly differences: readonly RunDifference[];
}

async function rehearseOne(
  file: ScenarioFile | BrokenFile,
  { lines, from, to, timeoutMilliseconds }: RehearseSettings,
  { isStopped }: Playing,
): Promise<Rehearsed> {
  if (file.kind === 'broken') return { result: brokenResult(file), differences: [] };
  // Not needed to compare servers.
  const { compareEmbedded } = await import('../../embedded/play.js');
  try {
    const compared = await compareEmbedded(file, lines, { timeoutMilliseconds, isStopped });
    const result = comparedResult(file, compared, (difference) => changeOf(difference, from, to).because);
    return { result, differences: compared.differences };
  } catch (error) {
    return { result: unplayedResult(file, 'broken', messageOf(error)), differences: [] };
  }
}

/** One change as one client meets it. */
interface Change {
  readonly client: string;
  readonly kind: ChangeKind;
  readonly words: string;
}

/** Scenarios are played wherever a line has its API; clients know an address. */
function addressChange({ from, to }: RehearseSettings): Change[] {
  const root = traitDifferences(from, to).find(({ trait }) => trait === 'API root');
  if (root === undefined) return [];
  const words = `everything, at the address that it knows   (${traitWords(root)})`;
  return [{ client: 'every client', kind: 'reads', words }];
}

/** Lists the changes that a client's session meets, the same change in several places once. */
function changesIn(
  client: string,
  differences: readonly RunDifference[],
  { from, to }: RehearseSettings,
): readonly Change[] {
  const groups = groupDifferences([{ name: client, differences }]);
  return groups.map((group) => {
    const { kind, because } = changeOf({ ...group, step: 0 }, from, to);
    const { operation, where, expected, actual } = group;
    const change =
      where === 'operation'
        ? `${operation}: ${shown(actual)}`
        : `${operation} ${where}: ${shown(expected)} → ${shown(actual)}`;
    return { client, kind, words: because === null ? change : `${change}   (${because})` };
  });
}

function shown(value: JsonValue | undefined): string {
  return typeof value === 'string' && /^(?:not )?served$/.test(value) ? value : valueInWords(value).slice(0, 60);
}

const WORDS: Readonly<Record<ChangeKind, string>> = {
  reads: 'reads that fail',
  gone: 'gone, or refused',
  new: 'new, or other',
};

function summaryLines(changes: readonly Change[], { lines }: RehearseSettings): readonly string[] {
  if (changes.length === 0) return [`Nothing changes from ${lines.from} to ${lines.to}.`];
  const clients = [...new Set(changes.map(({ client }) => client))];
  return [
    `What changes from ${lines.from} to ${lines.to}, by client session:`,
    ...clients.flatMap((client) => [client, ...linesOf(changes.filter((each) => each.client === client))]),
  ];
}

function linesOf(changes: readonly Change[]): readonly string[] {
  return CHANGE_KINDS.flatMap((kind) => {
    const found = changes.filter((each) => each.kind === kind);
    return found.length === 0 ? [] : [`  ${WORDS[kind]}`, ...found.map(({ words }) => `    ${words}`)];
  });
}

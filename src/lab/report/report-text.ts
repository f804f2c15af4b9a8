import type { JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { Outcome, ScenarioResult, ShownDifference, Summary } from '../compare/result.js';
import type { LineSink, Reporter } from './report.js';
import { verdictLines } from './verdict.js';

const LABELS: Readonly<Record<Outcome, string>> = {
  equal: 'equal    ',
  different: 'DIFFERENT',
  skipped: 'skipped  ',
  broken: 'BROKEN   ',
};

/** Widths of the columns of a difference. */
const PLACE = 24;
const SIDE = 36;
/** The most lines of one value; the rest of it is left out. */
const MOST_LINES = 6;

/** Options of the report for users. */
export interface TextDetail {
  /** Gives each skipped scenario a line, instead of each reason. */
  readonly isVerbose: boolean;
}

/** Writes a line for each played scenario, its differences, why others were not played, and a summary. */
export function createTextReporter(
  line: LineSink,
  sides: readonly [string, string],
  { isVerbose }: TextDetail,
): Reporter {
  return {
    done(result) {
      if (result.outcome === 'skipped' && !isVerbose) return;
      for (const text of linesOf(result, sides)) line(text);
      if (result.unplayed !== null && isVerbose) line(`  ${result.unplayed}`);
    },
    end({ results, summary, verdict }) {
      if (!isVerbose) for (const text of reasonLines(results)) line(text);
      if (results.length > 0) line(summaryLine(summary));
      for (const text of verdict === null ? [] : verdictLines(verdict)) line(text);
    },
  };
}

/** Returns why scenarios were not played, or not to their end, with the number for each reason. */
function reasonLines(results: readonly ScenarioResult[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { outcome, reason, unplayed } of results) {
    for (const each of [outcome === 'skipped' ? reason : null, unplayed]) {
      const said = each?.replace(/\bstep \d+/, 'a step');
      if (said !== undefined) counts.set(said, (counts.get(said) ?? 0) + 1);
    }
  }
  if (counts.size === 0) return [];
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  const lines = sorted.map(([reason, count]) => `  ${String(count).padStart(4)}  ${reason}`);
  return ['not played, by reason (--verbose names each):', ...lines];
}

function linesOf(result: ScenarioResult, sides: readonly [string, string]): readonly string[] {
  const known = result.known > 0 ? ` (${result.known} known divergences)` : '';
  const why = result.reason === null ? `${result.title}${known}` : result.reason;
  return [`${LABELS[result.outcome]} ${result.name}: ${why}`, ...differenceLines(result, sides)];
}

function differenceLines({ differences, hint }: ScenarioResult, sides: readonly [string, string]): readonly string[] {
  if (differences.length === 0) return [];
  const lines: string[] = [];
  let heading = '';
  for (const difference of differences) {
    const { step, request } = difference;
    const next = typeof step === 'number' ? `step ${step}: ${request}` : request;
    if (next !== heading) lines.push(`  ${next}`, row('', ...sides));
    heading = next;
    lines.push(...sideBySide(difference));
  }
  return hint === null ? lines : [...lines, `  note: ${hint}`];
}

/** Returns the place, the expected and the actual value side by side; long values continue below. */
function sideBySide({ where, expected, actual }: ShownDifference): readonly string[] {
  const columns = [[cutInTheMiddle(where)], chunks(shown(expected)), chunks(shown(actual))] as const;
  const height = Math.max(...columns.map((column) => column.length));
  return Array.from({ length: height }, (_, index) =>
    row(columns[0][index] ?? '', columns[1][index] ?? '', columns[2][index] ?? ''),
  );
}

/** Shortens a place in the middle, because its beginning and its end identify it. */
function cutInTheMiddle(place: string): string {
  if (place.length <= PLACE) return place;
  const head = Math.floor((PLACE - 1) / 3);
  return `${place.slice(0, head)}…${place.slice(place.length - (PLACE - 1 - head))}`;
}

function row(place: string, left: string, right: string): string {
  return `    ${place.padEnd(PLACE)} | ${left.padEnd(SIDE)} | ${right}`.trimEnd();
}

function shown(value: JsonValue | undefined): string {
  return value === undefined ? '(nothing)' : writeJson(value);
}

function chunks(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length || start === 0; start += SIDE) {
    if (pieces.length === MOST_LINES) return [...pieces.slice(0, -1), `… ${text.length} characters`];
    pieces.push(text.slice(start, start + SIDE));
  }
  return pieces;
}

function summaryLine({ equal, different, skipped, broken }: Summary): string {
  const played = `${equal} equal, ${different} different`;
  return `${played}, ${skipped} skipped${broken > 0 ? `, ${broken} that could not be played` : ''}`;
}

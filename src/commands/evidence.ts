import { REVISIONS } from '../../revisions/all.js';
import { type Evidence, evidenceOf, type Ground, SUBJECTS, sharesOf } from '../lab/play/evidence.js';
import type { CommandContext } from './command.js';
import { filesOfPack } from './replay/run.js';
import { lineOf } from './replay/settings.js';
import { textTable } from './text-table.js';

const MARKS: Readonly<Record<Ground, string>> = { recorded: 'R', spec: 'S', facts: 'F' };
const INFERRED = 'I';

/** Reads the evidence off the scenarios that come with Keyway. Rejects where one of them cannot be read. */
export async function packEvidence(
  context: Pick<CommandContext, 'folder' | 'fileSystem'>,
): Promise<readonly Evidence[]> {
  const files = await filesOfPack(context);
  const scenarios = files.map((file) => {
    if (file.kind === 'broken') throw new Error(file.problem);
    return file;
  });
  return evidenceOf(REVISIONS, scenarios, lineOf);
}

type Table = readonly [head: readonly string[], ...rows: (readonly string[])[]];

/** The tables of what each operation of each line rests on. */
export function evidenceTables(evidence: readonly Evidence[]) {
  return {
    shares: sharesTable(evidence),
    evidence: evidenceTable(evidence),
    divergences: divergencesTable(evidence),
  };
}

/** The same for a terminal, with what their marks mean. */
export function evidenceText(evidence: readonly Evidence[]): string {
  const text = ([head, ...rows]: Table) => textTable(head, rows);
  const tables = evidenceTables(evidence);
  return [
    text(tables.shares),
    `R recorded from a real server, S from the specification, F from other known facts, ${INFERRED} inferred from other lines;
then the steps that the tests play, and in brackets the known differences from the servers, listed below.`,
    text(tables.evidence),
    text(tables.divergences),
  ].join('\n\n');
}

/** The same for programs. */
export function evidenceJson(evidence: readonly Evidence[]): string {
  const lines = sharesOf(REVISIONS, evidence).map(({ line: { id, recordedFrom }, ...share }) => ({
    id,
    recordedFrom,
    ...share,
  }));
  const rows = evidence.map(({ subject, line, ...each }) => ({ operation: subject.name, line: line.id, ...each }));
  return JSON.stringify({ lines, evidence: rows }, null, 2);
}

function sharesTable(evidence: readonly Evidence[]): Table {
  const rows = sharesOf(REVISIONS, evidence).map(({ line, operations, by, inferred, played, diverging }) => {
    const share = (count: number) => (count === 0 ? '0' : `${count} (${Math.floor((100 * count) / operations)} %)`);
    const counts = [by.recorded, by.spec, by.facts, inferred, played, diverging].map(share);
    return [line.id, line.from, line.to ?? 'later', line.recordedFrom ?? 'no', `${operations}`, ...counts];
  });
  const grounds = ['recorded', 'specified', 'from facts', 'inferred'];
  return [
    ['line', 'from', 'to', 'server recorded', 'operations', ...grounds, 'played by the tests', 'known to differ'],
    ...rows,
  ];
}

function evidenceTable(evidence: readonly Evidence[]): Table {
  const reasons = reasonsOf(evidence);
  const cellOf = ({ grounds, played, divergences }: Evidence) => {
    const marks = grounds.map((ground) => MARKS[ground]).join('') || INFERRED;
    const numbers = divergences.map((reason) => reasons.indexOf(reason) + 1).toSorted((a, b) => a - b);
    return [marks, ...(played > 0 ? [played] : []), ...(numbers.length > 0 ? [`[${numbers.join(' ')}]`] : [])].join(
      ' ',
    );
  };
  const rows = SUBJECTS.map((subject) => {
    const cells = REVISIONS.map((line) => evidence.find((each) => each.subject === subject && each.line === line));
    return [subject.name, ...cells.map((each) => (each === undefined ? '-' : cellOf(each)))];
  });
  return [['operation', ...REVISIONS.map(({ id }) => id)], ...rows];
}

function divergencesTable(evidence: readonly Evidence[]): Table {
  const rows = reasonsOf(evidence).map((reason, index) => {
    const lines = REVISIONS.filter((line) =>
      evidence.some((each) => each.line === line && each.divergences.includes(reason)),
    );
    return [`${index + 1}`, lines.map(({ id }) => id).join(', '), reason];
  });
  return [['no.', 'lines', 'how Keyway differs from the servers, and why'], ...rows];
}

/** Every reason once, in the order of the table's rows. */
function reasonsOf(evidence: readonly Evidence[]): readonly string[] {
  return [...new Set(evidence.flatMap(({ divergences }) => divergences))];
}

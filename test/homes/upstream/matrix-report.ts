import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { REVISIONS } from '../../../revisions/all.js';
import { lossesOf } from '../../../src/client/losses.js';
import type { Cell, MatrixResults } from './matrix-run.js';

/** What came of the matrix, for people: a table of cells, the losses with how often each occurred, and what no loss says. */
export function matrixText({ cells, unlisted, occurred }: MatrixResults): string {
  const losses = REVISIONS.flatMap((line) =>
    lossesOf(line)
      .filter(({ shownBy }) => shownBy === 'wire')
      .map((loss) => `${line.id}: ${loss.operation} ${loss.member}, ${occurred(line, loss)} times. ${loss.sentence}`),
  );
  const reasons = new Map<string, number>();
  for (const { skipped } of cells) {
    for (const [reason, count] of skipped) reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }
  return [
    'Scenarios of the revision (column) in front of the line (row): played, and how many of them show a loss.',
    matrixTable(cells),
    ...[...reasons].map(([reason, count]) => `Not played, ${count}: ${reason}.`),
    '',
    'Losses on the wire:',
    ...losses,
    '',
    unlisted.length === 0 ? 'Nothing differs that no loss says.' : 'What no loss says:',
    ...unlisted,
  ].join('\n');
}

/** The cells as a Markdown table. */
export function matrixTable(cells: readonly Cell[]): string {
  const ids = REVISIONS.map(({ id }) => id);
  const textOf = (line: string, northbound: string) => {
    const cell = cells.find((each) => each.line.id === line && each.northbound.id === northbound);
    if (cell === undefined) return '';
    return cell.withLosses === 0 ? `${cell.played}` : `${cell.played} (${cell.withLosses})`;
  };
  const rows = ids.map((line) => [line, ...ids.map((northbound) => textOf(line, northbound))]);
  return [['line', ...ids], ['', ...ids].map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

const PAGE = join(import.meta.dirname, '../../../docs/upstream.md');
const MARKED = /(<!-- matrix: [^\n]*-->\n).*?(<!-- \/matrix -->)/s;

/** Puts the table of cells between its marks in docs/upstream.md. */
export async function writeMatrix({ cells }: MatrixResults): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  if (!MARKED.test(page)) throw new Error(`${PAGE} has no marks for the matrix`);
  await writeFile(
    PAGE,
    page.replace(MARKED, (_, before, after) => `${before}\n${matrixTable(cells)}\n\n${after}`),
  );
}

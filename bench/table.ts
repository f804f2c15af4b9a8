import type { Row } from './measure.js';

const HEADINGS = ['measure', 'gateway', 'against', 'ratio or value', 'bar', ''];

/** The rows as a Markdown table whose columns line up. */
export function tableText(rows: readonly Row[]): string {
  const cells = [HEADINGS, ...rows.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const [head = '', ...lines] = cells.map((line) => lineText(line.map((cell, i) => cell.padEnd(widths[i] ?? 0))));
  return [head, lineText(widths.map((width) => '-'.repeat(width))), ...lines].join('\n');
}

function cellsOf({ measure, gateway, against, value, bar, met }: Row): string[] {
  return [measure, gateway, against, value, bar, verdictText(met)];
}

function lineText(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function verdictText(met: Row['met']): string {
  if (met === null || met === 'unsure') return met ?? '';
  return met ? 'met' : 'MISSED';
}

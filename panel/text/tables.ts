import { csvField } from '../../src/text/csv.js';
import { encodeExact } from './exact-json.js';

/** Rows of one kind: each has the same members, and null where it has no value. */
export type TableRow = Readonly<Record<string, string | number | bigint | boolean | null>>;

/** A table as CSV (RFC 4180), its first line the names of the members. */
export function csvTable(rows: readonly TableRow[]): string {
  const names = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => names.map((name) => csvField(String(row[name] ?? ''))).join(','));
  return [names.join(','), ...lines, ''].join('\r\n');
}

/** A table as a JSON list, a line for each row, with exact numbers. */
export function jsonLines(rows: readonly TableRow[]): string {
  return `[\n${rows.map(encodeExact).join(',\n')}\n]\n`;
}

import type { KeyFieldKind, KeyFieldKinds } from '../../core/keys/key-fields.js';
import { type KeyFieldValue, keyFields, type NamedKeyField } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';
import { csvField, readCsv } from '../../text/csv.js';
import { KEY_COLUMNS } from '../../text/key-columns.js';
import { isTooLongNote, LONGEST_NOTE } from '../../text/notes.js';
import { lacksUnit } from '../../text/sizes.js';
import type { GivenFields } from './made-changes.js';
import { LIMIT_EXPECTED, readLimit } from './sizes.js';

/** One line of a table of keys. */
export interface KeyRow {
  /** The line of the text, from 1. */
  readonly line: number;
  /** Null for a key that its name alone tells, or that is yet to be made. */
  readonly accessKey: string | null;
  /** The values of the columns that the table has. */
  readonly given: GivenFields;
  /** The note; null for none, undefined in a table without notes. */
  readonly note: string | null | undefined;
}

/** A column of a table besides those of the keys' records; an import passes over all but the notes. */
export interface TableColumn<Key> {
  readonly name: 'note' | 'up' | 'down' | 'status' | 'link';
  readonly of: (key: Key) => string;
}

const PASSED_OVER = ['up', 'down', 'status', 'link'] satisfies readonly TableColumn<never>['name'][];

/** The columns by what they may be called. */
const COLUMNS: ReadonlyMap<string, string> = new Map([
  ...Object.entries(KEY_COLUMNS).flatMap(([name, titles]) =>
    titles.map((title): readonly [string, string] => [title, name]),
  ),
  ...keyFields.flatMap(({ noted, member }): readonly [string, string][] => [
    [noted, noted],
    [member, noted],
  ]),
  ...PASSED_OVER.map((name): readonly [string, string] => [name, name]),
]);

/** Reads a cell of each kind of column: undefined for a bad one, null for an empty one. */
const CELLS: {
  readonly [Kind in KeyFieldKind]: {
    readonly expected: string;
    readonly read: (text: string) => KeyFieldKinds[Kind] | null | undefined;
  };
} = {
  text: { expected: 'a text', read: (text) => (text === '' ? null : text) },
  u64: { expected: LIMIT_EXPECTED, read: readLimit },
};

/** Keys as a table (RFC 4180), their columns named in its first line; without names where nobody has told them. */
export function keysCsv<Key extends AccessKey>(
  keys: readonly Key[],
  { hasNames, more = [] }: { readonly hasNames: boolean; readonly more?: readonly TableColumn<Key>[] },
): string {
  const shown = keyFields.filter(({ name }) => hasNames || name !== 'name');
  const head = ['key', ...shown.map(({ member }) => member), ...more.map(({ name }) => name)];
  const rows = keys.map((key) => [
    key.accessKey,
    ...shown.map(({ name }) => key[name]?.toString() ?? ''),
    ...more.map(({ of }) => of(key)),
  ]);
  return [head, ...rows].map((each) => each.map(csvField).join(',')).join('\n');
}

/** The keys of a table, or everything that is wrong with it, one sentence each. */
export function readKeysCsv(text: string): { readonly rows: readonly KeyRow[]; readonly problems: readonly string[] } {
  const { records, brokenAt } = readCsv(text);
  const problems =
    brokenAt === null ? [] : [`line ${brokenAt}: a quotation mark stands where none may, or is never closed`];
  const [head, ...others] = records;
  if (head === undefined)
    return { rows: [], problems: [...problems, 'expected a first line with the columns key, name, limit'] };
  const heads = head.fields.map((name) => name.trim().toLowerCase());
  const columns = heads.map((name) => COLUMNS.get(name));
  for (const [index, name] of head.fields.entries()) {
    if (columns[index] === undefined)
      problems.push(
        `line 1: expected the columns key, name and limit, with commas, semicolons or tabs between them, got ${quoted(name)}`,
      );
  }
  const twice = columns.filter((name, index) => name !== undefined && columns.indexOf(name) !== index);
  for (const name of twice) problems.push(`line 1: the column ${name} stands twice`);
  if (problems.length === 0 && !columns.includes('key') && !columns.includes('name'))
    problems.push('line 1: expected a column key or name');
  if (problems.length > 0) return { rows: [], problems };
  const inBytes = new Set(keyFields.flatMap(({ noted, member }) => (heads.includes(member) ? [noted] : [])));
  const seen = new Map<string, number>();
  const seenNames = new Map<string, number>();
  const rows = others.flatMap(({ line, fields }): readonly KeyRow[] => {
    if (fields.length !== columns.length) {
      problems.push(`line ${line}: expected ${columns.length} fields, got ${fields.length}`);
      return [];
    }
    const cell = (column: string) => fields[columns.indexOf(column)];
    const accessKey = cell('key') ?? '';
    const named = cell('name') ?? '';
    const first = seen.get(accessKey);
    const firstNamed = seenNames.get(named);
    if (accessKey === '' && named === '') problems.push(`line ${line}: expected a key or a name`);
    else if (accessKey === '' && firstNamed !== undefined)
      problems.push(`line ${line}: the name of line ${firstNamed} again, and no key`);
    else if (accessKey === '') seenNames.set(named, line);
    else if (first !== undefined) problems.push(`line ${line}: the key of line ${first} again`);
    else seen.set(accessKey, line);
    const given = keyFields.flatMap(({ name, noted, kind }): readonly [NamedKeyField['name'], KeyFieldValue][] => {
      const text = cell(noted);
      if (text === undefined) return [];
      const value = CELLS[kind].read(text);
      // A column by the name of the wire's member holds bytes, as an export does.
      if (kind === 'u64' && !inBytes.has(noted) && lacksUnit(text)) {
        problems.push(`line ${line}: ${noted}: ${text.trim()} bytes? write ${text.trim()}GB`);
        return [];
      }
      if (value !== undefined) return [[name, value]];
      problems.push(`line ${line}: ${noted}: expected ${CELLS[kind].expected}, got ${quoted(text)}`);
      return [];
    });
    const note = cell('note');
    if (isTooLongNote(note ?? '')) problems.push(`line ${line}: note: expected at most ${LONGEST_NOTE} characters`);
    return [
      {
        ...{ line, accessKey: accessKey === '' ? null : accessKey, given: Object.fromEntries(given) },
        note: note === '' ? null : note,
      },
    ];
  });
  return { rows, problems };
}

const quoted = (text: string) => JSON.stringify(text.slice(0, 100));

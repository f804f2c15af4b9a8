import type { KeyFieldKind, KeyFieldKinds } from '../../core/keys/key-fields.js';
import { type KeyFieldValue, keyFields, type NamedKeyField } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';
import type { GivenFields } from './made-changes.js';
import { LIMIT_EXPECTED, lacksUnit, readLimit } from './sizes.js';

/** One line of a table of keys. */
export interface KeyRow {
  /** The line of the text, from 1. */
  readonly line: number;
  /** Null for a key that its name alone tells, or that is yet to be made. */
  readonly accessKey: string | null;
  /** The values of the columns that the table has. */
  readonly given: GivenFields;
}

/** A column of a table besides those of the keys' records, which an import passes over. */
export interface TableColumn<Key> {
  readonly name: 'up' | 'down' | 'status' | 'link';
  readonly of: (key: Key) => string;
}

const PASSED_OVER = ['up', 'down', 'status', 'link'] satisfies readonly TableColumn<never>['name'][];

/** The columns by what they may be called, here and in the panel. */
const COLUMNS: ReadonlyMap<string, string> = new Map([
  ['key', 'key'],
  ['access_key', 'key'],
  ['ключ', 'key'],
  ['имя', 'name'],
  ['лимит', 'limit'],
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

/**
 * Matches where a spreadsheet takes what follows for a formula; one that parts fields by semicolons does so behind each of them, too. An
 * apostrophe before it says that it is none.
 */
const FORMULA = /(^|;)('?)(?=["']*[=+\-@])/g;

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
  return [head, ...rows].map((each) => each.map(field).join(',')).join('\n');
}

function field(value: string): string {
  const safe = escaped(value).replace(FORMULA, "$1'$2");
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Control characters, which a terminal may act on, as `\\u` and four digits; backslashes that would read as such are doubled. */
function escaped(value: string): string {
  return value
    .replace(/\\+(?=u[\da-f]{4}|\p{Cc})/gu, (backslashes) => backslashes + backslashes)
    .replace(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The value that `escaped` gave this text for; other texts stay as they are. */
function unescaped(text: string): string {
  return text.replace(/(\\+)u([\da-f]{4})/g, (whole, { length }: string, digits: string) => {
    const kept = '\\'.repeat(Math.floor(length / 2));
    if (length % 2 === 0) return `${kept}u${digits}`;
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /\p{Cc}/u.test(character) ? kept + character : whole;
  });
}

/** The keys of a table, or everything that is wrong with it, one sentence each. */
export function readKeysCsv(text: string): { readonly rows: readonly KeyRow[]; readonly problems: readonly string[] } {
  const source = text.replace(/^\ufeff/, '');
  const namedSeparator = /^sep=(.)/i.exec(source)?.[1];
  const separator = namedSeparator ?? separatorOf(source);
  const { records, problems } = parse(source, separator);
  const [head, ...others] = records.slice(namedSeparator === undefined ? 0 : 1);
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
    const cell = (column: string) => {
      const value = fields[columns.indexOf(column)];
      return value === undefined ? undefined : unescaped(value.replace(FORMULA, '$1'));
    };
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
    return [{ line, accessKey: accessKey === '' ? null : accessKey, given: Object.fromEntries(given) }];
  });
  return { rows, problems };
}

const quoted = (text: string) => JSON.stringify(text.slice(0, 100));

interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** A comma, or of a semicolon and a tab what its first line has more of, as spreadsheets of other countries write it. */
function separatorOf(text: string): string {
  const head = text.split(/\r?\n|\r/, 1)[0] ?? '';
  const times = (sign: string) => head.split(sign).length;
  return [',', ';', '\t'].reduce((best, sign) => (times(sign) > times(best) ? sign : best));
}

/** The records of a text; empty lines are none. */
function parse(
  text: string,
  separator: string,
): { readonly records: readonly CsvRecord[]; readonly problems: string[] } {
  const records: CsvRecord[] = [];
  const problems: string[] = [];
  let line = 1;
  let begun = 1;
  let fields: string[] = [];
  const FIELD = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${separator}\\r\\n]*))(${separator}|\\r?\\n|\\r|$)`, 'y');
  for (let at = 0; at < text.length || fields.length > 0; at = FIELD.lastIndex) {
    FIELD.lastIndex = at;
    const found = FIELD.exec(text);
    if (found === null) {
      problems.push(`line ${line}: a quotation mark stands where none may, or is never closed`);
      break;
    }
    const [whole, inQuotes, plain = '', end] = found;
    fields.push(inQuotes?.replaceAll('""', '"') ?? plain.trim());
    line += whole.split(/\r?\n|\r/).length - 1;
    if (end === separator) continue;
    if (fields.some((value) => value !== '')) records.push({ line: begun, fields });
    fields = [];
    begun = line;
  }
  return { records, problems };
}

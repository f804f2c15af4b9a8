import type { KeyFieldKind, KeyFieldValues } from '../../core/keys/key-fields.js';
import { type KeyFieldValue, keyFields, recordBy } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';
import { finish, type Steps } from '../../core/steps.js';
import * as literals from './literals.js';

/** The form of a kind of value in the database. */
interface ColumnType {
  readonly type: string;
  readonly array: string;
  readonly literal: (value: KeyFieldValue) => literals.Literal;
  readonly arrayLiteral: (values: readonly KeyFieldValue[]) => Steps<literals.Literal>;
  readonly read: (value: string) => KeyFieldValue;
}

const textOf = (value: KeyFieldValue): string | null => (value === null ? null : `${value}`);

const TYPES: Readonly<Record<KeyFieldKind, ColumnType>> = {
  text: {
    type: 'text',
    array: 'text[]',
    literal: (value) => literals.text(textOf(value)),
    arrayLiteral: (values) => literals.textsSteps(values.map(textOf)),
    read: (value) => value,
  },
  u64: {
    type: 'numeric(20)',
    array: 'numeric[]',
    literal: (value) => textOf(value) ?? 'null',
    arrayLiteral: (values) => literals.numbersSteps(values as readonly (bigint | null)[], 'numeric'), // As the kind says.
    read: BigInt,
  },
};

const COLUMNS = keyFields.map(({ name, kind, member }) => ({ name, member, ...TYPES[kind] }));

/** The number of columns of a record in a row. */
export const COLUMN_COUNT = COLUMNS.length;

/** Returns the columns of a record, in this table of a statement. */
export const columnsOf = (table: string): string => COLUMNS.map(({ member }) => `${table}.${member}`).join(', ');

/** Returns keys in the form of the schema's functions: an array for each column. */
export const arraysOf = (keys: readonly AccessKey[]): readonly literals.Literal[] => finish(arraysOfSteps(keys));

/** Makes the arrays of `arraysOf` piece by piece. */
export function* arraysOfSteps(keys: readonly AccessKey[]): Steps<readonly literals.Literal[]> {
  const arrays = [yield* literals.textsSteps(keys.map(({ accessKey }) => accessKey))];
  for (const { name, arrayLiteral } of COLUMNS) arrays.push(yield* arrayLiteral(keys.map((key) => key[name])));
  return arrays;
}

/** Returns a change in the form of `update_key`: for each column whether it is given, and its value. */
export const givenOf = (given: Partial<KeyFieldValues>): readonly literals.Literal[] =>
  COLUMNS.flatMap(({ name, literal }) => [literals.flag(given[name] !== undefined), literal(given[name] ?? null)]);

/**
 * Returns many changes in the form of `change_keys`: for each column an array of whether it is given, and one of the
 * values.
 */
export const givenArraysOf = (given: readonly Partial<KeyFieldValues>[]): readonly literals.Literal[] =>
  COLUMNS.flatMap(({ name, arrayLiteral }) => [
    literals.flags(given.map((each) => each[name] !== undefined)),
    finish(arrayLiteral(given.map((each) => each[name] ?? null))),
  ]);

/** Reads the record whose columns begin at an index of a row. */
export function recordIn(accessKey: string, row: readonly (string | null)[], at: number): AccessKey {
  let place = at;
  return recordBy(accessKey, ({ kind }) => {
    const value = row[place];
    place += 1;
    return value == null ? null : TYPES[kind].read(value);
  });
}

/** Repeats each `{{…}}` in SQL of the schema for every column: `$column` is its name, `$type`, `$array` its types. */
export function withColumns(sql: string): string {
  return sql.replace(/\{\{(.*?)\}\}/g, (_, text: string) =>
    COLUMNS.map(({ member, type, array }) =>
      text.replaceAll('$column', member).replaceAll('$type', type).replaceAll('$array', array),
    ).join(', '),
  );
}

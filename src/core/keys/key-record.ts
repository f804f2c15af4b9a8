import type { AccessKey } from '../model.js';
import { KEY_FIELDS, type KeyField, type KeyFieldKind, type KeyFieldName, type KeyFieldValues } from './key-fields.js';

/** The value of a column; null where nothing is said. */
export type KeyFieldValue = KeyFieldValues[KeyFieldName];

/** A column with its name in a record. */
export type NamedKeyField = KeyField & { readonly name: KeyFieldName };

/** Every column, in the order of the table. */
export const keyFields: readonly NamedKeyField[] = Object.entries(KEY_FIELDS).map(([name, field]) => ({
  name: name as KeyFieldName, // The table has no other members.
  ...field,
}));

/** A record with the values of all columns in their order. */
export function recordWith(accessKey: string, values: readonly KeyFieldValue[]): AccessKey {
  const record: Record<string, KeyFieldValue> = { accessKey };
  for (const [place, { name }] of keyFields.entries()) record[name] = values[place] ?? null;
  return record as unknown as AccessKey; // Each value is of its column's kind.
}

/** The record of which `value` says every column. */
export function recordBy(accessKey: string, value: (field: NamedKeyField) => KeyFieldValue): AccessKey {
  return recordWith(accessKey, keyFields.map(value));
}

/** The record with these values; null for those that are not given. */
export function recordOf(accessKey: string, given: Partial<KeyFieldValues> = {}): AccessKey {
  return recordBy(accessKey, ({ name }) => given[name] ?? null);
}

/** The record alone, whatever else the object has. */
export function copyOf(key: AccessKey): AccessKey {
  return recordBy(key.accessKey, ({ name }) => key[name]);
}

/** The record with other values; a column that is not given stays. */
export function changedRecord(key: AccessKey, given: Partial<KeyFieldValues>): AccessKey {
  return recordBy(key.accessKey, ({ name }) => {
    const value = given[name];
    return value === undefined ? key[name] : value;
  });
}

/** Overwrites every column of `to`. */
export function assignFields(to: Record<KeyFieldName, KeyFieldValue>, from: KeyFieldValues): void {
  for (const { name } of keyFields) to[name] = from[name];
}

/** Tells whether every column is the same. */
export function sameFields(a: KeyFieldValues, b: KeyFieldValues): boolean {
  return keyFields.every(({ name }) => a[name] === b[name]);
}

/** Tells whether nothing is said of the key. */
export function isBare(key: KeyFieldValues): boolean {
  return keyFields.every(({ name }) => key[name] === null);
}

/** The value where it is one of the column, else null. */
export function valueIn(field: KeyField, value: unknown): KeyFieldValue {
  return isValueOf(field, value) ? value : null;
}

/** Returns the members of a note for a record besides its key. */
export function notedFields(key: KeyFieldValues): Readonly<Record<string, KeyFieldValue>> {
  return Object.fromEntries(keyFields.map(({ name, noted }) => [noted, key[name]]));
}

/** The record of which a note says this; null where a value is none of its column. */
export function recordFromNoted(accessKey: string, members: Readonly<Record<string, unknown>>): AccessKey {
  return recordBy(accessKey, (field) => valueIn(field, members[field.noted]));
}

/** Tells whether a value that is no null is one of the column. */
export function isValueOf({ kind }: KeyField, value: unknown): value is string | bigint {
  return typeof value === TYPES[kind];
}

const TYPES: Readonly<Record<KeyFieldKind, string>> = { text: 'string', u64: 'bigint' };

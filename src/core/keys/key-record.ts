import type { AccessKey } from '../model.js';
import { KEY_FIELDS, type KeyField, type KeyFieldKind, type KeyFieldName, type KeyFieldValues } from './key-fields.js';

/** The value of a column, or null. */
export type KeyFieldValue = KeyFieldValues[KeyFieldName];

/** A column with its name in a record. */
export type NamedKeyField = KeyField & { readonly name: KeyFieldName };

/** Every column, in the order of the table. */
export const keyFields: readonly NamedKeyField[] = Object.entries(KEY_FIELDS).map(([name, field]) => ({
  name: name as KeyFieldName, // The table has no other members.
  ...field,
}));

/** Makes a record of the values of all columns, in their order. */
export function recordWith(accessKey: string, values: readonly KeyFieldValue[]): AccessKey {
  const record: Record<string, KeyFieldValue> = { accessKey };
  for (const [place, { name }] of keyFields.entries()) record[name] = values[place] ?? null;
  return record as unknown as AccessKey; // Each value is of its column's kind.
}

/** Makes a record by asking `value` for every column. */
export function recordBy(accessKey: string, value: (field: NamedKeyField) => KeyFieldValue): AccessKey {
  return recordWith(accessKey, keyFields.map(value));
}

/** Makes a record of these values; missing ones are null. */
export function recordOf(accessKey: string, given: Partial<KeyFieldValues> = {}): AccessKey {
  return recordBy(accessKey, ({ name }) => given[name] ?? null);
}

/** Picks the record out of an object with more members. */
export function copyOf(key: AccessKey): AccessKey {
  return recordBy(key.accessKey, ({ name }) => key[name]);
}

/** Returns the record with other values; a column that is not given stays. */
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

/** Tells whether every column is null. */
export function isBare(key: KeyFieldValues): boolean {
  return keyFields.every(({ name }) => key[name] === null);
}

/** Returns the value if it fits the column, otherwise null. */
export function valueIn(field: KeyField, value: unknown): KeyFieldValue {
  return isValueOf(field, value) ? value : null;
}

/** Returns the members of a note for a record besides its key. */
export function notedFields(key: KeyFieldValues): Readonly<Record<string, KeyFieldValue>> {
  return Object.fromEntries(keyFields.map(({ name, noted }) => [noted, key[name]]));
}

/** Reads a record from a note; null if a value does not fit its column. */
export function recordFromNoted(accessKey: string, members: Readonly<Record<string, unknown>>): AccessKey {
  return recordBy(accessKey, (field) => valueIn(field, members[field.noted]));
}

/** Tells whether a value other than null fits the column. */
export function isValueOf({ kind }: KeyField, value: unknown): value is string | bigint {
  return typeof value === TYPES[kind];
}

const TYPES: Readonly<Record<KeyFieldKind, string>> = { text: 'string', u64: 'bigint' };

import type { AccessKey } from '../model.js';

/** The columns of a key's record, apart from the access key itself. */
export type KeyFieldName = Exclude<keyof AccessKey, 'accessKey'>;

/** The values of a record; null for an empty column. */
export type KeyFieldValues = Pick<AccessKey, KeyFieldName>;

/**
 * The value types of columns: a text, an unsigned 64-bit integer. Rooms that read and write them have a table by kind.
 */
export interface KeyFieldKinds {
  readonly text: string;
  readonly u64: bigint;
}

export type KeyFieldKind = keyof KeyFieldKinds;

/** One column, from which every place that copies, compares, reads or writes a record is made. */
export interface KeyField<Kind extends KeyFieldKind = KeyFieldKind> {
  readonly kind: Kind;
  /** Its member in configuration files, snapshots and requests, and its column in a database. */
  readonly member: string;
  /** Its member in the notes of a data folder in front of a server, and its name in sentences. */
  readonly noted: string;
}

type KindOf<Value> = {
  [Kind in KeyFieldKind]: KeyFieldKinds[Kind] extends Value ? Kind : never;
}[KeyFieldKind];

/** The columns in the order in which files show them; a new one stands last. */
export const KEY_FIELDS: { readonly [Name in KeyFieldName]: KeyField<KindOf<KeyFieldValues[Name]>> } = {
  name: { kind: 'text', member: 'name', noted: 'name' },
  limitBytes: { kind: 'u64', member: 'limit_bytes', noted: 'limit' },
};

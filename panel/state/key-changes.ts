import type { Whole } from '../../src/text/whole.js';
import type { Change, KeyItem } from '../api/jobs.js';
import type { User } from '../api/wire.js';

/** The values that a change gives a key; a member left out stays as it is, and an empty text removes it. */
export interface KeyChange {
  readonly name?: string | undefined;
  readonly note?: string | undefined;
  readonly limit?: Whole | null | undefined;
}

/** The members of a key that a change of it is compared with. */
export type EditedKey = Pick<User, 'access_key' | 'name' | 'limit_bytes' | 'note'>;

/** A change of a key, and what takes it back. */
export interface KeyUpdate extends Change {
  readonly item: Extract<KeyItem, { op: 'update' }>;
}

/**
 * Returns the change that makes a key what is wanted, of the members alone that differ; null where none does. It is taken back to how
 * the key is `known`. A name that the server does not tell is set again, and has no way back.
 */
export function updateOf(key: EditedKey, { name, note, limit }: KeyChange, known = key): KeyUpdate | null {
  const isNamed = name !== undefined && (key.name === undefined || name !== (key.name ?? ''));
  const isLimited = limit !== undefined && limit !== key.limit_bytes;
  const isNoted = note !== undefined && note !== (key.note ?? '');
  if (!(isNamed || isLimited || isNoted)) return null;
  const update = (named?: string | null, limited?: Whole | null, noted?: string | null) => ({
    ...{ op: 'update' as const, access_key: key.access_key },
    ...(isNamed && { name: named || null }),
    ...(isLimited && { limit_bytes: limited ?? null }),
    ...(isNoted && { note: noted || null }),
  });
  const item = update(name, limit, note);
  if (isNamed && key.name === undefined) return { item };
  return { item, back: update(known.name, known.limit_bytes, known.note) };
}

/** Returns the creation of a key; an empty key has one generated. */
export function creationOf(key: string, { name, note, limit }: KeyChange): Extract<KeyItem, { op: 'create' }> {
  return {
    op: 'create',
    ...(key !== '' && { access_key: key }),
    ...(name && { name }),
    ...(limit != null && { limit_bytes: limit }),
    ...(note && { note }),
  };
}

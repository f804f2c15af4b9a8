import type { TableRow } from '../text/tables.js';
import { statusOf, tellsOnline, usedBytes } from './key-list.js';
import type { NamedKey } from './named-keys.js';
import type { UsersState } from './seen-keys.js';

/** A key with its share link. */
export interface LinkedKey extends NamedKey {
  readonly link: string;
}

/**
 * Keys as a table of everything that the list shows of them; null where the server does not tell it, or not yet. Notes that are not told
 * have no column: an import of empty ones would clear them.
 */
export function keyTable(
  linked: readonly LinkedKey[],
  { byKey, hasNotes }: Pick<UsersState, 'byKey' | 'hasNotes'>,
): readonly TableRow[] {
  return linked.map(({ name, key, link }) => {
    const user = byKey.get(key);
    return {
      ...{ name: name === '' ? null : name, access_key: key, link },
      ...(hasNotes && { note: user?.note ?? null }),
      limit_bytes: user?.limit_bytes ?? null,
      bytes_up: user?.bytes_up ?? null,
      bytes_down: user?.bytes_down ?? null,
      bytes_used: user === undefined ? null : usedBytes(user),
      connections: user?.connections ?? null,
      online: user === undefined || !tellsOnline(user) ? null : user.online,
      status: user === undefined ? null : statusOf(user),
    };
  });
}

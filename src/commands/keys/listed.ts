import { keyFields } from '../../core/keys/key-record.js';
import type { KeySnapshot } from '../../core/model.js';
import { prettyJson } from '../../wire/json/json.js';
import { encodeJson } from '../../wire/json/write-json.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { TableColumn } from './csv.js';
import type { KeyPlace } from './home.js';

/** The values by which a key is listed, as its line shows it. */
export interface Listed extends KeySnapshot {
  readonly isOnline: boolean;
  readonly up: bigint;
  readonly down: bigint;
  readonly connections: bigint;
  /** Null at a place that keeps no notes, too. */
  readonly note: string | null;
}

export function listed(
  key: KeySnapshot,
  { online }: Pick<Revision, 'online'>,
  notes: ReadonlyMap<string, string>,
): Listed {
  const { bytesUp: up = 0n, bytesDown: down = 0n, connections = 0n } = key.counters ?? {};
  const note = notes.get(key.accessKey) ?? null;
  return { ...key, up, down, connections, note, isOnline: online.isOnline(key.counters) };
}

/** The statuses of a key, in the words of the panel. */
export const STATUSES = ['over', 'near', 'online', 'used', 'unused'] as const;

/** Returns the first status that holds for a key. `near`: nine tenths of its limit are used. */
export function statusOf({ limitBytes, up, down, connections }: Listed): (typeof STATUSES)[number] {
  const used = up + down;
  if (limitBytes !== null && used >= limitBytes) return 'over';
  if (limitBytes !== null && used * 10n >= limitBytes * 9n) return 'near';
  if (connections > 0n) return 'online';
  return used > 0n ? 'used' : 'unused';
}

const NOTE: TableColumn<Listed> = { name: 'note', of: ({ note }) => note ?? '' };

/** The columns of a table that say what keys have used. */
const USAGE: readonly TableColumn<Listed>[] = [
  { name: 'up', of: ({ up }) => up.toString() },
  { name: 'down', of: ({ down }) => down.toString() },
  { name: 'status', of: statusOf },
];

/** Returns the columns of a table besides those of the keys' records: with notes where a Keyway keeps them. */
export function columnsAt({ own }: Pick<KeyPlace, 'own'>): readonly TableColumn<Listed>[] {
  return own === null ? USAGE : [NOTE, ...USAGE];
}

/** Keys as a JSON array, numbers exact. */
export function jsonText(keys: readonly Listed[]): string {
  const rows = keys.map((key) => ({
    access_key: key.accessKey,
    ...Object.fromEntries(keyFields.map(({ name, member }) => [member, key[name]])),
    online: key.isOnline,
    bytes_up: key.up,
    bytes_down: key.down,
    connections: key.connections,
    status: statusOf(key),
    note: key.note,
  }));
  return prettyJson(Buffer.from(encodeJson(rows))).toString('utf8');
}

import { keyFields } from '../../core/keys/key-record.js';
import type { KeySnapshot } from '../../core/model.js';
import { prettyJson } from '../../wire/json/json.js';
import { encodeJson } from '../../wire/json/write-json.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { TableColumn } from './csv.js';

/** The values by which a key is listed, as its line shows it. */
export interface Listed extends KeySnapshot {
  readonly isOnline: boolean;
  readonly up: bigint;
  readonly down: bigint;
  readonly connections: bigint;
}

export function listed(key: KeySnapshot, { online }: Pick<Revision, 'online'>): Listed {
  const { bytesUp: up = 0n, bytesDown: down = 0n, connections = 0n } = key.counters ?? {};
  return { ...key, up, down, connections, isOnline: online.isOnline(key.counters) };
}

/** The status of a key by the words of the panel; the first that holds is taken. `near`: nine tenths of its limit are used. Who is online is a fact of its own. */
export function statusOf({ limitBytes, up, down }: Listed): string {
  const used = up + down;
  if (limitBytes !== null && used >= limitBytes) return 'over';
  if (limitBytes !== null && used * 10n >= limitBytes * 9n) return 'near';
  return used > 0n ? 'active' : 'unused';
}

/** The columns of a table that say what keys have used. */
export const USAGE: readonly TableColumn<Listed>[] = [
  { name: 'up', of: ({ up }) => up.toString() },
  { name: 'down', of: ({ down }) => down.toString() },
  { name: 'status', of: statusOf },
];

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
  }));
  return prettyJson(Buffer.from(encodeJson(rows))).toString('utf8');
}

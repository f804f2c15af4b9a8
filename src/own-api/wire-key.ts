import type { KeySnapshot } from '../core/model.js';
import type { WireKey } from './rows/keys.js';

/** Tells a caller the note of a key. */
export type NoteOf = (accessKey: string) => string | null;

/** A key as this interface shows it, with its note as far as the caller may know that. */
export function wireKey({ accessKey, name, limitBytes, counters }: KeySnapshot, noteOf: NoteOf): WireKey {
  const { bytesUp, bytesDown, connections } = counters ?? { bytesUp: 0n, bytesDown: 0n, connections: 0n };
  const isOver = limitBytes !== null && bytesUp + bytesDown >= limitBytes;
  return {
    access_key: accessKey,
    name,
    limit_bytes: limitBytes,
    bytes_up: bytesUp,
    bytes_down: bytesDown,
    connections,
    online: connections > 0n,
    last_seen: null,
    status: isOver ? 'over_limit' : 'active',
    note: noteOf(accessKey),
  };
}

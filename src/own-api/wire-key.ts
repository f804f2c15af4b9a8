import type { KeySnapshot } from '../core/model.js';
import type { WireKey } from './rows/keys.js';

/** A key as this interface shows it. */
export function wireKey({ accessKey, name, limitBytes, counters }: KeySnapshot): WireKey {
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
  };
}

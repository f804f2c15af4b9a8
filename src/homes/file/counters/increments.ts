import type { CounterValues, UsageEntry } from '../../../core/keys/types.js';

/** No traffic. */
export const NOTHING = { bytesUp: 0n, bytesDown: 0n } as const;

/** A value that has fallen tells of a reset at the source: both began anew. */
export function since(base: Pick<CounterValues, 'bytesUp' | 'bytesDown'>, { bytesUp, bytesDown }: UsageEntry) {
  const isReset = bytesUp < base.bytesUp || bytesDown < base.bytesDown;
  if (isReset) return { bytesUp, bytesDown };
  return { bytesUp: bytesUp - base.bytesUp, bytesDown: bytesDown - base.bytesDown };
}

/** What of counters that outlived a restart is more than before: what has fallen was lost in a crash, and is counted already. */
export function grown(base: Pick<CounterValues, 'bytesUp' | 'bytesDown'>, { bytesUp, bytesDown }: UsageEntry) {
  const more = (value: bigint, before: bigint) => (value > before ? value - before : 0n);
  return { bytesUp: more(bytesUp, base.bytesUp), bytesDown: more(bytesDown, base.bytesDown) };
}

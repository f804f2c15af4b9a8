/** How often the list may be asked for (design: "How fresh lists are"). Milliseconds. */
export const LEAST_GAP = 1_000;
const MOST_GAP = 30_000;
const SHARE_OF_SERVER = 0.02;
/** While it is not known what a list costs: the first one is the slowest. */
export const SHARE_AT_FIRST = 0.1;
const KNOWN_FROM = 3;
/** So many of the last lists tell what one costs. */
const LOOKED_AT = 5;
/** By how much the last one may have been held up, at most: a server that has become far slower is left in peace at once. */
const HELD_UP = 4;

/** One that was taken in. */
export interface TakenList {
  /** Monotonic, ms. */
  readonly sentAt: number;
  /** What it cost the server, as far as can be seen: the time to its first byte, ms. */
  readonly serverMilliseconds: number;
}

/** Those that were taken in, as far as the next one depends on them. */
export interface TakenLists extends Pick<TakenList, 'sentAt'> {
  /** Of the last ones, ms. */
  readonly costs: readonly number[];
}

export function withList(before: TakenLists | null, { sentAt, serverMilliseconds }: TakenList): TakenLists {
  return { sentAt, costs: [...(before?.costs ?? []), serverMilliseconds].slice(-LOOKED_AT) };
}

/**
 * From when on the next list may be asked for: at most every second and 2 % of the server's time, but every 30 s. Its time is
 * the least of the last few, where the very last was not far slower: a machine or network that stands still for a moment
 * costs the server nothing.
 */
export function nextRenewalAt(last: TakenLists | null, failedAt: number | null): number {
  const afterFailure = failedAt === null ? Number.NEGATIVE_INFINITY : failedAt + LEAST_GAP;
  if (last === null) return afterFailure;
  const cost = Math.max(Math.min(...last.costs), (last.costs.at(-1) ?? 0) / HELD_UP);
  const share = last.costs.length < KNOWN_FROM ? SHARE_AT_FIRST : SHARE_OF_SERVER;
  const gap = Math.min(Math.max(cost / share, LEAST_GAP), MOST_GAP);
  return Math.max(last.sentAt + gap, afterFailure);
}

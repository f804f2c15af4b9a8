/** How often the list may be asked for (design: "How fresh lists are"). Milliseconds. */
const LEAST_GAP = 1_000;
const MOST_GAP = 30_000;
const SHARE_OF_SERVER = 0.02;

/** A list that was taken in. */
export interface TakenList {
  /** Monotonic, ms. */
  readonly sentAt: number;
  /** What it cost the server, ms. */
  readonly serverMilliseconds: number;
}

/** From when on the next list may be asked for: at most every second and 2 % of the server's time, but every 30 s. */
export function nextRenewalAt(last: TakenList | null, failedAt: number | null): number {
  const afterFailure = failedAt === null ? Number.NEGATIVE_INFINITY : failedAt + LEAST_GAP;
  if (last === null) return afterFailure;
  const gap = Math.min(Math.max(last.serverMilliseconds / SHARE_OF_SERVER, LEAST_GAP), MOST_GAP);
  return Math.max(last.sentAt + gap, afterFailure);
}

import type { Purpose } from '../../client/server.js';
import { UpstreamError } from '../../client/upstream-error.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { MaybeAsync } from '../../core/maybe-async.js';
import type { ProgressPort } from '../../core/ports.js';
import type { UpstreamContext } from './context.js';
import type { KeyFreshness } from './freshness.js';
import type { KeyReplica } from './replica.js';

export type ListRefresh = ReturnType<typeof createListRefresh>;

export interface ListRefreshStatus {
  readonly renewals: number;
  readonly failed: number;
  /** Milliseconds since the last list was sent; null before the first. */
  readonly ageMilliseconds: number | null;
}

export interface ListRefreshOptions extends UpstreamContext {
  readonly keys: Pick<KeyReader, 'get'>;
  readonly freshness: KeyFreshness;
  readonly replica: Pick<KeyReplica, 'takeList'>;
  /** Gives out what is known while the server is away. */
  readonly servesStale: boolean;
  /** Returns when a list must have been sent for a pending write; monotonic, ms; null where none is pending. */
  readonly neededAt: () => number | null;
  /** Tells whether a start of the server would undo writes, which a list every 30 s then shows though nobody looks. */
  readonly mayBeUndone: () => boolean;
  /** Called with every list; it does not reject. */
  readonly onTaken: () => Promise<void>;
}

/** The bounds of the time between two lists (design: "How fresh lists are"). Milliseconds. */
const LEAST_GAP = 1_000;
const MOST_GAP = 30_000;
const SHARE_OF_SERVER = 0.02;
/** The share of time while the cost of a list is not known yet: the first one is the slowest. */
const SHARE_AT_FIRST = 0.1;
const KNOWN_FROM = 3;
/** The number of recent lists that decide what one costs. */
const LOOKED_AT = 5;
/**
 * The factor by which the last list may have been delayed: a server that has become far slower is asked less at once.
 */
const HELD_UP = 4;

/** How long what was last known may be used, ms. */
const MOST_AGE = 24 * 60 * 60 * 1000;
/** The longest wait after failures in a row, ms. */
const MOST_BACKOFF = 30_000;

/** A failed list. */
interface Failure {
  /** Monotonic, ms. */
  readonly at: number;
  readonly error: unknown;
  /** The time that it took to fail, ms. */
  readonly took: number;
  readonly inARow: number;
}

/** Refreshes the keys in memory, one list at a time (design: "How fresh lists are"). */
export function createListRefresh(options: ListRefreshOptions) {
  const { server, keys, freshness, replica, servesStale, clock, timers, neededAt, mayBeUndone, onTaken, progress } =
    options;
  const status = { renewals: 0, failed: 0 };
  let last: TakenLists | null = null;
  let running: Promise<TakenList> | null = null;
  let failure: Failure | null = null;
  let watchedUntil = Number.NEGATIVE_INFINITY;
  let cancelTimer: (() => void) | null = null;
  let timerAt = Number.POSITIVE_INFINITY;
  let isClosed = false;

  async function run(purpose: Purpose): Promise<TakenList> {
    const begunAt = clock.monotonic();
    freshness.listBegins(begunAt);
    try {
      const list = await server.listUsers({
        purpose,
        known: (accessKey) => keys.get(accessKey),
        ...(progress === undefined ? {} : { onProgress: (bytes: number) => showList(progress, bytes) }),
      });
      await replica.takeList(list);
      await onTaken();
      last = withList(last, list);
      failure = null;
      status.renewals += 1;
      return list;
    } catch (error) {
      freshness.listFailed();
      const at = clock.monotonic();
      failure = { at, error, took: at - begunAt, inARow: (failure?.inARow ?? 0) + 1 };
      status.failed += 1;
      throw error;
    } finally {
      running = null;
      look();
    }
  }

  function start(purpose: Purpose): Promise<TakenList> {
    running ??= run(purpose);
    return running;
  }

  /**
   * Begins a list without a caller, and keeps its failure for the next one. It may sign in only if a pending write
   * needs it.
   */
  function startInBackground(): void {
    const isNeeded = (neededAt() ?? Number.POSITIVE_INFINITY) <= clock.monotonic();
    start(isNeeded ? 'caller' : 'poll').catch(() => undefined);
  }

  const isDue = (now: number): boolean => now >= nextRefreshAt(last, null);
  /** Tells whether it is too early for another list after one that took long to fail. */
  const hasJustFailed = (now: number): boolean =>
    failure !== null && now < failure.at + Math.min(Math.max(failure.took / SHARE_AT_FIRST, LEAST_GAP), MOST_BACKOFF);
  const isKnown = (now: number): boolean => last !== null && now - last.sentAt <= MOST_AGE;

  async function caller(): Promise<void> {
    try {
      await start('caller');
    } catch (error) {
      if (!mayGoOn(error)) throw error;
    }
  }

  /**
   * Tells whether what is known may stand in for a failed list: if somebody else holds the one session, or if asked to.
   */
  function mayGoOn(error: unknown): boolean {
    const goesOn = error instanceof UpstreamError && (error.code === 'upstreamRefused' || servesStale);
    return goesOn && isKnown(clock.monotonic());
  }

  /** The age of what is given out instead of a list, ms; null while lists succeed. */
  function stale(): number | null {
    const now = clock.monotonic();
    return servesStale && last !== null && failure !== null && isKnown(now) ? now - last.sentAt : null;
  }

  /** Sets the timer for the next list that a pending write or a reader needs. */
  function look(): void {
    if (isClosed || running !== null) return;
    const now = clock.monotonic();
    const wanted = Math.min(
      neededAt() ?? Number.POSITIVE_INFINITY,
      watchedUntil > now ? now : Number.POSITIVE_INFINITY,
      mayBeUndone() ? (last?.sentAt ?? now) + MOST_GAP : Number.POSITIVE_INFINITY,
    );
    if (wanted === Number.POSITIVE_INFINITY) return;
    const backoff = failure === null ? 0 : failure.at + Math.min(1000 * 2 ** (failure.inARow - 1), MOST_BACKOFF);
    const at = Math.max(wanted, nextRefreshAt(last, null), backoff);
    if (cancelTimer !== null && timerAt <= at) return;
    cancelTimer?.();
    timerAt = at;
    cancelTimer = timers.after(Math.max(0, at - now), () => {
      cancelTimer = null;
      startInBackground();
    });
  }

  /** Refreshes before a list is given out. Rejects if that fails, unless only the session was lost. */
  function freshen(): MaybeAsync<void> {
    const now = clock.monotonic();
    if (running === null && !isDue(now)) return undefined;
    if (running === null && failure !== null && hasJustFailed(now)) {
      if (mayGoOn(failure.error)) return undefined;
      throw failure.error;
    }
    return caller();
  }

  return {
    freshen,
    /** Prepares answers from what was last known; rejects if that is more than a day old. */
    lastKnown(milliseconds = 0): MaybeAsync<void> {
      const now = clock.monotonic();
      watchedUntil = Math.max(watchedUntil, now + milliseconds);
      if (!isKnown(now)) return freshen();
      if (isDue(now) && !hasJustFailed(now)) startInBackground();
      look();
      return undefined;
    },
    /** Prepares the look-up of an unknown key by a caller without a credential; rejects if the last list failed. */
    lookForKeys(): MaybeAsync<void> {
      const now = clock.monotonic();
      if (running !== null || (isDue(now) && !hasJustFailed(now))) return start('poll').then(() => undefined);
      if (failure !== null) throw failure.error;
      return undefined;
    },
    /** Requests a list at once, sent after this call. */
    async fresh(purpose: Purpose): Promise<TakenList> {
      while (running !== null) await running.catch(() => undefined);
      return start(purpose);
    },
    stale,
    look,
    /** Retries a failed list although nobody reads. */
    retry(): void {
      if (failure !== null) watchedUntil = Math.max(watchedUntil, clock.monotonic() + MOST_BACKOFF);
      look();
    },
    status: (): ListRefreshStatus => ({
      ...status,
      ageMilliseconds: last === null ? null : clock.monotonic() - last.sentAt,
    }),
    /** Stops; resolves when no list is under way. */
    async close(): Promise<void> {
      isClosed = true;
      cancelTimer?.();
      await running?.catch(() => undefined);
    },
  };
}

const MEBIBYTE = 1024 * 1024;

function showList(progress: ProgressPort, bytes: number): void {
  progress.show(`reading the list of keys from the server: ${(bytes / MEBIBYTE).toFixed(1)} MiB`);
}

/** A list that was taken in. */
export interface TakenList {
  /** Monotonic, ms. */
  readonly sentAt: number;
  /** The server's own time, as far as can be seen: that to its first byte, ms. */
  readonly serverMilliseconds: number;
}

/** The past lists, as far as the next one depends on them. */
export interface TakenLists extends Pick<TakenList, 'sentAt'> {
  /** The times of the last ones, ms. */
  readonly costs: readonly number[];
}

export function withList(before: TakenLists | null, { sentAt, serverMilliseconds }: TakenList): TakenLists {
  return { sentAt, costs: [...(before?.costs ?? []), serverMilliseconds].slice(-LOOKED_AT) };
}

/**
 * From when on the next list may be asked for: at most every second and 2 % of the server's time, but every 30 s. Its
 * time is the least of the last few, where the very last was not far slower: a machine or network that stands still for
 * a moment costs the server nothing.
 */
export function nextRefreshAt(last: TakenLists | null, failedAt: number | null): number {
  const afterFailure = failedAt === null ? Number.NEGATIVE_INFINITY : failedAt + LEAST_GAP;
  if (last === null) return afterFailure;
  const cost = Math.max(Math.min(...last.costs), (last.costs.at(-1) ?? 0) / HELD_UP);
  const share = last.costs.length < KNOWN_FROM ? SHARE_AT_FIRST : SHARE_OF_SERVER;
  const gap = Math.min(Math.max(cost / share, LEAST_GAP), MOST_GAP);
  return Math.max(last.sentAt + gap, afterFailure);
}

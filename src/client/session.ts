import type { ClockPort } from '../core/ports.js';
import type { Purpose } from './server.js';

export type LoginOutcome =
  | { readonly kind: 'begun'; readonly token: string }
  /** By name or password: it stays so until the settings change. */
  | { readonly kind: 'refused' }
  /** There is no login at this API. */
  | { readonly kind: 'absent' }
  | Later;

/** Not now: whoever guards logins there takes one in so many seconds. */
interface Later {
  readonly kind: 'later';
  readonly seconds: number;
}

/** Why there is no session now. */
export type NoSession =
  /** The login was refused, and is not tried again by this process. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'absent' }
  | Later
  /** Somebody else took it while the server went on running; another is begun in so many seconds, for a caller. */
  | { readonly kind: 'taken'; readonly seconds: number }
  /** It ended, and nobody has called since who needs another. */
  | { readonly kind: 'ended' };

export type SessionAnswer = { readonly token: string } | NoSession;

export type SessionKeeper = ReturnType<typeof createSessionKeeper>;

export interface SessionKeeperOptions {
  readonly login: (apiRoot: string) => Promise<LoginOutcome>;
  /** Reads with a new session when the server started; monotonic, ms; null where it does not tell. Does not reject. */
  readonly startedAt: (apiRoot: string, token: string) => Promise<number | null>;
  readonly clock: Pick<ClockPort, 'monotonic'>;
  readonly onLost: () => void;
}

/** The pause after a login where somebody else took the session before, at first and at most; ms. */
const LEAST_PAUSE = 30_000;
const MOST_PAUSE = 600_000;

/**
 * Keeps one session (docs/upstream.md, "Lines with sessions alone"). A session that ended is begun again at once, for a caller. Where
 * somebody else had taken it, the next login comes 30 s later, up to 10 min while that goes on; a login that was refused is never
 * repeated.
 */
export function createSessionKeeper({ login, startedAt, clock, onLost }: SessionKeeperOptions) {
  let held: string | null = null;
  let isRefused = false;
  /** The last session: when its login was sent, and for how long it was held; monotonic, ms. */
  let begunAt: number | null = null;
  let lived = 0;
  let pause = 0;
  let barred: { readonly kind: 'taken' | 'later'; readonly until: number } | null = null;
  let underWay: Promise<SessionAnswer> | null = null;

  function bar(kind: 'taken' | 'later', milliseconds: number): void {
    barred = { kind, until: clock.monotonic() + milliseconds };
  }

  async function begin(apiRoot: string): Promise<SessionAnswer> {
    const sentAt = clock.monotonic();
    // Also where no answer comes: the server may have begun one, and so ended somebody else's.
    bar('taken', pause);
    const outcome = await login(apiRoot);
    isRefused = outcome.kind === 'refused';
    if (outcome.kind === 'later') bar('later', outcome.seconds * 1000);
    if (outcome.kind !== 'begun') return outcome;
    if (begunAt !== null) judge(begunAt, await startedAt(apiRoot, outcome.token));
    begunAt = sentAt;
    held = outcome.token;
    return { token: held };
  }

  /** A session ends with its server; where that was running before it was begun, somebody else has taken it. */
  function judge(before: number, start: number | null): void {
    if (start !== null && start > before) return;
    pause = lived > 2 * pause ? LEAST_PAUSE : Math.min(Math.max(2 * pause, LEAST_PAUSE), MOST_PAUSE);
    bar('taken', pause);
  }

  return {
    /** The session, begun at this API root where there is none. Rejects as the login does. */
    async obtain(apiRoot: string, purpose: Purpose): Promise<SessionAnswer> {
      if (held !== null) return { token: held };
      if (isRefused) return { kind: 'refused' };
      if (purpose === 'look') return { kind: 'ended' };
      if (underWay !== null) return underWay;
      const rest = (barred?.until ?? 0) - clock.monotonic();
      if (barred !== null && rest > 0) return { kind: barred.kind, seconds: Math.ceil(rest / 1000) };
      // The first one is begun for anybody: it is what Keyway was given name and password for.
      if (purpose === 'poll' && begunAt !== null) return { kind: 'ended' };
      underWay = begin(apiRoot).finally(() => {
        underWay = null;
      });
      return underWay;
    },
    /** The server does not take this token any more: the next `obtain` begins another, when it may. */
    lost(token: string): void {
      if (token !== held || begunAt === null) return;
      held = null;
      lived = clock.monotonic() - begunAt;
      onLost();
    },
  };
}

import type { ClockPort } from '../core/ports.js';
import type { Purpose } from './server.js';

export type LoginOutcome =
  | { readonly kind: 'begun'; readonly token: string }
  /** Name or password are wrong, until the settings change. */
  | { readonly kind: 'refused' }
  /** This API has no login. */
  | { readonly kind: 'absent' }
  | Later;

/** The server's login guard accepts a login after this many seconds. */
interface Later {
  readonly kind: 'later';
  readonly seconds: number;
}

/** Why there is no session at present. */
export type NoSession =
  /** The login was refused, and this process does not repeat it. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'absent' }
  | Later
  /** Another client took it from the running server; after this many seconds another is begun, for a caller. */
  | { readonly kind: 'taken'; readonly seconds: number }
  /** It ended, and no caller has needed another since. */
  | { readonly kind: 'ended' };

export type SessionAnswer = { readonly token: string } | NoSession;

export type SessionKeeper = ReturnType<typeof createSessionKeeper>;

export interface SessionKeeperOptions {
  readonly login: (apiRoot: string) => Promise<LoginOutcome>;
  /** Reads with a new session when the server started; monotonic, ms; null if unknown. Does not reject. */
  readonly startedAt: (apiRoot: string, token: string) => Promise<number | null>;
  readonly clock: Pick<ClockPort, 'monotonic'>;
  readonly onLost: () => void;
}

/** The first and the longest pause after a login that found the session taken by another client, in ms. */
const LEAST_PAUSE = 30_000;
const MOST_PAUSE = 600_000;

/**
 * Keeps one session (docs/upstream.md, "Lines with sessions alone"). A session that ended is begun again immediately,
 * for a caller. If another client had taken it, the next login waits 30 s, and up to 10 min while that goes on; a
 * refused login is never repeated.
 */
export function createSessionKeeper({ login, startedAt, clock, onLost }: SessionKeeperOptions) {
  let held: string | null = null;
  let isRefused = false;
  /** When the login of the last session was sent, and how long the session lasted; monotonic, ms. */
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
    // Even without an answer, because the server may have begun a session, and so ended another client's.
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

  /**
   * Decides whether another client took the last session: a session ends with its server, so the server must have been
   * running before it began.
   */
  function judge(before: number, start: number | null): void {
    if (start !== null && start > before) return;
    pause = lived > 2 * pause ? LEAST_PAUSE : Math.min(Math.max(2 * pause, LEAST_PAUSE), MOST_PAUSE);
    bar('taken', pause);
  }

  return {
    /** Returns the session, begun at this API root if there is none. Rejects as the login does. */
    async obtain(apiRoot: string, purpose: Purpose): Promise<SessionAnswer> {
      if (held !== null) return { token: held };
      if (isRefused) return { kind: 'refused' };
      if (purpose === 'look') return { kind: 'ended' };
      if (underWay !== null) return underWay;
      const rest = (barred?.until ?? 0) - clock.monotonic();
      if (barred !== null && rest > 0) return { kind: barred.kind, seconds: Math.ceil(rest / 1000) };
      // The first session is begun for any purpose, because Keyway was given name and password for it.
      if (purpose === 'poll' && begunAt !== null) return { kind: 'ended' };
      underWay = begin(apiRoot).finally(() => {
        underWay = null;
      });
      return underWay;
    },
    /** Notes that the server no longer accepts this token; the next `obtain` begins another session, when it may. */
    lost(token: string): void {
      if (token !== held || begunAt === null) return;
      held = null;
      lived = clock.monotonic() - begunAt;
      onLost();
    },
  };
}

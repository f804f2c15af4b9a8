import type { ClockPort } from '../core/ports.js';
import type { Purpose } from './server.js';

export type LoginOutcome =
  | { readonly kind: 'begun'; readonly token: string }
  /** By name or password: it stays so until the settings change. */
  | { readonly kind: 'refused' }
  /** There is no login at this API. */
  | { readonly kind: 'absent' }
  /** Not now: whoever guards logins there says in how many seconds. */
  | { readonly kind: 'later'; readonly seconds: number };

/** Why there is no session now. */
export type NoSession =
  /** The login was refused, and is not tried again by this process. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'absent' }
  /** It ended, and may be begun anew in so many seconds, for a caller. */
  | { readonly kind: 'taken'; readonly seconds: number };

export type SessionAnswer = { readonly token: string } | NoSession;

export type SessionKeeper = ReturnType<typeof createSessionKeeper>;

/** Milliseconds between two logins at least, and at most while somebody else takes each session soon. */
const LEAST_WAIT = 30_000;
const MOST_WAIT = 600_000;

/**
 * Keeps one session (docs/upstream.md, "Lines with sessions alone"). There is one login per session that ended, at most
 * every 30 s, and at most every 10 min while somebody else keeps taking it; a login that was refused is never repeated.
 */
export function createSessionKeeper(
  login: (apiRoot: string) => Promise<LoginOutcome>,
  clock: Pick<ClockPort, 'monotonic'>,
  onLost: () => void,
) {
  let held: string | null = null;
  let isRefused = false;
  let begunAt: number | null = null;
  /** The number of sessions that were begun. */
  let begun = 0;
  let wait = LEAST_WAIT;
  let notBefore = 0;
  let underWay: Promise<SessionAnswer> | null = null;

  const taken = (): NoSession => ({
    kind: 'taken',
    seconds: Math.max(1, Math.ceil((notBefore - clock.monotonic()) / 1000)),
  });

  async function begin(apiRoot: string): Promise<SessionAnswer> {
    // Also where no answer comes: the server may have begun one, and so ended somebody else's.
    notBefore = clock.monotonic() + (begun === 0 ? 0 : wait);
    const outcome = await login(apiRoot);
    isRefused = outcome.kind === 'refused';
    if (outcome.kind === 'refused' || outcome.kind === 'absent') return outcome;
    if (outcome.kind === 'later') {
      notBefore = clock.monotonic() + outcome.seconds * 1000;
      return taken();
    }
    held = outcome.token;
    begun += 1;
    begunAt = clock.monotonic();
    notBefore = begunAt + wait;
    return { token: held };
  }

  return {
    /** The session, begun at this API root where there is none. Rejects as the login does. */
    async obtain(apiRoot: string, purpose: Purpose): Promise<SessionAnswer> {
      if (held !== null) return { token: held };
      if (isRefused) return { kind: 'refused' };
      if (underWay !== null) return underWay;
      // The first one is begun for anybody: it is what Keyway was given name and password for.
      if (clock.monotonic() < notBefore || (purpose === 'poll' && begun > 0)) return taken();
      underWay = begin(apiRoot).finally(() => {
        underWay = null;
      });
      return underWay;
    },
    /** The server does not take this token any more: the next `obtain` begins another, when it may. */
    lost(token: string): void {
      if (token !== held || begunAt === null) return;
      held = null;
      const lived = clock.monotonic() - begunAt;
      if (lived > 2 * wait) wait = LEAST_WAIT;
      else if (begun > 1) wait = Math.min(2 * wait, MOST_WAIT);
      notBefore = begunAt + wait;
      onLost();
    },
  };
}

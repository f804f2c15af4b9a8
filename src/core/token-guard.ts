import { hash } from 'node:crypto';
import { andThen, type MaybeAsync } from './maybe-async.js';
import type { ClockPort, RandomPort } from './ports.js';
import type { Principal } from './principal.js';
import { RecentMap } from './recent-map.js';

/**
 * The number of different wrong tokens, and the milliseconds in which they must fall, after which a network has to
 * wait.
 */
const MOST_WRONG = 20;
const WINDOW = 60_000;

/** Networks remembered at most, so that guessing from many does not fill the memory. */
const MOST_NETWORKS = 10_000;
/**
 * The most named tokens remembered as accepted from one network, in addition to the configuration's own, sessions, and
 * all that this process issued.
 */
const MOST_LET_IN = 16;
const MOST_OWN = 64;
const MOST_HANDED_OUT = 10_000;

/** Longer values have never been accepted as a token. */
const LONGEST_TOKEN = 4096;

/** The outcome of an authorization: right, wrong, or the seconds after which it may be checked. */
export type TokenVerdict = 'right' | 'wrong' | number;

/** The verdict on a request's credential, and its caller; null unless it is right. */
export type Look =
  | { readonly verdict: 'right'; readonly principal: Principal }
  | { readonly verdict: 'wrong' | number; readonly principal: null };

/** Finds the caller whom an `Authorization` value shows; null if it is wrong. */
export type FindPrincipal = (authorization: string) => MaybeAsync<Principal | null>;

const WRONG: Look = { verdict: 'wrong', principal: null };

export type TokenGuard = ReturnType<typeof createTokenGuard>;

/** Marks of the credentials that were accepted from a network. */
interface LetIn {
  readonly own: RecentMap<number, true>;
  readonly named: RecentMap<number, true>;
  /** The one that was used last. */
  latest: number | null;
}

/** Counts since the start. */
export interface TokenGuardStatus {
  /** Requests that were refused without saying whether their token was right. */
  readonly unread: number;
}

/** A guard that makes nobody wait. */
export const NO_TOKEN_GUARD: TokenGuard = {
  check(_network, authorization, find) {
    const found = authorization === undefined ? null : find(authorization);
    return andThen(found, (principal) => (principal === null ? WRONG : { verdict: 'right', principal }));
  },
  handedOut() {},
  status: () => ({ unread: 0 }),
};

/**
 * Slows the guessing of tokens, per network (that of `Caller`). After too many different wrong tokens only those that
 * were accepted from the network before are checked. A wrong token counts once however often it comes, and one that was
 * issued here never counts, because a forgotten tab is not a guess. Tokens are remembered as digests.
 */
export function createTokenGuard(clock: ClockPort, random: RandomPort) {
  const salt = random.bytes(16);
  const markOf = createMarks(salt);
  const digestOf = createDigests(salt);
  /** Wrong tokens by network, each with the time when it came last, in that order. */
  const wrong = new RecentMap<string, Map<number, number>>(MOST_NETWORKS);
  /** The credentials that were accepted from each network, least recently used first. */
  const letInBy = new RecentMap<string, LetIn>(MOST_NETWORKS);
  const handedOut = new RecentMap<number, true>(MOST_HANDED_OUT);
  let unread = 0;

  /** Returns the milliseconds until the network may guess again, or null. */
  function wait(network: string): number | null {
    const times = wrong.get(network);
    if (times === undefined || times.size < MOST_WRONG) return null;
    const [oldest = 0] = times.values();
    const rest = oldest + WINDOW - clock.monotonic();
    return rest > 0 ? rest : null;
  }

  function letIn(network: string, authorization: string, isOwn: boolean): void {
    const mark = markOf(authorization);
    const known = letInBy.get(network) ?? {
      own: new RecentMap<number, true>(MOST_OWN),
      named: new RecentMap<number, true>(MOST_LET_IN),
      latest: null,
    };
    if (known.latest === mark) return;
    known.latest = mark;
    // A token in use stays remembered, however many others come.
    (isOwn ? known.own : known.named).set(mark, true);
    letInBy.set(network, known);
  }

  function isKnown(network: string, authorization: string): boolean {
    const known = letInBy.get(network);
    if (known === undefined || authorization.length > LONGEST_TOKEN) return false;
    const mark = markOf(authorization);
    return known.own.has(mark) || known.named.has(mark);
  }

  /** Returns the seconds that the network has to wait before this value is checked; null if it is checked now. */
  function refusedFor(network: string, authorization: string): number | null {
    // Usually nobody guesses.
    const rest = wrong.size === 0 ? null : wait(network);
    if (rest === null || isKnown(network, authorization)) return null;
    unread += 1;
    return Math.max(1, Math.ceil(rest / 1000));
  }

  function refused(network: string, authorization: string): void {
    const digest = digestOf(authorization);
    if (handedOut.has(digest)) return;
    const now = clock.monotonic();
    const times = wrong.get(network) ?? new Map<number, number>();
    for (const [old, time] of times) if (time <= now - WINDOW) times.delete(old);
    times.delete(digest);
    times.set(digest, now);
    wrong.set(network, times);
  }

  return {
    /**
     * Checks an `Authorization` value unless its network has to wait. A known right one costs a look-up or two. A
     * request without any is wrong but not a guess. Fails as `find` does, which is not a guess either.
     */
    check(network: string, authorization: string | undefined, find: FindPrincipal): MaybeAsync<Look> {
      if (authorization === undefined) return WRONG;
      const before = refusedFor(network, authorization);
      if (before !== null) return { verdict: before, principal: null };
      return andThen(find(authorization), (principal): Look => {
        // Guesses that came meanwhile may have used up what the network has.
        const meanwhile = refusedFor(network, authorization);
        if (meanwhile !== null) return { verdict: meanwhile, principal: null };
        if (principal === null) {
          refused(network, authorization);
          return WRONG;
        }
        letIn(network, authorization, principal.token === undefined);
        return { verdict: 'right', principal };
      });
    },
    /** Records a session token that was issued, and to whom. */
    handedOut(network: string, token: string): void {
      handedOut.set(digestOf(token), true);
      letIn(network, token, true);
    },
    status: (): TokenGuardStatus => ({ unread }),
  };
}

const BEARER = 'Bearer ';

/** Returns where the token starts, since it is the same with and without its scheme. */
const tokenStart = (authorization: string): number => (authorization.startsWith(BEARER) ? BEARER.length : 0);

/** Makes a digest of 48 bits of a salted SHA-256, so that nobody can construct two wrong tokens that count as one. */
function createDigests(salt: Buffer): (authorization: string) => number {
  const prefix = salt.toString('hex');
  return (authorization) =>
    hash('sha256', prefix + authorization.slice(tokenStart(authorization)), 'buffer').readUIntBE(0, 6);
}

/**
 * Makes marks of 32 bits by which accepted tokens are recognized at every request, because a SHA-256 would take longer
 * than the rest of the check. A wrong token with the mark of a right one would be checked, and refused.
 */
function createMarks(salt: Buffer): (authorization: string) => number {
  const start = salt.readInt32BE(0);
  return (authorization) => {
    let mark = start;
    for (let i = tokenStart(authorization); i < authorization.length; i += 1)
      mark = Math.imul(mark ^ authorization.charCodeAt(i), 0x01000193) ^ (mark >>> 15);
    return mark;
  };
}

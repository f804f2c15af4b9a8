import { hash } from 'node:crypto';
import { type MaybeAsync, mapMaybeAsync } from './maybe-async.js';
import type { ClockPort, RandomPort } from './ports.js';

/** Different wrong tokens from one network within so many milliseconds, after which it has to wait. */
const MOST_WRONG = 20;
const WINDOW = 60_000;

/** Networks remembered at most, so that guessing from many does not fill the memory. */
const MOST_NETWORKS = 10_000;
/** Named tokens remembered at most that one network was let in with; beside them the configuration's own and sessions; all that this process handed out. */
const MOST_LET_IN = 16;
const MOST_OWN = 64;
const MOST_HANDED_OUT = 10_000;

/** Longer ones are no tokens that anybody was let in with. */
const LONGEST_TOKEN = 4096;

/** The outcome of a check of a credential; `own`: it is the configuration's own token, or a session. */
export type Rightness = boolean | 'own';

/** The outcome of an authorization: right, wrong, or the seconds until it may be looked at. */
export type TokenVerdict = 'right' | 'wrong' | number;

export type TokenGuard = ReturnType<typeof createTokenGuard>;

/** Marks of the credentials that a network was let in with. */
interface LetIn {
  readonly own: Set<number>;
  readonly named: Set<number>;
  /** The one that was used last. */
  latest: number | null;
}

/** Counts since the start. */
export interface TokenGuardStatus {
  /** Requests that were refused without a look at their token. */
  readonly unread: number;
}

/** A guard that has nobody wait. */
export const NO_TOKEN_GUARD: TokenGuard = {
  check: (_network, authorization, isRight) =>
    mapMaybeAsync(authorization !== undefined && isRight(authorization), (right) =>
      right === false ? 'wrong' : 'right',
    ),
  handedOut() {},
  status: () => ({ unread: 0 }),
};

/**
 * Slows the guessing of tokens, per network (as `Caller` says it). After too many different wrong tokens one that the
 * network has not been let in with before is not looked at. One wrong token counts once however often it comes, and one
 * that was handed out here never: a forgotten tab is no guess. What is remembered of tokens are digests.
 */
export function createTokenGuard(clock: ClockPort, random: RandomPort) {
  const salt = random.bytes(16);
  const markOf = createMarks(salt);
  const digestOf = createDigests(salt);
  /** Wrong ones by network, each with the time when it came last, in that order. */
  const wrong = new Map<string, Map<number, number>>();
  /** The credentials that each network was let in with, the oldest use first. */
  const letInBy = new Map<string, LetIn>();
  const handedOut = new Set<number>();
  let unread = 0;

  /** Milliseconds until the network may guess again, or null. */
  function wait(network: string): number | null {
    const times = wrong.get(network);
    if (times === undefined || times.size < MOST_WRONG) return null;
    const [oldest = 0] = times.values();
    const rest = oldest + WINDOW - clock.monotonic();
    return rest > 0 ? rest : null;
  }

  function letIn(network: string, authorization: string, isOwn: boolean): void {
    const mark = markOf(authorization);
    const known = letInBy.get(network) ?? { own: new Set(), named: new Set(), latest: null };
    if (known.latest === mark) return;
    known.latest = mark;
    const marks = isOwn ? known.own : known.named;
    // One that is used goes on being known, however many others come.
    marks.delete(mark);
    addBounded(marks, mark, isOwn ? MOST_OWN : MOST_LET_IN);
    letInBy.delete(network);
    letInBy.set(network, known);
    dropOldest(letInBy, MOST_NETWORKS);
  }

  function isKnown(network: string, authorization: string): boolean {
    const known = letInBy.get(network);
    if (known === undefined || authorization.length > LONGEST_TOKEN) return false;
    const mark = markOf(authorization);
    return known.own.has(mark) || known.named.has(mark);
  }

  function refused(network: string, authorization: string): void {
    const digest = digestOf(authorization);
    if (handedOut.has(digest)) return;
    const now = clock.monotonic();
    const times = wrong.get(network) ?? new Map<number, number>();
    for (const [old, time] of times) if (time <= now - WINDOW) times.delete(old);
    times.delete(digest);
    times.set(digest, now);
    wrong.delete(network);
    wrong.set(network, times);
    dropOldest(wrong, MOST_NETWORKS);
  }

  return {
    /**
     * Has an authorization (the value of that header) looked at, unless its network has to wait. A right one costs a look-up
     * or two as long as nothing is new; a request without any is wrong and no guess. Fails as `isRight` does, which is no guess.
     */
    check(
      network: string,
      authorization: string | undefined,
      isRight: (authorization: string) => MaybeAsync<Rightness>,
    ): MaybeAsync<TokenVerdict> {
      if (authorization === undefined) return 'wrong';
      // Most of the time nobody guesses.
      const rest = wrong.size === 0 ? null : wait(network);
      if (rest !== null && !isKnown(network, authorization)) {
        unread += 1;
        return Math.max(1, Math.ceil(rest / 1000));
      }
      return mapMaybeAsync(isRight(authorization), (right) => {
        if (right === false) refused(network, authorization);
        else letIn(network, authorization, right === 'own');
        return right === false ? 'wrong' : 'right';
      });
    },
    /** To be called with every session token and whom it was given to. */
    handedOut(network: string, token: string): void {
      addBounded(handedOut, digestOf(token), MOST_HANDED_OUT);
      letIn(network, token, true);
    },
    status: (): TokenGuardStatus => ({ unread }),
  };
}

function addBounded(set: Set<number>, value: number, most: number): void {
  set.add(value);
  dropOldest(set, most);
}

function dropOldest<Key>(kept: Map<Key, unknown> | Set<Key>, most: number): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= most) return;
    kept.delete(oldest);
  }
}

const BEARER = 'Bearer ';

/** A token is the same with the scheme before it and without. */
const tokenStart = (authorization: string): number => (authorization.startsWith(BEARER) ? BEARER.length : 0);

/** 48 bits of a salted SHA-256: nobody can make two wrong tokens that count as one. */
function createDigests(salt: Buffer): (authorization: string) => number {
  const prefix = salt.toString('hex');
  return (authorization) =>
    hash('sha256', prefix + authorization.slice(tokenStart(authorization)), 'buffer').readUIntBE(0, 6);
}

/**
 * 32 bits that tell a token which was let in from another, for every request that is: a SHA-256 would take longer than the
 * rest of the check. A wrong token that had the mark of a right one would be looked at, and refused.
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

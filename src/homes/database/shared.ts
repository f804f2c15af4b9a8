import { hash } from 'node:crypto';
import { type Audit, createAuditEntry } from '../../core/audit.js';
import type { AuditEntry } from '../../core/model.js';
import type { ClockPort, RandomPort } from '../../core/ports.js';
import { equalSecrets, type Session } from '../../core/session.js';
import { withoutNul } from './limits.js';
import { WRITES, type WriteStatement } from './statements.js';

/** Executes a change and resolves once it is visible here. Rejects with `backendAway` or `outcomeUnknown`. */
export type Change = (statement: WriteStatement) => Promise<void>;

export interface SharedOptions {
  readonly change: Change;
  /** Resolves once everything committed before the call is visible here. Rejects with `backendAway`. */
  readonly lookUp: () => Promise<void>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
}

/** The known session of one mount. */
interface Known {
  /** SHA-256 of the token, in hexadecimal; null without a session. */
  digest: string | null;
  number: bigint;
  /** The token itself, once it has been shown here, so that it need not be hashed again. */
  token: string | null;
}

export type SharedSessions = ReturnType<typeof createSharedSessions>;

/** A session as stored in the database; a null digest is one that has ended. */
export interface FollowedSession {
  readonly api: string;
  readonly digest: string | null;
  /** The number of the write that began or ended it. */
  readonly number: bigint;
}

/** Keeps the sessions of every mount, as stored in the database; it holds digests, never a token. */
export function createSharedSessions({ change, lookUp }: SharedOptions) {
  const known = new Map<string, Known>();

  function knownOf(api: string): Known {
    const found = known.get(api) ?? { ...NO_SESSION };
    known.set(api, found);
    return found;
  }

  function isHeldHere(session: Known, token: string): boolean {
    if (session.token !== null) return equalSecrets(token, session.token);
    if (session.digest === null || !equalSecrets(hash('sha256', token), session.digest)) return false;
    session.token = token;
    return true;
  }

  /** Takes changed sessions. */
  function take(sessions: readonly FollowedSession[]): void {
    for (const { api, digest, number } of sessions) {
      const session = knownOf(api);
      if (number <= session.number) continue;
      session.number = number;
      if (digest !== session.digest) session.token = null;
      session.digest = digest;
    }
  }

  return {
    of(api: string): Session {
      const session = knownOf(api);
      return {
        begin: (token) => change(WRITES.beginSession(api, hash('sha256', token, 'buffer'))),
        // The write that changes the credentials ends the sessions that began before it.
        end: () => undefined,
        matches: (token) => isHeldHere(session, token) || lookUp().then(() => isHeldHere(session, token)),
        isHeld: () => session.digest !== null,
      };
    },
    take,
    /** Takes all sessions. */
    replaceAll(sessions: readonly FollowedSession[]): void {
      for (const session of known.values()) Object.assign(session, NO_SESSION);
      take(sessions);
    },
  };
}

const NO_SESSION: Known = { digest: null, number: -1n, token: null };

export interface SharedAudit extends Audit {
  /** Takes the list, newest first. */
  take(entries: readonly AuditEntry[]): void;
}

export function createSharedAudit({ change, clock, random }: SharedOptions, isKnown: () => void): SharedAudit {
  let entries: readonly AuditEntry[] = [];
  return {
    list() {
      isKnown();
      return entries;
    },
    async add(event) {
      withoutNul(event.eventEn, 'eventEn');
      withoutNul(event.eventRu, 'eventRu');
      await change(WRITES.addAudit(createAuditEntry(event, clock, random)));
    },
    clear: () => change(WRITES.clearAudit()),
    isProtected: () => false,
    take(next) {
      entries = next;
    },
  };
}

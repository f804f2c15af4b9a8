import type { Again, SessionState } from '../../state/session.js';
import { sha256 } from '../../text/sha256.js';
import { credentialsIn, type Reading } from './document.js';

/** The effect of saving on the page's own session. */
export type CredentialChange =
  | 'none'
  /** The page signs in again by itself. */
  | 'signedInAgain'
  | 'signInAgain';

export interface Renewal {
  readonly change: CredentialChange;
  /** The credentials to sign in with after saving, as far as the page knows them. */
  readonly again: Again | null;
}

const NONE: Renewal = { change: 'none', again: null };
const BY_HAND: Renewal = { change: 'signInAgain', again: null };

/** Tells what becomes of the session when the file changes; `typed` is the new password, where one was typed. */
export function renewalBetween(before: Reading, after: Reading, state: SessionState, typed: string): Renewal {
  const credential = state.phase === 'signedIn' ? state.credential : null;
  if (!before.ok || !after.ok || credential === null) return NONE;
  const [old, now] = [credentialsIn(before.tree), credentialsIn(after.tree)];
  const isTokenChanged = old.token !== now.token;
  if (credential.kind === 'token') {
    if (!isTokenChanged) return NONE;
    return now.token === '' ? BY_HAND : { change: 'signedInAgain', again: { kind: 'token', token: now.token } };
  }
  if (!isTokenChanged && old.username === now.username && old.passwordHash === now.passwordHash) return NONE;
  if (typed === '' || now.passwordHash !== sha256(typed)) return BY_HAND;
  return { change: 'signedInAgain', again: { kind: 'password', username: now.username, password: typed } };
}

import type { Credentials } from '../../core/model.js';
import { equalSecrets, type Session } from '../../core/session.js';

/** A revision's access check (protocol: "Access check for protected endpoints"). */
export interface AuthScheme {
  readonly name: string;
  /** Whether every request passes under these credentials. */
  isOpen(credentials: Credentials): boolean;
  /** Whether a request with this `Authorization` value passes, on a mount that is not open. */
  accepts(authorization: string | undefined, credentials: Credentials, session: Session): boolean;
  /** What an operator would have to configure for this scheme not to be open. */
  readonly closedBy: string;
}

const BEARER = 'Bearer ';

const bearerOf = (authorization: string): string | null =>
  authorization.startsWith(BEARER) ? authorization.slice(BEARER.length) : null;

/** Nothing empty ever matches (design: "An empty token"). */
function isToken(given: string, token: string | null): boolean {
  return token !== null && token !== '' && equalSecrets(given, token);
}

const noOperator = ({ username, passwordHash }: Credentials): boolean => username === '' && passwordHash === '';

/** Earliest revision: a single static token, empty for open; no login. */
export const staticToken: AuthScheme = {
  name: 'static token',
  isOpen: ({ token }) => token === null || token === '',
  accepts(authorization, { token }) {
    if (authorization === undefined) return false;
    return isToken(bearerOf(authorization) ?? authorization, token) || isToken(authorization, token);
  },
  closedBy: 'token',
};

/** DNS revision: only `Bearer <session token>`. */
export const sessionToken: AuthScheme = {
  name: 'session token',
  isOpen: noOperator,
  accepts(authorization, _credentials, session) {
    const bearer = authorization === undefined ? null : bearerOf(authorization);
    return bearer !== null && session.matches(bearer);
  },
  closedBy: 'username and password_hash',
};

/** Current revision: the session token or the static token as a bearer, or the static token as it stands. */
export const sessionOrStaticToken: AuthScheme = {
  name: 'session or static token',
  isOpen: (credentials) => noOperator(credentials) && credentials.token === null,
  accepts(authorization, credentials, session) {
    if (authorization === undefined) return false;
    const bearer = bearerOf(authorization);
    if (bearer === null) return isToken(authorization, credentials.token);
    return session.matches(bearer) || isToken(bearer, credentials.token);
  },
  closedBy: 'token, or username and password_hash',
};

import type { MaybeAsync } from '../../core/maybe-async.js';
import type { Credentials } from '../../core/model.js';
import { equalSecrets, type Session } from '../../core/session.js';

/** A credential of a caller: the token of a session from a login, or the server's static token. */
export interface Credential {
  readonly kind: 'session' | 'token';
  readonly secret: string;
}

/** A revision's access check (protocol: "Access check for protected endpoints"). */
export interface AuthScheme {
  readonly name: string;
  /** Tells whether every request passes under these credentials. */
  isOpen(credentials: Credentials): boolean;
  /** Tells whether the line's own servers start no API by these credentials, because nobody could sign in. */
  admitsNobody(credentials: Credentials): boolean;
  /** Returns the `Authorization` value that shows this credential, or null if the scheme has none for its kind. */
  encode(credential: Credential): string | null;
  /** Returns the credentials that an `Authorization` value may show; the request passes if one of them is right. */
  decode(authorization: string): readonly Credential[];
  /** Names what the operator would have to configure to close this scheme. */
  readonly closedBy: string;
}

/** Tells whether the scheme admits everyone if nothing is configured. */
export function mayBeOpen(scheme: AuthScheme): boolean {
  return scheme.isOpen({ token: null, username: '', passwordHash: '' });
}

/**
 * Returns the kind of the right credential that this `Authorization` value shows; null if it shows none. The session is
 * asked only about what is not the token, because it may have to ask elsewhere.
 */
export function acceptedKind(
  scheme: AuthScheme,
  authorization: string,
  { token }: Credentials,
  session: Pick<Session, 'matches'>,
): MaybeAsync<Credential['kind'] | null> {
  const shown = scheme.decode(authorization);
  if (shown.some(({ kind, secret }) => kind === 'token' && isToken(secret, token))) return 'token';
  const ofSession = shown.find(({ kind }) => kind === 'session');
  return ofSession === undefined ? null : kindOfSession(session, ofSession.secret);
}

async function kindOfSession(session: Pick<Session, 'matches'>, secret: string): Promise<'session' | null> {
  return (await session.matches(secret)) ? 'session' : null;
}

/** Tells whether a request with this `Authorization` value passes, on a mount that is not open. */
export async function accepts(...asked: Parameters<typeof acceptedKind>): Promise<boolean> {
  return (await acceptedKind(...asked)) !== null;
}

/** Compares with the token; an empty text never matches (design: "An empty token"). */
function isToken(given: string, token: string | null): boolean {
  return token !== null && !isBlank(token) && equalSecrets(given, token);
}

const BEARER = 'Bearer ';

const bearerOf = (authorization: string): string | null =>
  authorization.startsWith(BEARER) ? authorization.slice(BEARER.length) : null;

const token = (secret: string): Credential => ({ kind: 'token', secret });
const session = (secret: string): Credential => ({ kind: 'session', secret });

const isBlank = (token: string | null): boolean => (token ?? '').trim() === '';

const noOperator = ({ username, passwordHash }: Credentials): boolean => username === '' && passwordHash === '';

/** Earliest revision: a single static token, empty for open; no login. */
export const staticToken: AuthScheme = {
  name: 'static token',
  isOpen: (credentials) => credentials.token === null || credentials.token === '',
  admitsNobody: () => false,
  encode: ({ kind, secret }) => (kind === 'token' ? BEARER + secret : null),
  decode(authorization) {
    const bearer = bearerOf(authorization);
    return bearer === null ? [token(authorization)] : [token(bearer), token(authorization)];
  },
  closedBy: 'token',
};

/** DNS revision: only `Bearer <session token>`. */
export const sessionToken: AuthScheme = {
  name: 'session token',
  isOpen: noOperator,
  admitsNobody: () => false,
  encode: ({ kind, secret }) => (kind === 'session' ? BEARER + secret : null),
  decode(authorization) {
    const bearer = bearerOf(authorization);
    return bearer === null ? [] : [session(bearer)];
  },
  closedBy: 'username and password_hash',
};

/** Current revision: the session token or the static token as a bearer, or the static token alone. */
export const sessionOrStaticToken: AuthScheme = {
  name: 'session or static token',
  isOpen: (credentials) => noOperator(credentials) && credentials.token === null,
  admitsNobody: () => false,
  encode: ({ secret }) => BEARER + secret,
  decode(authorization) {
    const bearer = bearerOf(authorization);
    return bearer === null ? [token(authorization)] : [session(bearer), token(bearer)];
  },
  closedBy: 'token, or username and password_hash',
};

/** The same from 0.4.6 on, but never open: without a credential that admits somebody there is no API. */
export const sessionOrTokenNeverOpen: AuthScheme = {
  ...sessionOrStaticToken,
  name: 'session or static token, never open',
  isOpen: () => false,
  admitsNobody: ({ token, username, passwordHash }) => isBlank(token) && (username === '' || passwordHash === ''),
};

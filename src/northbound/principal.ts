import type { FastifyRequest } from 'fastify';
import { andThen, type MaybeAsync } from '../core/maybe-async.js';
import type { Credentials } from '../core/model.js';
import type { NamedTokens } from '../core/named-tokens.js';
import { type Principal, SESSION, STATIC } from '../core/principal.js';
import type { Look, TokenGuard } from '../core/token-guard.js';
import { acceptedKind, type Credential } from '../wire/traits/auth.js';
import type { CallerOf } from './caller.js';
import type { Mount } from './mount.js';

/** The credentials that callers may show: the listener's own and named tokens. */
export interface KnownCredentials {
  readonly credentials: () => Credentials;
  readonly named: NamedTokens;
}

/** Identifies the caller by an `Authorization` value; null if it is wrong. Ignores the rule of an open mount. */
export function principalShown(
  mount: Pick<Mount, 'revision' | 'session'>,
  { credentials, named }: KnownCredentials,
  authorization: string,
): MaybeAsync<Principal | null> {
  return andThen(named.principalShown(authorization), (holder) => {
    if (holder !== null) return holder;
    return andThen(acceptedKind(mount.revision.auth, authorization, credentials(), mount.session), principalOf);
  });
}

function principalOf(kind: Credential['kind'] | null): Principal | null {
  if (kind === null) return null;
  return kind === 'token' ? STATIC : SESSION;
}

/** The parts that check a caller's credential. */
export interface Access extends KnownCredentials {
  readonly tokens: TokenGuard;
  readonly callerOf: CallerOf;
}

/** Checks a request's credential, unless its network has to wait. */
export function lookAtCredential(
  mount: Pick<Mount, 'revision' | 'session'>,
  access: Access,
  request: FastifyRequest,
): MaybeAsync<Look> {
  const { network } = access.callerOf(request.raw);
  return access.tokens.check(network, request.headers.authorization, (authorization) =>
    principalShown(mount, access, authorization),
  );
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; null until a credential has been accepted. */
    principal: Principal | null;
  }
}

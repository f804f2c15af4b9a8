import { type MaybeAsync, mapMaybeAsync } from '../core/maybe-async.js';
import type { Credentials } from '../core/model.js';
import type { NamedTokens } from '../core/named-tokens.js';
import { type Principal, SESSION, STATIC } from '../core/principal.js';
import type { Rightness } from '../core/token-guard.js';
import { acceptedKind } from '../wire/traits/auth.js';
import type { Mount } from './mount.js';

/** The credentials that callers may show: those of the listener, and named tokens. */
export interface KnownCredentials {
  readonly credentials: () => Credentials;
  readonly named: NamedTokens;
}

/** Finds the caller whom an `Authorization` value shows to a mount; null for nobody. An open mount's rule lets nobody in here. */
export function principalShown(
  mount: Pick<Mount, 'revision' | 'session'>,
  { credentials, named }: KnownCredentials,
  authorization: string,
): MaybeAsync<Principal | null> {
  return mapMaybeAsync(named.principalShown(authorization), (holder) => {
    if (holder !== null) return holder;
    return mapMaybeAsync(acceptedKind(mount.revision.auth, authorization, credentials(), mount.session), (kind) => {
      if (kind === null) return null;
      return kind === 'token' ? STATIC : SESSION;
    });
  });
}

/** The outcome of a look at a credential, as the token guard goes by it. */
export function rightnessOf(principal: Principal | null): Rightness {
  return principal === STATIC || principal === SESSION ? 'own' : principal !== null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until a credential was found right where callers are told apart. */
    principal: Principal | null;
  }
}

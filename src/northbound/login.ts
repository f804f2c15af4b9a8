import { DomainError } from '../core/errors.js';
import type { Credentials } from '../core/model.js';
import type { RandomPort } from '../core/ports.js';
import { equalSecrets, passwordDigest } from '../core/session.js';
import type { TokenGuard } from '../core/token-guard.js';
import type { LoginGuard } from './login-guard.js';
import type { Mount } from './mount.js';
import type { Caller } from './peers.js';
import type { RequestsObserver } from './request-observer.js';

/** The operator login (protocol: "Login"). */
export interface Login {
  /**
   * Begins the mount's session and resolves to its token. Rejects with `authNotConfigured`, or `unauthorized`, the latter
   * also where the guard keeps the caller waiting: the password is then not looked at; and as the session's begin does.
   */
  begin(mount: Mount, caller: Caller, username: string, password: string): Promise<string>;
  /** The same as `retryAfter` before a body is read: the attempt counts as one that was kept waiting. */
  keepsWaiting(mount: Mount, caller: Caller): number | null;
  /** Seconds that the guard keeps the caller waiting, or null. */
  retryAfter(caller: Caller): number | null;
}

function isConfigured({ username, passwordHash }: Credentials): boolean {
  return username !== '' && passwordHash !== '';
}

export function createLogin(
  credentials: () => Credentials,
  guard: LoginGuard,
  tokens: Pick<TokenGuard, 'handedOut'>,
  random: RandomPort,
  observer?: Pick<RequestsObserver, 'login'>,
): Login {
  return {
    retryAfter: ({ network }) => guard.retryAfter(network),
    keepsWaiting(mount, { network }) {
      const wait = isConfigured(credentials()) ? guard.retryAfter(network) : null;
      if (wait !== null) observer?.login(mount, 'waiting');
      return wait;
    },
    async begin(mount, { network }, username, password) {
      const configured = credentials();
      if (!isConfigured(configured)) throw new DomainError('authNotConfigured');
      if (guard.retryAfter(network) !== null) {
        observer?.login(mount, 'waiting');
        throw new DomainError('unauthorized');
      }
      const nameFits = equalSecrets(username, configured.username);
      const passwordFits = equalSecrets(passwordDigest(password), configured.passwordHash);
      if (!(nameFits && passwordFits)) {
        guard.failed(network);
        observer?.login(mount, 'refused');
        throw new DomainError('unauthorized');
      }
      guard.succeeded(network);
      const token = random.uuid();
      await mount.session.begin(token);
      tokens.handedOut(network, token);
      observer?.login(mount, 'begun');
      return token;
    },
  };
}

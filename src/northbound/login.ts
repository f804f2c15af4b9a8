import { DomainError } from '../core/errors.js';
import type { Credentials } from '../core/model.js';
import type { RandomPort } from '../core/ports.js';
import { equalSecrets, passwordDigest } from '../core/session.js';
import type { LoginGuard } from './login-guard.js';
import type { Mount } from './mount.js';
import type { RequestsObserver } from './request-observer.js';

/** The operator login (spec: Authentication, "Login"). */
export interface Login {
  /**
   * Begins the mount's session and returns its token. Throws `authNotConfigured`, or `unauthorized`, the latter also
   * where the guard keeps the address waiting: the password is then not looked at.
   */
  begin(mount: Mount, address: string, username: string, password: string): string;
  /** Seconds that the guard keeps the address waiting, or null. */
  retryAfter(address: string): number | null;
}

export function createLogin(
  credentials: () => Credentials,
  guard: LoginGuard,
  random: RandomPort,
  observer?: Pick<RequestsObserver, 'login'>,
): Login {
  return {
    retryAfter: (address) => guard.retryAfter(address),
    begin(mount, address, username, password) {
      const configured = credentials();
      if (configured.username === '' || configured.passwordHash === '') throw new DomainError('authNotConfigured');
      if (guard.retryAfter(address) !== null) {
        observer?.login(mount, 'waiting');
        throw new DomainError('unauthorized');
      }
      const nameFits = equalSecrets(username, configured.username);
      const passwordFits = equalSecrets(passwordDigest(password), configured.passwordHash);
      if (!(nameFits && passwordFits)) {
        guard.failed(address);
        observer?.login(mount, 'refused');
        throw new DomainError('unauthorized');
      }
      guard.succeeded(address);
      const token = random.uuid();
      mount.session.begin(token);
      observer?.login(mount, 'begun');
      return token;
    },
  };
}

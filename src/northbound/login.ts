import { DomainError } from '../core/errors.js';
import type { Credentials } from '../core/model.js';
import { isPassword, isPbkdf2, isPbkdf2Password } from '../core/password.js';
import { PerKeyQueue } from '../core/per-key-queue.js';
import type { RandomPort } from '../core/ports.js';
import { equalSecrets } from '../core/session.js';
import type { TokenGuard } from '../core/token-guard.js';
import type { LoginGuard } from './login-guard.js';
import type { Mount } from './mount.js';
import type { Caller } from './peers.js';
import type { RequestsObserver } from './request-observer.js';

export type Login = ReturnType<typeof createLogin>;

/** The most attempts in comparison or in the queue, in all and of one network, so that none holds up another. */
const MOST_WAITING = 32;
const MOST_OF_NETWORK = 8;
/** Seconds after which a refused attempt may find room in the queue. */
const ROOM_AGAIN = 1;

function isConfigured({ username, passwordHash }: Credentials): boolean {
  return username !== '' && passwordHash !== '';
}

/** Serves the operator login (protocol: "Login"). */
export function createLogin(
  credentials: () => Credentials,
  guard: LoginGuard,
  tokens: Pick<TokenGuard, 'handedOut'>,
  random: RandomPort,
  observer?: Pick<RequestsObserver, 'login'>,
) {
  const queue = new PerKeyQueue();
  let waiting = 0;
  const waitingOf = new Map<string, number>();

  function retryAfter(network: string): number | null {
    const isFull = waiting >= MOST_WAITING || (waitingOf.get(network) ?? 0) >= MOST_OF_NETWORK;
    return guard.retryAfter(network) ?? (isFull ? ROOM_AGAIN : null);
  }

  function changeWaiting(network: string, by: 1 | -1): void {
    waiting += by;
    const left = (waitingOf.get(network) ?? 0) + by;
    if (left === 0) waitingOf.delete(network);
    else waitingOf.set(network, left);
  }

  /** Judges an attempt; a failure counts with the guard before the next attempt is judged. */
  function judged(isRight: boolean, network: string): 'refused' | 'right' {
    if (isRight) return 'right';
    guard.failed(network);
    return 'refused';
  }

  /** Compares slow hashes one at a time, so that guessing occupies one processor at most. */
  async function judgedInTurn(nameFits: boolean, password: string, kept: string, network: string) {
    changeWaiting(network, 1);
    try {
      return await queue.run('', async () => {
        if (guard.retryAfter(network) !== null) return 'waiting';
        const fits = await isPbkdf2Password(password, kept);
        return judged(nameFits && fits, network);
      });
    } finally {
      changeWaiting(network, -1);
    }
  }

  return {
    /** Returns the seconds that the guard or the queue keeps the caller waiting; null if neither does. */
    retryAfter: ({ network }: Caller): number | null => retryAfter(network),
    /**
     * Counts the attempt as one that was kept waiting, and returns the seconds like `retryAfter`. For use before the
     * body is read.
     */
    keepsWaiting(mount: Mount, { network }: Caller): number | null {
      const wait = isConfigured(credentials()) ? retryAfter(network) : null;
      if (wait !== null) observer?.login(mount, 'waiting');
      return wait;
    },
    /**
     * Begins the mount's session and resolves to its token. Rejects with `authNotConfigured`, `unauthorized`,
     * `tooManyLogins` if `retryAfter` keeps the caller waiting (the password is then not compared), or an error of the
     * session.
     */
    async begin(mount: Mount, { network }: Caller, username: string, password: string): Promise<string> {
      const configured = credentials();
      if (!isConfigured(configured)) throw new DomainError('authNotConfigured');
      const refused = (outcome: 'waiting' | 'refused'): DomainError => {
        observer?.login(mount, outcome);
        return outcome === 'waiting'
          ? new DomainError('tooManyLogins', '', retryAfter(network))
          : new DomainError('unauthorized');
      };
      if (retryAfter(network) !== null) throw refused('waiting');
      const { passwordHash } = configured;
      const nameFits = equalSecrets(username, configured.username);
      const outcome = isPbkdf2(passwordHash)
        ? await judgedInTurn(nameFits, password, passwordHash, network)
        : judged(isPassword(password, passwordHash) && nameFits, network);
      if (outcome !== 'right') throw refused(outcome);
      // The credentials may have changed meanwhile, which ended every session.
      const present = credentials();
      if (present.passwordHash !== passwordHash || present.username !== configured.username) throw refused('refused');
      guard.succeeded(network);
      const token = random.uuid();
      await mount.session.begin(token);
      tokens.handedOut(network, token);
      observer?.login(mount, 'begun');
      return token;
    },
  };
}

import { NoAnswer } from './call.js';
import { NoEnvelope } from './envelope.js';
import type { Secrets } from './secrets.js';
import type { AskedThing } from './server.js';
import type { Refusal } from './sign-in.js';
import type { Troubles } from './troubles.js';
import { UpstreamError } from './upstream-error.js';

/** Seconds. */
const RETRY_AWAY = 5;

/** The most characters of a reason: a server may fail in as many words as an answer has room for. */
const MOST_SHOWN = 2_000;

/** Writes messages for failed calls to one server, and keeps its troubles by the outcome of each call. */
export class CallFailures {
  readonly #origin: string;
  readonly #troubles: Troubles;
  readonly #secrets: Secrets;
  /** Failures of logins, which say nothing about the call that needed them. */
  readonly #ofLogins = new WeakSet<object>();

  constructor(origin: string, troubles: Troubles, secrets: Secrets) {
    this.#origin = origin;
    this.#troubles = troubles;
    this.#secrets = secrets;
  }

  loginFailed(error: unknown): void {
    if (error instanceof Error) this.#ofLogins.add(error);
  }

  /** Records that the API has answered. */
  answered(of: AskedThing, isLetIn: boolean): void {
    this.#troubles.over('connection');
    this.#troubles.over(of);
    if (isLetIn) this.#troubles.over('sign-in');
  }

  /** Returns the error for a call that the API did not answer. */
  away(error: unknown, of: AskedThing, mayHaveHappened: boolean): Error {
    if (!(error instanceof NoAnswer) && !(error instanceof NoEnvelope))
      return error instanceof Error ? error : new Error(String(error));
    const isSilent = error instanceof NoAnswer && error.kind === 'silent';
    const reason = this.#shown(error.message);
    const { since } = this.#troubles.met(this.#thingOf(error, of), 'away', reason);
    const detail = `${this.#origin}: ${reason}, since ${new Date(since).toISOString()}`;
    return new UpstreamError(
      isSilent ? 'upstreamSilent' : 'upstreamAway',
      mayHaveHappened ? `${detail}; the change may have been made` : detail,
      { mayHaveHappened, retryAfter: RETRY_AWAY },
    );
  }

  /** Returns the error for a call that was refused entry. */
  refused({ reason, retryAfter, isForNow }: Refusal): UpstreamError {
    this.#troubles.met('sign-in', 'refused', reason);
    const more = { mayHaveHappened: false, retryAfter, isForNow };
    return new UpstreamError('upstreamRefused', `${this.#origin}: ${reason}`, more);
  }

  /** Returns the error for a check that was refused entry: the server is alive, and callers will learn the rest. */
  closedToLook({ reason, retryAfter }: Refusal): UpstreamError {
    this.answered('single calls', false);
    return new UpstreamError('upstreamRefused', `${this.#origin}: ${reason}`, { mayHaveHappened: false, retryAfter });
  }

  /** Returns the error for an envelope with a failure that no line has. */
  unknownFailure(
    { status, text }: { readonly status: number; readonly text: string },
    of: AskedThing,
    mayHaveHappened: boolean,
  ): UpstreamError {
    const reason = this.#shown(`it answered ${status}: ${text}`);
    this.#troubles.over('connection');
    this.#troubles.met(of, 'away', reason);
    return new UpstreamError('upstreamAway', `${this.#origin}: ${reason}`, { mayHaveHappened, retryAfter: RETRY_AWAY });
  }

  /** Strikes credentials out of a reason before it is cut off, because half a credential would not be found. */
  #shown(reason: string): string {
    const struck = this.#secrets.inSentence(reason);
    // Half of a surrogate pair at the end would be refused by readers of JSON.
    return struck.length > MOST_SHOWN ? `${struck.slice(0, MOST_SHOWN).replace(/\p{Surrogate}$/u, '')}…` : struck;
  }

  #thingOf(error: NoAnswer | NoEnvelope, of: AskedThing): AskedThing {
    if (error instanceof NoAnswer && error.kind === 'unreachable') return 'connection';
    return this.#ofLogins.has(error) ? 'sign-in' : of;
  }
}

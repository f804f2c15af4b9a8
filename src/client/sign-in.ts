import { isJsonObject } from '../wire/json/json.js';
import { operationNamed } from '../wire/operations.js';
import type { Caller } from './call.js';
import { NoEnvelope, notAnEnvelope, readEnvelope } from './envelope.js';
import type { Finding } from './find-line.js';
import type { LoginOutcome, NoSession } from './session.js';
import type { TargetCredentials } from './signed-in-caller.js';

interface SignIn {
  readonly caller: Caller;
  readonly credentials: TargetCredentials;
}

/** Begins a session of the API at this root. Rejects with `NoAnswer` or `NoEnvelope` if the outcome is unknown. */
export async function logIn(apiRoot: string, { caller, credentials }: SignIn): Promise<LoginOutcome> {
  const { operator } = credentials;
  if (operator === null) return { kind: 'absent' };
  const { method, path } = operationNamed('login');
  const headers = new Map([['content-type', 'application/json']]);
  const body = Buffer.from(JSON.stringify(operator));
  const answer = await caller.send({ method, path: apiRoot + path, headers, body });
  const envelope = readEnvelope(answer);
  if (envelope?.ok === true && isJsonObject(envelope.data) && typeof envelope.data.token === 'string') {
    const { token } = envelope.data;
    if (!SENDABLE.test(token)) throw new NoEnvelope(`POST ${path}: its token cannot stand in a header`);
    return { kind: 'begun', token };
  }
  const seconds = secondsIn(answer.headers.get('retry-after'));
  if (answer.status === TOO_MANY) return { kind: 'later', seconds: seconds ?? RETRY_TOO_MANY };
  if (answer.status === 404 || answer.status === 405) return { kind: 'absent' };
  if (envelope === null || envelope.ok) throw new NoEnvelope(`POST ${path}: ${notAnEnvelope(answer)}`);
  if (seconds !== null) return { kind: 'later', seconds };
  if (answer.status >= 500) throw new NoEnvelope(`POST ${path}: it answered ${answer.status}: ${envelope.text}`);
  return { kind: 'refused' };
}

/** Returns the seconds of a `Retry-After`, an hour at most; null if it has none. */
function secondsIn(text: string | undefined): number | null {
  const seconds = /^[1-9]\d*$/.test(text ?? '') ? Number(text) : null;
  return seconds === null ? null : Math.min(seconds, MOST_SECONDS);
}

const MOST_SECONDS = 3600;

/** RFC 6585, 4. */
const TOO_MANY = 429;
/** Seconds if the answer does not say how many: servers of 0.4.7 accept another login after 6. */
const RETRY_TOO_MANY = 10;

/** Matches a text that a header field can carry unchanged (RFC 9110, 5.5). */
const SENDABLE = /^[\x21-\x7e]+$/;

/** Why entry is refused, and in how many seconds to ask again. */
export interface Refusal {
  readonly reason: string;
  readonly retryAfter: number;
  /** True if it will end by itself, with the same credentials. */
  readonly isForNow: boolean;
}

const lasting = (reason: string): Refusal => ({ reason, retryAfter: RETRY_REFUSED, isForNow: false });
/** In seconds. */
const RETRY_REFUSED = 60;

const WRONG_TOKEN = 'it refuses the token: --upstream-token is not the one that it has';

export const TOKEN_REFUSED = lasting(WRONG_TOKEN);
export const SESSION_USELESS = lasting('it refuses the session that it has just begun');

export function whyNoSession(none: NoSession): Refusal {
  switch (none.kind) {
    case 'absent':
      return lasting('it has no login');
    case 'refused':
      return lasting('it refuses --upstream-username and --upstream-password');
    case 'ended':
      return { reason: `the session of Keyway has ended; ${AGAIN}`, retryAfter: 1, isForNow: true };
    case 'taken':
    case 'later': {
      const { kind, seconds } = none;
      const why = kind === 'taken' ? 'it has one session, and somebody else has it' : 'it takes no sign-in now';
      return { reason: `${why}; ${AGAIN}, in ${seconds} s at the earliest`, retryAfter: seconds, isForNow: true };
    }
  }
}

const AGAIN = 'Keyway signs in again when it is called for';

/** Returns the same for an API that refused entry. */
export function whyClosed({ tried }: Extract<Finding, { kind: 'closed' }>, none: NoSession | null): Refusal {
  if (none !== null) return whyNoSession(none);
  if (tried === 'session') return SESSION_USELESS;
  const remedy = 'give --upstream-username and --upstream-password where its line has sessions alone';
  if (tried === 'token') return lasting(`${WRONG_TOKEN}; ${remedy}`);
  return lasting(`it asks for a credential: give --upstream-token; ${remedy}`);
}

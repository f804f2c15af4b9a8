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

/** Begins a session of the API at this root. Rejects with `NoAnswer` or `NoEnvelope` where nothing can be said of it. */
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
  if (answer.status === 404 || answer.status === 405) return { kind: 'absent' };
  if (envelope === null || envelope.ok) throw new NoEnvelope(`POST ${path}: ${notAnEnvelope(answer)}`);
  const wait = Number(answer.headers.get('retry-after') ?? 0);
  return wait > 0 ? { kind: 'later', seconds: wait } : { kind: 'refused' };
}

/** Text that the field of a header takes as it is (RFC 9110, 5.5). */
const SENDABLE = /^[\x21-\x7e]+$/;

/** Seconds. */
export const RETRY_REFUSED = 60;

export const TOKEN_REFUSED = 'it refuses the token: --upstream-token is not the one that it has';
export const SESSION_USELESS = 'it refuses the session that it has just begun';

/** Why there is no session, and in how many seconds to ask again. */
export function whyNoSession(none: NoSession): readonly [string, number] {
  if (none.kind === 'taken') {
    const again = `Keyway signs in again when it is called for, in ${none.seconds} s at the earliest`;
    return [`it has one session, and somebody else has it; ${again}`, none.seconds];
  }
  const why = none.kind === 'absent' ? 'it has no login' : 'it refuses --upstream-username and --upstream-password';
  return [why, RETRY_REFUSED];
}

/** The same of an API that let nobody in. */
export function whyClosed(
  { tried }: Extract<Finding, { kind: 'closed' }>,
  none: NoSession | null,
): readonly [string, number] {
  if (none !== null) return whyNoSession(none);
  if (tried === 'session') return [SESSION_USELESS, RETRY_REFUSED];
  const remedy = 'give --upstream-username and --upstream-password where its line has sessions alone';
  if (tried === 'token') return [`${TOKEN_REFUSED}; ${remedy}`, RETRY_REFUSED];
  return [`it asks for a credential: give --upstream-token; ${remedy}`, RETRY_REFUSED];
}

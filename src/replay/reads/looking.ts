import { decodeError } from '../../wire/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Operation } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { AnswerDifference } from '../compare.js';
import type { Look, Seen } from './look.js';

/** One place where an answer is not what the revision's record says, with the request that it answers. */
export interface ReadDifference extends AnswerDifference {
  readonly request: string;
}

/** What a rule found, or why it could not be seen. */
export type Found = readonly ReadDifference[] | { readonly unseen: string };

/** Where a rule looks, and by whose record. */
export interface At {
  readonly look: Look;
  readonly revision: Revision;
  readonly api: string;
  readonly base: string;
}

/** What nobody has: a key, and a path. */
export const UNKNOWN_KEY = 'keyway-no-such-key';
export const NO_PATH = '/keyway-no-such-path';
export const ORIGIN = 'https://origin.invalid';

export const NEEDS_CREDENTIAL = 'the API asks for a credential: needs --token, or --username and the password';
export const NO_KEY = 'no key stands there';

/** The path of an operation there; `key` where it has one. */
export function pathOf({ path }: Operation, { api }: At, key = UNKNOWN_KEY): string {
  return api + path.replace('{key}', () => encodeURIComponent(key));
}

/** A read with the credential that gets in, where one is known. */
export async function readWith(
  at: At,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  turn = 0,
): Promise<Seen> {
  const passing = await at.look.passing(at.api);
  return at.look.read({ method: 'GET', path, authorization: passing ?? null, headers, turn });
}

/** Whether a read is answered by the operation, rather than by the panel or by nobody. */
export async function answersAs(operation: Operation, at: At): Promise<boolean> {
  const { answer, envelope } = await readWith(at, pathOf(operation, at));
  if (envelope === null) return false;
  if (answer.status === 200 || answer.status === 401) return true;
  const { errors } = at.revision;
  const failure = decodeError(errors, operation, { status: answer.status, text: envelope.error ?? '' });
  return failure !== null && operation.failures.some((name) => errors[name].code === failure.code);
}

/** The keys as they are listed; none where the list cannot be read. */
export async function snapshots(at: At): Promise<readonly JsonObject[]> {
  const { envelope } = await readWith(at, `${at.api}/users`);
  return Array.isArray(envelope?.data) ? envelope.data.filter(isJsonObject) : [];
}

/** The one difference between two values, or none. */
export function differing(
  request: string,
  where: string,
  expected: JsonValue,
  actual: JsonValue | undefined,
): ReadDifference[] {
  return expected === actual ? [] : [{ request, where, expected, actual }];
}

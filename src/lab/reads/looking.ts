import { JSON_TYPE } from '../../wire/envelope.js';
import { decodeError, type ErrorAnswer } from '../../wire/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import { accessOf, type Operation, operationNamed } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { AnswerDifference } from '../format/json-difference.js';
import { corsDifferences } from '../play/cors.js';
import type { Look, Seen } from './look.js';

/** A place where an answer differs from the revision's record, with the request. */
export interface ReadDifference extends AnswerDifference {
  readonly request: string;
}

/** The differences that a rule found, or why it could not be checked. */
export type Found = readonly ReadDifference[] | { readonly unseen: string };

/** The server that a rule checks, and the record to check it against. */
export interface At {
  readonly look: Look;
  readonly revision: Revision;
  readonly api: string;
  readonly base: string;
}

/** A key and a path that do not exist. */
export const UNKNOWN_KEY = 'keyway-no-such-key';
export const NO_PATH = '/keyway-no-such-path';
export const ORIGIN = 'https://origin.invalid';

export const NEEDS_CREDENTIAL = 'the API asks for a credential: needs --token, or --username and the password';
export const NO_KEY = 'no key stands there';

/** Returns the path of an operation there; `key` if it has one. */
export function pathOf({ path }: Operation, { api }: At, key = UNKNOWN_KEY): string {
  return api + path.replace('{key}', () => encodeURIComponent(key));
}

/** Options of a read of an operation. */
export interface Reading {
  readonly key?: string;
  /** Including its `?`. */
  readonly query?: string;
  readonly accept?: string;
  readonly turn?: string;
}

/** Reads as a page of another origin would: with the accepted credential or, for an open operation, without one. */
export async function readOperation(
  operation: Operation,
  at: At,
  { key, query = '', accept, turn }: Reading = {},
): Promise<Seen> {
  const authorization = accessOf(operation, at.revision) === 'open' ? null : ((await at.look.passing(at.api)) ?? null);
  const headers = { origin: ORIGIN, ...(accept === undefined ? {} : { accept }) };
  const path = pathOf(operation, at, key) + query;
  return at.look.read({ method: 'GET', path, authorization, headers, ...(turn === undefined ? {} : { turn }) });
}

/** Returns the data of a success; undefined for anything else. */
export async function dataOf(
  name: Parameters<typeof operationNamed>[0],
  at: At,
  reading: Reading = {},
): Promise<JsonValue | undefined> {
  const { envelope } = await readOperation(operationNamed(name), at, reading);
  return envelope?.ok === true ? envelope.data : undefined;
}

/** Tells whether the operation answers a read, rather than the panel or nothing. */
export async function answersAs(operation: Operation, at: At): Promise<boolean> {
  const { answer, envelope } = await readOperation(operation, at);
  if (envelope === null) return false;
  if (answer.status === 200 || answer.status === 401) return true;
  const { errors } = at.revision;
  const failure = decodeError(errors, operation, { status: answer.status, text: envelope.error ?? '' });
  return failure !== null && operation.failures.some((name) => errors[name].code === failure.code);
}

/** Returns the keys as listed; none if the list cannot be read. */
export async function snapshots(at: At, turn?: string): Promise<readonly JsonObject[]> {
  const data = await dataOf('listUsers', at, turn === undefined ? {} : { turn });
  return Array.isArray(data) ? data.filter(isJsonObject) : [];
}

/** Returns the difference between two values, if there is one. */
export function differing(
  request: string,
  where: string,
  expected: JsonValue | undefined,
  actual: JsonValue | undefined,
): ReadDifference[] {
  return expected === actual ? [] : [{ request, where, expected, actual }];
}

/**
 * Checks content type, members of the envelope (the usual and `additional` ones) and permission for other origins, which
 * every answer of the API has.
 */
export function envelopeDifferences(
  request: string,
  { answer, envelope }: Seen,
  revision: Revision,
  additional: readonly string[] = [],
): ReadDifference[] {
  const others = envelope?.others ?? [];
  const unlike = [
    ...additional.filter((name) => !others.includes(name)).map((name) => ({ name, expected: '', actual: undefined })),
    ...others.filter((name) => !additional.includes(name)).map((name) => ({ name, expected: undefined, actual: '' })),
  ];
  return [
    ...differing(request, 'header content-type', JSON_TYPE, answer.headers.get('content-type')),
    ...unlike.map(({ name, ...each }) => ({ request, where: `body /${name}`, ...each })),
    ...originDifferences(request, answer.headers, revision),
  ];
}

/** Checks whether pages of other origins may read the answer. */
export function originDifferences(
  request: string,
  headers: ReadonlyMap<string, string>,
  { anyOrigin }: Revision,
): ReadDifference[] {
  const name = 'access-control-allow-origin';
  if (!anyOrigin) return differing(request, `header ${name}`, undefined, headers.get(name));
  const permitted = new Map([[name, '*']]);
  return corsDifferences(permitted, headers, new Map([['origin', ORIGIN]])).map((each) => ({ ...each, request }));
}

/** Lists an answer's differences from a failure. */
export function failureDifferences(
  request: string,
  wanted: ErrorAnswer,
  seen: Seen,
  revision: Revision,
): ReadDifference[] {
  const status = differing(request, 'status', BigInt(wanted.status), BigInt(seen.answer.status));
  if (status.length > 0) return status;
  return [
    ...differing(request, 'body /ok', false, seen.envelope?.ok),
    ...differing(request, 'body /error', wanted.text, seen.envelope?.error ?? undefined),
    ...differing(request, 'body /data', undefined, seen.envelope?.data),
    ...envelopeDifferences(request, seen, revision),
  ];
}

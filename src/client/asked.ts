import { JsonSyntaxError, type JsonValue } from '../wire/json/json.js';
import type { Operation, OperationName } from '../wire/operations.js';
import { SchemaError } from '../wire/schema-check.js';
import type { Revision } from '../wire/traits/revision.js';
import { type AnswerSize, isGrowing } from './answer-bounds.js';
import { type Answer, type Call, isSuccess } from './call.js';
import { NoEnvelope, notAnEnvelope, readEnvelope } from './envelope.js';
import type { PieceReader } from './list-reader.js';
import type { Secrets } from './secrets.js';
import type { Purpose } from './server.js';

/** One call of an operation. */
export interface Asked<T> {
  readonly operation: OperationName;
  /** The access key in the path. */
  readonly key?: string;
  /** For example `a=b`; servers that do not know it ignore it. */
  readonly query?: string;
  /** Makes the body in the form of the line. */
  readonly body?: (line: Revision) => Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly purpose?: Purpose | undefined;
  readonly onProgress?: Call['onProgress'];
  /** The size class of its answer; default `single`. */
  readonly size?: AnswerSize;
  /** True for a request of possibly many megabytes, which may take as long as a large answer. */
  readonly isLong?: boolean;
  /** Reads the data of a success. Throws `SchemaError` for data that is not in the line's form. */
  readonly read: (data: JsonValue, line: Revision) => T;
  /** The value if the server does not know the key; without it that is a refusal like any other. */
  readonly unknownKey?: { readonly value: T };
  /** Does the same as `read` on the whole answer, for data whose tree would be large; null if it is not a success. */
  readonly readWhole?: (body: Buffer) => T | null;
  /** Makes a reader that does the same while the answer arrives. */
  readonly readPieces?: (line: Revision, mostKeys: number) => PieceReader<T>;
}

/** Milliseconds for an exchange whose answer may be large, and for any other. */
const WHOLE_LARGE = 300_000;
const WHOLE_SMALL = 30_000;

interface CallWith<T> {
  readonly authorization: string | null;
  readonly pieces: PieceReader<T> | null;
  readonly secrets: Secrets;
  /** In bytes. */
  readonly answerLimit: number;
}

/** Returns the request of an operation in the form of the server's line. */
export function callOf<T>(
  asked: Asked<T>,
  { name, method, path, effect }: Operation,
  at: { readonly revision: Revision; readonly apiRoot: string },
  { authorization, pieces, secrets, answerLimit }: CallWith<T>,
): Call {
  const headers = new Map(Object.entries(asked.headers ?? {}));
  if (authorization !== null) headers.set('authorization', authorization);
  const given = asked.body?.(at.revision);
  const key = asked.key ?? '';
  if (effect.kind !== 'reads') secrets.give(key);
  const body = given && bodyOf(name, given, secrets);
  if (body !== undefined) headers.set('content-type', 'application/json');
  const { onProgress } = asked;
  const query = asked.query === undefined ? '' : `?${asked.query}`;
  return {
    method,
    path: `${at.apiRoot}${path.replace('{key}', () => keyInPath(secrets.own(key)))}${query}`,
    headers,
    body,
    timeoutMilliseconds: asked.isLong === true || isGrowing(asked.size ?? 'single') ? WHOLE_LARGE : WHOLE_SMALL,
    answerLimit,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(pieces === null ? {} : { take: pieces.take }),
  };
}

/**
 * Returns the body to send. A configuration is the server's own text, and an audit entry may be any text, so both stay
 * as they are.
 */
function bodyOf(operation: OperationName, given: Buffer, secrets: Secrets): Buffer {
  if (operation === 'putConfig') return given;
  secrets.giveBody(given);
  return operation === 'addAudit' ? given : secrets.restored(given);
}

/** Encodes a key for the path. Dots alone would be a step between folders to programs on the way (RFC 3986, 5.2.4). */
function keyInPath(accessKey: string): string {
  const encoded = encodeURIComponent(accessKey);
  return /^\.+$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded;
}

/** A failure in the server's own words. */
interface Refusal {
  readonly kind: 'refusal';
  readonly status: number;
  readonly text: string;
}

type Outcome<T> = { readonly kind: 'value'; readonly value: T } | Refusal;

interface ReadWith<T> {
  readonly line: Revision;
  readonly pieces: PieceReader<T> | null;
  readonly secrets: Secrets;
}

/** Reads an answer. Rejects with `NoEnvelope`, or with `NoAnswer` if it is longer than what is read. */
export async function outcomeOf<T>(
  answer: Answer,
  { operation, read, readWhole }: Asked<T>,
  { line, pieces, secrets }: ReadWith<T>,
): Promise<Outcome<T>> {
  await pieces?.take(answer.body);
  const inWords = () => notAnEnvelope(answer, pieces?.length);
  try {
    const whole = isSuccess(answer.status) ? ((await pieces?.end()) ?? readWhole?.(answer.body) ?? null) : null;
    if (whole !== null) return { kind: 'value', value: whole };
    const envelope = readEnvelope({ ...answer, body: pieces?.unread() ?? answer.body });
    if (envelope === null) throw new NoEnvelope(inWords(), !wasTurnedAway(answer.status));
    if (envelope.ok) return { kind: 'value', value: read(struckFor(operation, envelope.data, secrets), line) };
    return { kind: 'refusal', status: envelope.status, text: envelope.text };
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new NoEnvelope(inWords(), true);
    if (error instanceof SchemaError)
      throw new NoEnvelope(`its answer is none of line ${line.id}: ${error.message}`, true);
    throw error;
  }
}

function struckFor(operation: OperationName, data: JsonValue, secrets: Secrets): JsonValue {
  return operation === 'listAudit' ? secrets.struckForStrangers(data) : secrets.struckIn(data);
}

/**
 * Tells whether a page with this status comes from something in front of the server, which has then received nothing
 * (RFC 9110, 15.4, 15.5).
 */
function wasTurnedAway(status: number): boolean {
  return status >= 300 && status < 500;
}

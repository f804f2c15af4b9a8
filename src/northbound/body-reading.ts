import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { DomainError } from '../core/errors.js';
import type { JsonValue } from '../wire/json/json.js';
import { parseBody } from '../wire/json-body.js';
import { checked, expectation, objectsFromArrays, SchemaError } from '../wire/schema-check.js';

/**
 * Keeps the framework from judging a content type, because Keyway answers a wrong one with an envelope. Operations
 * without a body never see one, whatever a client sends (design: "A body with another content type").
 */
export function keepBodyUninterpreted(hasBody: boolean, request: FastifyRequest): void {
  const { headers } = request.raw;
  request.sentContentType = headers['content-type'];
  delete headers['content-type'];
  if (!hasBody) {
    delete headers['content-length'];
    delete headers['transfer-encoding'];
  } else if (request.sentContentType !== undefined) headers['content-type'] = 'application/octet-stream';
}

/**
 * Returns the body as a value that fits the schema, integers as bigint. Throws `notJson` for another content type and
 * `invalidBody`, whose detail names the member and what was expected, for anything else that is wrong with it. With
 * `takesArrays` an array may stand for an object, its elements in the order of the members.
 */
export function readBody(
  schema: TSchema,
  contentType: string | undefined,
  bytes: Buffer | undefined,
  { takesArrays = false } = {},
): JsonValue {
  const parsed = parseBody(jsonBytes(schema, contentType, bytes));
  const value = takesArrays ? objectsFromArrays(schema, parsed) : parsed;
  try {
    checked(schema, value, 'body');
  } catch (error) {
    if (error instanceof SchemaError) throw new DomainError('invalidBody', error.message);
    throw error;
  }
  return value;
}

/** Returns the body's bytes if there are any and they are declared to be JSON. */
export function jsonBytes(schema: TSchema | null, contentType: string | undefined, bytes: Buffer | undefined): Buffer {
  if (bytes === undefined || bytes.length === 0) {
    throw new DomainError('invalidBody', `body is missing: expected ${expectation(schema) ?? 'a JSON object'}`);
  }
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType ?? '')) throw new DomainError('notJson');
  return bytes;
}

declare module 'fastify' {
  interface FastifyRequest {
    sentContentType: string | undefined;
  }
}

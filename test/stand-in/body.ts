import { MAX_U64 } from '../../src/core/model.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../src/wire/json/json.js';

/** A body that the server refuses before any of its own code runs: plain text, no envelope. */
export class BodyRefused extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

/** What a member of a body may be. */
export type MemberShape = (value: JsonValue) => boolean;

export const isText: MemberShape = (value) => typeof value === 'string';
export const isFlag: MemberShape = (value) => typeof value === 'boolean';
export const isU64: MemberShape = (value) => typeof value === 'bigint' && value >= 0n && value <= MAX_U64;
export const isTexts: MemberShape = (value) => Array.isArray(value) && value.every(isText);
export const isTextMap: MemberShape = (value) => isJsonObject(value) && Object.values(value).every(isText);

/** The body as a value. Throws `BodyRefused` for another content type and for what is no JSON. */
export function jsonBody(contentType: string | undefined, body: Buffer): JsonValue {
  if (!/^application\/(json|[^;]+\+json)\s*(;|$)/i.test(contentType ?? ''))
    throw new BodyRefused(415, 'Expected request with `Content-Type: application/json`');
  try {
    return parseJson(body, { foreign: true, duplicates: 'last' });
  } catch (error) {
    throw new BodyRefused(400, `Failed to parse the request body as JSON: ${(error as Error).message}`);
  }
}

/** An object with these members; an optional one may be absent or null. Throws `BodyRefused`. */
export function objectBody(
  value: JsonValue,
  required: Readonly<Record<string, MemberShape>>,
  optional: Readonly<Record<string, MemberShape>> = {},
): JsonObject {
  if (!isJsonObject(value)) refuse('invalid type, expected a struct');
  for (const [name, shape] of Object.entries(required)) {
    const member = value[name];
    if (member === undefined) refuse(`missing field \`${name}\``);
    if (!shape(member)) refuse(`${name}: invalid type`);
  }
  for (const [name, shape] of Object.entries(optional)) {
    const member = value[name];
    if (member !== undefined && member !== null && !shape(member)) refuse(`${name}: invalid type`);
  }
  return value;
}

export function refuse(reason: string): never {
  throw new BodyRefused(422, `Failed to deserialize the JSON body into the target type: ${reason}`);
}

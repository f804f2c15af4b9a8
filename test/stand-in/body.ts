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

/** A body as a value, with its text, in which the servers say where they stopped. */
export interface JsonBody {
  readonly value: JsonValue;
  readonly text: string;
}

/** What a member of a body may be, and what the parser calls it. */
export interface MemberShape {
  readonly expected: string;
  readonly fits: (value: JsonValue) => boolean;
}

const texts = (value: JsonValue) => Array.isArray(value) && value.every((each) => typeof each === 'string');

export const isText: MemberShape = { expected: 'a string', fits: (value) => typeof value === 'string' };
export const isFlag: MemberShape = { expected: 'a boolean', fits: (value) => typeof value === 'boolean' };
export const isU64: MemberShape = {
  expected: 'u64',
  fits: (value) => typeof value === 'bigint' && value >= 0n && value <= MAX_U64,
};
export const isTexts: MemberShape = { expected: 'a sequence', fits: texts };
export const isTextMap: MemberShape = {
  expected: 'a map',
  fits: (value) => isJsonObject(value) && texts(Object.values(value)),
};

/** The body as a value. Throws `BodyRefused` for another content type and for what is no JSON. */
export function jsonBody(contentType: string | undefined, body: Buffer): JsonBody {
  if (!/^application\/(json|[^;]+\+json)\s*(;|$)/i.test(contentType ?? ''))
    throw new BodyRefused(415, 'Expected request with `Content-Type: application/json`');
  const text = body.toString('utf8');
  try {
    return { value: parseJson(body, { foreign: true, duplicates: 'last' }), text };
  } catch {
    throw new BodyRefused(400, `Failed to parse the request body as JSON: ${syntaxWords(text)}`);
  }
}

/** What the parser says of a text that is no JSON; it counts the bytes that it has taken. */
function syntaxWords(text: string): string {
  const trimmed = text.trimStart();
  const what = trimmed.startsWith('{') ? 'an object' : trimmed.startsWith('[') ? 'a list' : 'a value';
  return `EOF while parsing ${what} ${place(text, text.length)}`;
}

/** An object with these members; an optional one may be absent or null. Throws `BodyRefused` at the first that does not fit. */
export function objectBody(
  { value, text }: JsonBody,
  name: string,
  required: Readonly<Record<string, MemberShape>>,
  optional: Readonly<Record<string, MemberShape>> = {},
): JsonObject {
  const shapes = { ...required, ...optional };
  if (Array.isArray(value))
    refuse(`invalid length ${value.length}, expected struct ${name} with ${Object.keys(shapes).length} elements`, text);
  if (!isJsonObject(value)) refuse(mismatch(value, `struct ${name}`), text);
  for (const [member, each] of Object.entries(value)) {
    const shape = Object.hasOwn(shapes, member) ? shapes[member] : undefined;
    if (shape === undefined || shape.fits(each) || (each === null && member in optional)) continue;
    refuse(`${member}: ${mismatch(each, shape.expected)}`, text, endOfMember(text, member, each));
  }
  for (const member of Object.keys(required))
    if (value[member] === undefined) refuse(`missing field \`${member}\``, text);
  return value;
}

/** A list. Throws `BodyRefused`: what opens another container is not even taken. */
export function listBody({ value, text }: JsonBody): readonly JsonValue[] {
  if (!Array.isArray(value)) refuse(mismatch(value, 'a sequence'), text, isJsonObject(value) ? 0 : text.length);
  return value;
}

/** `end`: how much of the text the parser has taken; all of it when left out. */
function refuse(reason: string, text: string, end = text.trimEnd().length): never {
  throw new BodyRefused(422, `Failed to deserialize the JSON body into the target type: ${reason} ${place(text, end)}`);
}

function place(text: string, end: number): string {
  const taken = Buffer.from(text.slice(0, end));
  return `at line ${text.slice(0, end).split('\n').length} column ${taken.length - (taken.lastIndexOf('\n') + 1)}`;
}

function mismatch(value: JsonValue, expected: string): string {
  if (typeof value === 'bigint') {
    const isInteger = value >= -(2n ** 63n) && value <= MAX_U64;
    if (!isInteger) return mismatch(Number(value), expected);
    return `invalid ${expected === 'u64' ? 'value' : 'type'}: integer \`${value}\`, expected ${expected}`;
  }
  return `invalid type: ${named(value)}, expected ${expected}`;
}

function named(value: Exclude<JsonValue, bigint>): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `string ${JSON.stringify(value)}`;
  if (typeof value === 'boolean') return `boolean \`${value}\``;
  if (typeof value === 'number') return `floating point \`${floatText(value)}\``;
  return Array.isArray(value) ? 'sequence' : 'map';
}

function floatText(value: number): string {
  if (Math.abs(value) >= 1e16) return value.toExponential();
  return Number.isInteger(value) ? `${value}.0` : `${value}`;
}

/** Where the parser stands after a member's value; before one that opens a container. */
function endOfMember(text: string, member: string, value: JsonValue): number {
  const before = new RegExp(`${JSON.stringify(member)}\\s*:\\s*`).exec(text);
  const start = (before?.index ?? 0) + (before?.[0].length ?? 0);
  if (typeof value === 'object' && value !== null) return start;
  const literal = /^(?:"(?:[^"\\]|\\.)*"|[^\s,}\]]+)/.exec(text.slice(start));
  return start + (literal?.[0].length ?? 0);
}

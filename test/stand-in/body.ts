import { findNodeAtLocation, type JSONPath, type Node, parseTree } from 'jsonc-parser';
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

/** What a value of a body may be, and what the parser calls it. */
export interface Shape {
  readonly expected: string;
  readonly fits: (value: JsonValue) => boolean;
  /** The words that it may be, where it is one of several. */
  readonly words?: readonly string[];
  /** What each element of it is. */
  readonly each?: Struct;
}

/** An object with a name; an array of its members in their order stands for it. */
export interface Struct {
  readonly name: string;
  readonly members: Readonly<Record<string, Member>>;
  /** Of an array that stands for it; all of its members when left out. */
  readonly fewestElements?: number;
}

interface Member extends Shape {
  /** `optional`: may be absent or null; `defaulted`: may be absent. */
  readonly need: 'required' | 'optional' | 'defaulted';
}

const texts = (value: JsonValue) => Array.isArray(value) && value.every((each) => typeof each === 'string');
const unsigned = (expected: string, most: bigint): Shape => ({
  expected,
  fits: (value) => typeof value === 'bigint' && value >= 0n && value <= most,
});

export const isText: Shape = { expected: 'a string', fits: (value) => typeof value === 'string' };
export const isFlag: Shape = { expected: 'a boolean', fits: (value) => typeof value === 'boolean' };
export const isU64 = unsigned('u64', MAX_U64);
export const isUsize = unsigned('usize', MAX_U64);
export const isU32 = unsigned('u32', 2n ** 32n - 1n);
export const isU16 = unsigned('u16', 65_535n);
export const isTexts: Shape = { expected: 'a sequence', fits: texts };
export const isTextMap: Shape = {
  expected: 'a map',
  fits: (value) => isJsonObject(value) && texts(Object.values(value)),
};
export const isOneOf = (...words: readonly string[]): Shape => ({
  expected: '',
  fits: (value) => typeof value === 'string' && words.includes(value),
  words,
});
export const isListOf = (each: Struct): Shape => ({ expected: 'a sequence', fits: Array.isArray, each });

export const required = (shape: Shape): Member => ({ ...shape, need: 'required' });
export const optional = (shape: Shape): Member => ({ ...shape, need: 'optional' });
export const defaulted = (shape: Shape): Member => ({ ...shape, need: 'defaulted' });

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

/** The body as an object. Throws `BodyRefused` at the first thing that does not fit. */
export function objectBody({ value, text }: JsonBody, struct: Struct): JsonObject {
  return objectAt({ text, tree: parseTree(text), path: [] }, value, struct);
}

/** A list of objects, likewise. */
export function listBody({ value, text }: JsonBody, each: Struct): readonly JsonObject[] {
  return listAt({ text, tree: parseTree(text), path: [] }, value, each);
}

/** A value of the body that is looked at. */
interface Place {
  readonly text: string;
  readonly tree: Node | undefined;
  readonly path: JSONPath;
}

const within = (at: Place, step: string | number): Place => ({ ...at, path: [...at.path, step] });

function listAt(at: Place, value: JsonValue, each: Struct): readonly JsonObject[] {
  if (!Array.isArray(value)) return refuse(at, mismatch(value, 'a sequence'), isJsonObject(value) ? 'start' : 'end');
  return value.map((element, index) => objectAt(within(at, index), element, each));
}

function objectAt(at: Place, value: JsonValue, struct: Struct): JsonObject {
  const members = Object.entries(struct.members);
  if (!Array.isArray(value) && !isJsonObject(value)) return refuse(at, mismatch(value, `struct ${struct.name}`));
  const isList = Array.isArray(value);
  if (isList && value.length > members.length)
    throw new BodyRefused(
      400,
      `Failed to parse the request body as JSON: trailing characters ${place(at.text, startOf(within(at, members.length)) + 1)}`,
    );
  if (isList && value.length < (struct.fewestElements ?? members.length))
    refuse(at, `invalid length ${value.length}, expected struct ${struct.name} with ${members.length} elements`);
  const named: JsonObject = isList
    ? Object.fromEntries(members.slice(0, value.length).map(([name], index) => [name, value[index] ?? null]))
    : value;
  const read = Object.entries(named).map(([name, each]) => {
    const member = Object.hasOwn(struct.members, name) ? struct.members[name] : undefined;
    const step = isList ? members.findIndex(([known]) => known === name) : name;
    return [name, member === undefined ? each : memberAt(within(at, step), each, member)] as const;
  });
  const missing = members.find(([name, { need }]) => need === 'required' && named[name] === undefined);
  if (missing !== undefined) refuse(at, `missing field \`${missing[0]}\``);
  return Object.fromEntries(read);
}

function memberAt(at: Place, value: JsonValue, { need, words, each, fits, expected }: Member): JsonValue {
  if (value === null && need === 'optional') return value;
  if (each !== undefined) return [...listAt(at, value, each)];
  if (fits(value)) return value;
  if (words === undefined)
    return refuse(at, mismatch(value, expected), typeof value === 'object' && value !== null ? 'start' : 'end');
  if (typeof value !== 'string')
    throw new BodyRefused(
      400,
      `Failed to parse the request body as JSON: ${pathText(at)}expected value ${place(at.text, startOf(at) + 1)}`,
    );
  const listed = words.map((word) => `\`${word}\``);
  return refuse(
    at,
    `unknown variant \`${value}\`, expected ${listed.length > 2 ? `one of ${listed.join(', ')}` : listed.join(' or ')}`,
  );
}

/** Throws with the place behind a value, at which the parser stands; before one that opens a container that it does not want. */
function refuse(at: Place, reason: string, where: 'start' | 'end' = 'end'): never {
  const taken = where === 'end' ? endOf(at) : startOf(at);
  throw new BodyRefused(
    422,
    `Failed to deserialize the JSON body into the target type: ${pathText(at)}${reason} ${place(at.text, taken)}`,
  );
}

function pathText({ path }: Place): string {
  const text = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
  return text === '' ? '' : `${text.replace(/^\./, '')}: `;
}

function nodeOf({ tree, path }: Place): Node | undefined {
  return tree === undefined ? undefined : findNodeAtLocation(tree, path);
}

const startOf = (at: Place): number => nodeOf(at)?.offset ?? 0;

function endOf(at: Place): number {
  const node = nodeOf(at);
  return node === undefined ? at.text.trimEnd().length : node.offset + node.length;
}

function place(text: string, end: number): string {
  const taken = Buffer.from(text.slice(0, end));
  return `at line ${text.slice(0, end).split('\n').length} column ${taken.length - (taken.lastIndexOf('\n') + 1)}`;
}

function mismatch(value: JsonValue, expected: string): string {
  if (typeof value === 'bigint') {
    const isInteger = value >= -(2n ** 63n) && value <= MAX_U64;
    if (!isInteger) return mismatch(Number(value), expected);
    return `invalid ${/^u\d|^usize/.test(expected) ? 'value' : 'type'}: integer \`${value}\`, expected ${expected}`;
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

import type { TSchema } from 'typebox';
import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { checked, expectation, SchemaError } from '../../wire/schema-check.js';
import type { ValueDifference } from '../json-difference.js';

/** The parts of a JSON Schema that say what an answer holds. */
interface Node {
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly const?: unknown;
  readonly type?: string;
}

/**
 * Where an answer's data is not what the operation's schema says: a member that is missing or one too many, a value of
 * another type. Every member of a schema stands in every answer, also one that a body may leave out.
 */
export function shapeDifferences(schema: TSchema, value: JsonValue, path = ''): readonly ValueDifference[] {
  const { items, properties }: Node = nodeFor(schema, value);
  if (Array.isArray(value) && items !== undefined)
    return value.flatMap((each: JsonValue, index) => shapeDifferences(items, each, `${path}/${index}`));
  if (isJsonObject(value) && properties !== undefined && Object.keys(properties).length > 0) {
    const members = Object.entries(properties).flatMap(([name, member]) => {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (given !== undefined) return shapeDifferences(member, given, `${path}/${name}`);
      return [{ path: `${path}/${name}`, expected: wordsOf(member), actual: undefined }];
    });
    const extra = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
    return [
      ...members,
      ...extra.map((name) => ({ path: `${path}/${name}`, expected: undefined, actual: value[name] })),
    ];
  }
  return isValid(schema, value) ? [] : [{ path, expected: wordsOf(schema), actual: value }];
}

/** The schema, or of several that may hold the one for values like this. */
function nodeFor(schema: TSchema, value: JsonValue): Node {
  const node: Node = schema;
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return node.anyOf?.map((each): Node => each).find((each) => each.type === type) ?? node;
}

function isValid(schema: TSchema, value: JsonValue): boolean {
  try {
    checked(schema, value, 'data');
    return true;
  } catch (error) {
    if (error instanceof SchemaError) return false;
    throw error;
  }
}

/** What a schema asks for, as a value that can stand beside the one that came. */
function wordsOf(schema: TSchema): JsonValue {
  const node: Node = schema;
  const expected = expectation(schema);
  if (expected !== null) return `<${expected}>`;
  const exact = node.const;
  if (typeof exact === 'string' || typeof exact === 'boolean') return exact;
  if (node.anyOf !== undefined) return node.anyOf.map((each) => textOf(wordsOf(each))).join(' or ');
  return `<${node.type === 'bigint' ? 'integer' : (node.type ?? 'value')}>`;
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : writeJson(value);
}

import type { TSchema } from 'typebox';
import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { expectation, mismatchOf, type SchemaNode, schemaNodeFor } from '../../wire/schema-check.js';
import type { Recorded } from '../../wire/schemas.js';
import type { ValueDifference } from '../format/json-difference.js';

/** The forms of texts that differ in every answer (protocol: "Audit entry"). */
const FORMS: Partial<Readonly<Record<Recorded, { readonly form: RegExp; readonly words: string }>>> = {
  time: { form: /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/, words: '<HH:MM:SS>' },
  'audit-id': { form: /^[0-9a-f]{1,16}$/, words: '<lowercase hexadecimal, 64 bits>' },
};

/**
 * Lists an answer's differences from the operation's schema: a missing or additional member, a value of another type. A
 * member that a body may leave out, meaning null, must be in every answer.
 */
export function shapeDifferences(schema: TSchema, value: JsonValue, path = ''): readonly ValueDifference[] {
  const { anyOf = [] }: SchemaNode = schema;
  const objects = isJsonObject(value) ? anyOf.filter((each) => schemaNodeFor(value, each).type === 'object') : [];
  if (objects.length > 1) {
    // The form that the value is closest to.
    const found = objects.map((each) => shapeDifferences(each, value, path));
    return found.reduce((least, each) => (each.length < least.length ? each : least));
  }
  const { items, properties, required = [] } = schemaNodeFor(value, schema);
  if (Array.isArray(value) && items !== undefined)
    return value.flatMap((each: JsonValue, index) => shapeDifferences(items, each, `${path}/${index}`));
  if (isJsonObject(value) && properties !== undefined && Object.keys(properties).length > 0) {
    const members = Object.entries(properties).flatMap(([name, member]) => {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (given !== undefined) return shapeDifferences(member, given, `${path}/${name}`);
      if (!required.includes(name) && !isValid(member, null)) return [];
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

function isValid(schema: TSchema, value: JsonValue): boolean {
  const form = formOf(schema)?.form;
  const hasForm = form === undefined || typeof value !== 'string' || form.test(value);
  return hasForm && mismatchOf(schema, value) === null;
}

function formOf({ recorded }: SchemaNode) {
  return recorded === undefined ? undefined : FORMS[recorded];
}

/** Returns a schema's expectation as a value that can be shown next to the actual one. */
function wordsOf(schema: TSchema): JsonValue {
  const node: SchemaNode = schema;
  const form = formOf(node);
  if (form !== undefined) return form.words;
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

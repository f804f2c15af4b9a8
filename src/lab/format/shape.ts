import type { Static, TProperties, TSchema, TSchemaOptions } from 'typebox';
import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { type Mismatch, mismatchOf, pointerSteps } from '../../wire/schema-check.js';
import { didYouMean } from '../../wire/suggest.js';
import { Type } from '../../wire/typebox.js';

/** The place of a value: its file and its JSON pointer (RFC 6901; empty for the root). */
export interface Place {
  readonly file: string;
  readonly path: string;
}

/** A fixture file is not in the required format. The message names the file, the JSON path and what was expected. */
export class ShapeError extends Error {
  readonly file: string;
  readonly path: string;

  constructor(place: Place, expected: string) {
    super(`${place.file}: ${place.path === '' ? '/' : place.path}: expected ${expected}`);
    this.name = 'ShapeError';
    this.file = place.file;
    this.path = place.path;
  }
}

export const ANYTHING = Type.Unsafe<JsonValue>({});
export const TEXT = Type.String({ expected: 'a text' });
/** An integer of any size, as a bigint. */
export const INTEGER = Type.BigInt({ expected: 'an integer' });
export const TRUE = Type.Literal(true, { expected: 'true' });

/** An integer between two bounds, as a plain number. */
export const smallInteger = (least: number, most: number) =>
  Type.Unsafe<number>(
    Type.BigInt({
      minimum: BigInt(least),
      maximum: BigInt(most),
      isSmall: true,
      expected: `an integer from ${least} to ${most}`,
    }),
  );

export const oneOf = <const T extends readonly string[]>(...choices: T) =>
  Type.Unsafe<T[number]>(Type.String({ enum: choices, expected: `one of ${choices.join(', ')}` }));

export const listOf = <S extends TSchema>(element: S) =>
  Type.Unsafe<readonly Static<S>[]>(Type.Array(element, { expected: 'an array' }));

/** An object whose members all have the same form, under any names. */
export const mapOf = <S extends TSchema>(member: S) =>
  Type.Unsafe<Readonly<Record<string, Static<S>>>>(
    Type.Object({}, { additionalProperties: member, expected: 'an object' }),
  );

/** Makes an object with these members; others are ignored. */
export const openObject = <P extends TProperties>(members: P, options: TSchemaOptions = {}) =>
  Type.Object(members, { expected: 'an object', ...options });

/** Makes an object with these members and no others. */
export const object = <P extends TProperties>(members: P, options: TSchemaOptions = {}) =>
  openObject(members, { additionalProperties: false, ...options });

/** Returns the value typed by the schema, with its small integers as plain numbers. Throws `ShapeError`. */
export function shaped<S extends TSchema>(schema: S, value: JsonValue, place: Place): Static<S> {
  const mismatch = mismatchOf(schema, value);
  if (mismatch === null) return withNumbers(schema, value) as Static<S>; // It was checked against this schema.
  throw complaint(schema, mismatch, value, place);
}

function withNumbers(schema: object, value: JsonValue): JsonValue {
  // Most bytes of a fixture are in places where any value is allowed.
  if (schema === ANYTHING) return value;
  const { isSmall, items, properties, additionalProperties: others } = Object(schema);
  if (isSmall === true) return Number(value);
  if (Array.isArray(value)) for (const [index, each] of value.entries()) value[index] = withNumbers(items, each);
  else if (isJsonObject(value)) {
    for (const [name, each] of Object.entries(value)) value[name] = withNumbers(properties?.[name] ?? others, each);
  }
  return value;
}

function complaint(schema: TSchema, mismatch: Mismatch, value: JsonValue, { file, path }: Place): ShapeError {
  const place = { file, path: path + mismatch.path };
  if (mismatch.missing !== undefined) return new ShapeError(place, `a member ${mismatch.missing}`);
  const nodes = valuesOnTheWay(schema, mismatch.rule).map(Object);
  if (mismatch.keyword === 'boolean') {
    const known = Object.keys(Object(nodes.at(-2).properties));
    const meant = didYouMean(mismatch.path.split('/').at(-1) ?? '', known);
    return new ShapeError(place, `no such member${meant}; known are ${known.join(', ')}`);
  }
  const expected = nodes.findLast((node) => typeof node.expected === 'string')?.expected;
  const found = valuesOnTheWay(value, mismatch.path).at(-1);
  const choices = nodes.findLast((node) => Array.isArray(node.enum))?.enum;
  const meant = typeof found === 'string' && choices !== undefined ? didYouMean(found, choices) : '';
  return new ShapeError(place, `${expected ?? 'another value'}, found ${foundText(found)}${meant}`);
}

/** Lists the values along a JSON pointer, the root first. */
function valuesOnTheWay(root: unknown, pointer: string): readonly unknown[] {
  const values = [root];
  for (const step of pointerSteps(pointer)) values.push(Object(values.at(-1))[step]);
  return values;
}

function foundText(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return `the text ${JSON.stringify(value)}`;
  return typeof value === 'boolean' ? String(value) : `the number ${value}`;
}

import type { Static, TSchema } from 'typebox';
import type { Validator } from 'typebox/compile';
import { isJsonObject, type JsonObject, type JsonValue } from './json/json.js';
import type { Recorded } from './schemas.js';
import { Compile } from './typebox.js';

/** A value does not fit its schema. The message names the member and what was expected. */
export class SchemaError extends Error {
  readonly place: string;
  readonly expected: string;

  constructor(place: string, expected: string) {
    super(`${place}: expected ${expected}`);
    this.name = 'SchemaError';
    this.place = place;
    this.expected = expected;
  }
}

const validators = new WeakMap<TSchema, Validator>();

/** The first difference between a value and a schema. */
export interface Mismatch {
  /** JSON pointer (RFC 6901) of the wrong value, or of the value that lacks a member. */
  readonly path: string;
  /** The missing member, if one is missing. */
  readonly missing: string | undefined;
  /** JSON pointer of the rule in the schema. */
  readonly rule: string;
  readonly keyword: string;
}

/** Returns the first difference between a value and a schema; null if it fits. */
export function mismatchOf(schema: TSchema, value: JsonValue): Mismatch | null {
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  if (validator.Check(value)) return null;
  const [error] = validator.Errors(value);
  if (error === undefined) throw new Error('a value is refused without an error');
  const missing = 'requiredProperties' in error.params ? error.params.requiredProperties[0] : undefined;
  return { path: error.instancePath, missing, rule: error.schemaPath.replace('#', ''), keyword: error.keyword };
}

/** Returns the value, typed by the schema. `root` names the value itself. Throws `SchemaError`. */
export function checked<S extends TSchema>(schema: S, value: JsonValue, root: string): Static<S> {
  const mismatch = mismatchOf(schema, value);
  if (mismatch === null) return value as Static<S>; // It was checked against this schema.
  throw complaint(schema, mismatch, root);
}

/** Lists the names and indexes in a JSON pointer. */
export function pointerSteps(pointer: string): readonly string[] {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The parts of a schema that describe the structure of a value. */
export interface SchemaNode {
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly const?: unknown;
  readonly type?: string;
  readonly recorded?: Recorded;
  readonly fewestElements?: number;
}

/**
 * Replaces arrays by objects where the schema has an object and the array has its members' values in order. An array
 * with too many elements, or too few, stays.
 */
export function objectsFromArrays(schema: SchemaNode, value: JsonValue): JsonValue {
  const { properties, items, fewestElements } = schema;
  if (properties !== undefined) {
    const members = Object.entries(properties);
    if (!Array.isArray(value)) return isJsonObject(value) ? withMembers(value, members) : value;
    if (value.length > members.length || value.length < (fewestElements ?? members.length)) return value;
    const given = members.slice(0, value.length).map(([name], index) => [name, value[index] ?? null] as const);
    return withMembers(Object.fromEntries(given), members);
  }
  return items !== undefined && Array.isArray(value) ? value.map((each) => objectsFromArrays(items, each)) : value;
}

function withMembers(value: JsonObject, members: readonly (readonly [string, SchemaNode])[]): JsonObject {
  const inner = members.flatMap(([name, schema]) => {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    return member === undefined ? [] : [[name, objectsFromArrays(schema, member)] as const];
  });
  return { ...value, ...Object.fromEntries(inner) };
}

/** Returns the schema or, of several alternatives, the one for values like this; an empty schema if there is none. */
export function schemaNodeFor(value: JsonValue, schema: SchemaNode | null | undefined): SchemaNode {
  if (schema?.anyOf === undefined) return schema ?? {};
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const fitting = schema.anyOf.map((each): SchemaNode => each).filter((each) => each.type === type);
  return fitting.find((each) => each.const === value) ?? fitting[0] ?? {};
}

/** Returns the innermost words of a schema for what it expects, or null. */
export function expectation(node: unknown): string | null {
  return typeof node === 'object' && node !== null && 'expected' in node && typeof node.expected === 'string'
    ? node.expected
    : null;
}

function complaint(schema: TSchema, { path, missing, keyword }: Mismatch, root: string): SchemaError {
  const steps = pointerSteps(missing === undefined ? path : `${path}/${missing}`);
  const place = steps.reduce((name, step) => (/^\d+$/.test(step) ? `${name}[${step}]` : `${name}.${step}`), root);
  const named = place.startsWith(`${root}.`) ? place.slice(root.length + 1) : place;
  // A schema that forbids other members reports that at the member, in the same way as a schema that nothing fits.
  return new SchemaError(named, keyword === 'boolean' ? 'no member of this name' : expectedAt(schema, steps));
}

/** Returns the innermost `expected` on the way to the place. */
function expectedAt(schema: TSchema, steps: readonly string[]): string {
  let node: unknown = schema;
  let expected = expectation(node) ?? 'another value';
  for (const step of steps) {
    node = child(node, step);
    expected = expectation(node) ?? expected;
  }
  return expected;
}

function child(node: unknown, step: string): unknown {
  if (typeof node !== 'object' || node === null) return undefined;
  if ('properties' in node && typeof node.properties === 'object' && node.properties !== null) {
    return Object.entries(node.properties).find(([name]) => name === step)?.[1];
  }
  return 'items' in node ? node.items : undefined;
}

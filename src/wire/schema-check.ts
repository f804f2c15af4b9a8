import type { Static, TSchema } from 'typebox';
import type { Validator } from 'typebox/compile';
import type { JsonValue } from './json/json.js';
import { Compile } from './typebox.js';

/** A value that its schema does not describe. The message names the member and what was expected. */
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

/** The value, known to be what the schema describes. `root` names the value itself. Throws `SchemaError`. */
export function checked<S extends TSchema>(schema: S, value: JsonValue, root: string): Static<S> {
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  if (validator.Check(value)) return value as Static<S>; // The validator was made of this schema.
  throw complaint(schema, validator, value, root);
}

/** The innermost words that a schema has for what it expects, or null. */
export function expectation(node: unknown): string | null {
  return typeof node === 'object' && node !== null && 'expected' in node && typeof node.expected === 'string'
    ? node.expected
    : null;
}

function complaint(schema: TSchema, validator: Validator, value: unknown, root: string): SchemaError {
  const [error] = validator.Errors(value);
  const missing = error !== undefined && 'requiredProperties' in error.params ? error.params.requiredProperties : [];
  const path = `${error?.instancePath ?? ''}${missing[0] === undefined ? '' : `/${missing[0]}`}`;
  const steps = path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const place = steps.reduce((name, step) => (/^\d+$/.test(step) ? `${name}[${step}]` : `${name}.${step}`), root);
  const named = place.startsWith(`${root}.`) ? place.slice(root.length + 1) : place;
  return new SchemaError(named, expectedAt(schema, steps));
}

/** The innermost `expected` on the way to the place. */
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

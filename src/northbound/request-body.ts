import type { TSchema } from 'typebox';
import type { Validator } from 'typebox/compile';
import { DomainError } from '../core/errors.js';
import type { JsonValue } from '../wire/json/json.js';
import { parseBody } from '../wire/json-body.js';
import { Compile } from '../wire/typebox.js';

const validators = new WeakMap<TSchema, Validator>();

/**
 * The body as a value that the schema describes, integers as bigint. Throws `notJson` for another content type and
 * `invalidBody`, whose detail names the member and what was expected, for anything else that is wrong with it.
 */
export function readBody(schema: TSchema, contentType: string | undefined, bytes: Buffer | undefined): JsonValue {
  const value = parseBody(jsonBytes(schema, contentType, bytes));
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  if (validator.Check(value)) return value;
  throw new DomainError('invalidBody', complaint(schema, validator, value));
}

/** The body's bytes when they are there and declared to be JSON. */
export function jsonBytes(schema: TSchema | null, contentType: string | undefined, bytes: Buffer | undefined): Buffer {
  if (bytes === undefined || bytes.length === 0) {
    throw new DomainError(
      'invalidBody',
      `body is missing: expected ${expectation(schema ?? undefined) ?? 'a JSON object'}`,
    );
  }
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType ?? '')) throw new DomainError('notJson');
  return bytes;
}

function complaint(schema: TSchema, validator: Validator, value: unknown): string {
  const [error] = validator.Errors(value);
  const missing = error !== undefined && 'requiredProperties' in error.params ? error.params.requiredProperties : [];
  const path = `${error?.instancePath ?? ''}${missing[0] === undefined ? '' : `/${missing[0]}`}`;
  const steps = path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const place = steps.reduce((name, step) => (/^\d+$/.test(step) ? `${name}[${step}]` : `${name}.${step}`), 'body');
  return `${place.replace(/^body\./, '')}: expected ${expectedAt(schema, steps)}`;
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
  if ('items' in node) return node.items;
  return undefined;
}

function expectation(node: unknown): string | null {
  return typeof node === 'object' && node !== null && 'expected' in node && typeof node.expected === 'string'
    ? node.expected
    : null;
}

import type { JsonValue } from './json.js';

/**
 * JSON text of a value, integers exact; a number without a fraction keeps an exponent, so that it is read back as the
 * number it was and not as an integer. `indent` blanks per level, or everything on one line.
 */
export function writeJson(value: JsonValue, indent = 0, depth = 0): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return writeNumber(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const list = Array.isArray(value);
  const parts = list
    ? value.map((element: JsonValue) => writeJson(element, indent, depth + 1))
    : Object.entries(value).map(([name, member]) => {
        return `${JSON.stringify(name)}:${indent === 0 ? '' : ' '}${writeJson(member, indent, depth + 1)}`;
      });
  const [open, close] = list ? ['[', ']'] : ['{', '}'];
  if (indent === 0 || parts.length === 0) return `${open}${parts.join(',')}${close}`;
  const blanks = `\n${' '.repeat(indent * (depth + 1))}`;
  return `${open}${blanks}${parts.join(`,${blanks}`)}\n${' '.repeat(indent * depth)}${close}`;
}

function writeNumber(value: number): string {
  if (Object.is(value, -0)) return '-0';
  return Number.isInteger(value) ? value.toExponential() : JSON.stringify(value);
}

/** A value that `encodeJson` writes: JSON values, with bigint for integers of any size and maps for objects with free names. */
export type Encodable =
  | null
  | boolean
  | string
  | number
  | bigint
  | readonly Encodable[]
  | ReadonlyMap<string, Encodable>
  | { readonly [name: string]: Encodable };

/** Compact JSON text, integers exact, members in the order of the object. */
export function encodeJson(value: Encodable): string {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(encodeJson).join(',')}]`;
  const members = value instanceof Map ? [...value] : Object.entries(value);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${encodeJson(member)}`).join(',')}}`;
}

function isList(value: object): value is readonly Encodable[] {
  return Array.isArray(value);
}

import { narrow, type Whole } from '../../src/text/whole.js';
import { type JsonNode, parseTree, printTree } from './json-tree.js';

/** Sixteen digits in a row where a number can stand: only then can `JSON.parse` lose any. A hexadecimal key does not match. */
const LONG_NUMBER = /[:[,\s-]\d{16}/;

/** Parses JSON with exact integers. Throws `SyntaxError` or `JsonProblem`. */
export function parseExact(text: string): unknown {
  return LONG_NUMBER.test(text) ? exactValue(parseTree(text, 'keep')) : JSON.parse(text);
}

/** The value of a JSON text; null where there is none, or half of one. */
export function parsed(text: string | null): unknown {
  try {
    return parseExact(text ?? 'null');
  } catch {
    return null;
  }
}

/** A tree as objects and arrays, whatever its members are called. */
export function exactValue(node: JsonNode): unknown {
  if (node.kind === 'object')
    return Object.fromEntries(node.members.map(({ name, value }) => [name, exactValue(value)]));
  if (node.kind === 'array') return node.items.map(exactValue);
  if (node.kind === 'number')
    return /^-?\d{16,}$/.test(node.lexeme) ? narrow(BigInt(node.lexeme)) : Number(node.lexeme);
  return node.value;
}

export function isWhole(value: unknown): value is Whole {
  return typeof value === 'bigint' ? value >= 0n : Number.isSafeInteger(value) && Number(value) >= 0;
}

/** The exact sum. */
export function add(a: Whole, b: Whole): Whole {
  if (typeof a === 'number' && typeof b === 'number' && a + b <= Number.MAX_SAFE_INTEGER) return a + b;
  return narrow(BigInt(a) + BigInt(b));
}

/** Compact JSON of a request body, with exact integers. */
export function encodeExact(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    // It has a bigint in it: each part is encoded by itself.
  }
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(encodeExact).join(',')}]`;
  const members = Object.entries(Object(value)).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${encodeExact(member)}`).join(',')}}`;
}

/** The value pretty-printed, with exact integers. */
export function printExact(value: unknown): string {
  return printTree(parseTree(encodeExact(value)));
}

/** Returns true for values of the same JSON. */
export function areEqual(a: unknown, b: unknown): boolean {
  return encodeExact(a) === encodeExact(b);
}

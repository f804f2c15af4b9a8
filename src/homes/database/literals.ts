import { finish, pieces, type Steps } from '../../core/steps.js';

/**
 * A value as a literal of a statement (PostgreSQL documentation, 4.1.2). A write goes as one message, which separate
 * parameters would split into five: the database could then have begun with the first before the last arrives, and hold
 * locks that others wait for.
 */
export type Literal = string & { readonly literal?: never };

export function text(value: string | null): Literal {
  if (value === null) return 'null';
  return value.includes('\\') ? ` E'${escaped(value)}'` : `'${escaped(value)}'`;
}

/** Escapes the inside of an `E'…'`, which means the same under any setting of the server (4.1.2.2). */
const escaped = (value: string): string => value.replaceAll("'", "''").replaceAll('\\', '\\\\');

export function number(value: bigint | number | null): Literal {
  return value === null ? 'null' : value.toString();
}

export function flag(value: boolean): Literal {
  return value ? 'true' : 'false';
}

export const flags = (values: readonly boolean[]): Literal => ` '{${values.join(',')}}'::boolean[]`;

export function bytes(value: Buffer): Literal {
  return `decode('${value.toString('hex')}', 'hex')`;
}

export function json(value: unknown): Literal {
  return `${text(JSON.stringify(value))}::jsonb`;
}

/** Returns one literal of an array, with any number of elements (PostgreSQL documentation, 8.15.2). */
export const texts = (values: readonly (string | null)[]): Literal => finish(textsSteps(values));

/** Makes the literal of `texts` piece by piece. */
export const textsSteps = (values: readonly (string | null)[]): Steps<Literal> =>
  arraySteps(values, (value) => `"${value.replace(/["\\]/g, '\\$&')}"`, 'text');

export const numbers = (values: readonly (bigint | number | null)[], type: 'bigint' | 'integer' | 'numeric'): Literal =>
  finish(numbersSteps(values, type));

/** Makes the literal of `numbers` piece by piece. */
export const numbersSteps = (
  values: readonly (bigint | number | null)[],
  type: 'bigint' | 'integer' | 'numeric',
): Steps<Literal> => arraySteps(values, (value) => value.toString(), type);

function* arraySteps<T>(values: readonly (T | null)[], element: (value: T) => string, type: string): Steps<Literal> {
  const done: string[] = [];
  for (const some of pieces(values)) {
    if (done.length > 0) yield;
    done.push(escaped(some.map((value) => (value === null ? 'NULL' : element(value))).join(',')));
  }
  return ` E'{${done.join(',')}}'::${type}[]`;
}

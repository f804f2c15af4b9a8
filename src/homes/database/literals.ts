import { finish, pieces, type Steps } from '../../core/steps.js';

/**
 * Values as they stand in a statement (PostgreSQL documentation, 4.1.2). Writes go as one message, which parameters beside
 * it would make five: of those the database may have begun with the first while the last is not there, and hold what
 * others wait for.
 */
export type Literal = string & { readonly literal?: never };

export function text(value: string | null): Literal {
  if (value === null) return 'null';
  return value.includes('\\') ? ` E'${escaped(value)}'` : `'${escaped(value)}'`;
}

/** The inside of an `E'…'`, whose meaning depends on no setting of the server (4.1.2.2). */
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

/** One literal of an array, however many elements it has (PostgreSQL documentation, 8.15.2). */
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

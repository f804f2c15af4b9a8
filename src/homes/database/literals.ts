/**
 * Values as they stand in a statement (PostgreSQL documentation, 4.1.2). Writes go as one message, which parameters beside
 * it would make five: of those the database may have begun with the first while the last is not there, and hold what
 * others wait for.
 */
export type Literal = string & { readonly literal?: never };

export function text(value: string | null): Literal {
  if (value === null) return 'null';
  const quoted = `'${value.replaceAll("'", "''")}'`;
  // With backslashes it does not depend on a setting of the server what it is (4.1.2.2).
  return quoted.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

export function number(value: bigint | number | null): Literal {
  return value === null ? 'null' : value.toString();
}

export function flag(value: boolean): Literal {
  return value ? 'true' : 'false';
}

export function bytes(value: Buffer): Literal {
  return `decode('${value.toString('hex')}', 'hex')`;
}

export function json(value: unknown): Literal {
  return `${text(JSON.stringify(value))}::jsonb`;
}

/** One literal of an array, however many elements it has (PostgreSQL documentation, 8.15.2). */
export function texts(values: readonly (string | null)[]): Literal {
  const elements = values.map((value) => (value === null ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`));
  return `${text(`{${elements.join(',')}}`)}::text[]`;
}

export function numbers(values: readonly (bigint | number | null)[], type: 'bigint' | 'integer' | 'numeric'): Literal {
  return `'{${values.map((value) => (value === null ? 'NULL' : value.toString())).join(',')}}'::${type}[]`;
}

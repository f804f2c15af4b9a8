import type { Encodable } from '../json/write-json.js';

/** Members of a schema that exist for our own messages and recordings. */
const OWN = new Set(['expected', 'recorded', 'isSmall', 'fewestElements']);

/** Converts a TypeBox schema to JSON Schema: bigint becomes an integer, its bound the largest one that is accepted. */
export function jsonSchema(schema: unknown): Encodable {
  if (Array.isArray(schema)) return schema.map(jsonSchema);
  if (schema instanceof RegExp) return schema.source;
  if (typeof schema === 'object' && schema !== null) {
    return Object.fromEntries(
      Object.entries(schema)
        .filter(([name]) => !OWN.has(name))
        .map(memberOf),
    );
  }
  return typeof schema === 'string' ||
    typeof schema === 'boolean' ||
    typeof schema === 'number' ||
    typeof schema === 'bigint'
    ? schema
    : null;
}

function memberOf([name, value]: readonly [string, unknown]): readonly [string, Encodable] {
  if (name === 'type' && value === 'bigint') return [name, 'integer'];
  if (name === 'exclusiveMaximum' && typeof value === 'bigint') return ['maximum', value - 1n];
  return [name, jsonSchema(value)];
}

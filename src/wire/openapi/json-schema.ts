import type { Encodable } from '../json/encode.js';

/** A TypeBox schema as JSON Schema: bigint is an integer there, and `expected` is for our own messages. */
export function jsonSchema(schema: unknown): Encodable {
  if (Array.isArray(schema)) return schema.map(jsonSchema);
  if (typeof schema === 'object' && schema !== null) {
    const members = Object.entries(schema).filter(([name]) => name !== 'expected');
    return Object.fromEntries(
      members.map(([name, value]) => [name, name === 'type' && value === 'bigint' ? 'integer' : jsonSchema(value)]),
    );
  }
  return typeof schema === 'string' ||
    typeof schema === 'boolean' ||
    typeof schema === 'number' ||
    typeof schema === 'bigint'
    ? schema
    : null;
}

/** What `encodeJson` writes: JSON values, with bigint for integers of any size and maps for objects with free names. */
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

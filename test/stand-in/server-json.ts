import { isJsonObject, type JsonValue } from '../../src/wire/json/json.js';

/** JSON as the real servers write it: members by name, two blanks a level, `1e3` as `1000.0`. */
export function serverJson(value: JsonValue, depth = 0): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return Number.isInteger(value) ? `${value}.0` : `${value}`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const isObject = isJsonObject(value);
  const parts = isObject
    ? namesOf(value).map((name) => `${JSON.stringify(name)}: ${serverJson(value[name] ?? null, depth + 1)}`)
    : value.map((element) => serverJson(element, depth + 1));
  const [open, close] = isObject ? '{}' : '[]';
  if (parts.length === 0) return `${open}${close}`;
  const line = `\n${'  '.repeat(depth + 1)}`;
  return `${open}${line}${parts.join(`,${line}`)}\n${'  '.repeat(depth)}${close}`;
}

/** By their bytes. */
function namesOf(value: object): readonly string[] {
  return Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

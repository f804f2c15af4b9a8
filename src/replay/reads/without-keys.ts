import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import type { ReadDifference } from './looking.js';

/** What stands for a key: who knows one is let in. */
const HIDDEN = '<key>';

/** The same difference without any of these keys where it shows them. */
export function withoutKeys(difference: ReadDifference, keys: readonly string[]): ReadDifference {
  const { expected, actual } = difference;
  return { ...difference, expected: struck(expected, keys), actual: struck(actual, keys) };
}

function struck<T extends JsonValue | undefined>(value: T, keys: readonly string[]): T | JsonValue {
  if (typeof value === 'string') return keys.reduce<string>(withoutKey, value);
  if (Array.isArray(value)) return value.map((each: JsonValue) => struck(each, keys));
  if (value === undefined || !isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, struck(each, keys)]));
}

/** Within other words a key is none: a short one would take their letters. */
function withoutKey(text: string, key: string): string {
  if (key === '' || !text.includes(key)) return text;
  const parts = text.split(key);
  return parts.reduce((before, after) => {
    const isWord = /[\p{L}\p{N}]$/u.test(before) || /^[\p{L}\p{N}]/u.test(after);
    return before + (isWord ? key : HIDDEN) + after;
  });
}

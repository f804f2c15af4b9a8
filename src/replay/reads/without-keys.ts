import type { JsonValue } from '../../wire/json/json.js';
import { mapTexts } from '../format/map-texts.js';
import type { ReadDifference } from './looking.js';

/** What stands for a key: who knows one is let in. */
const HIDDEN = '<key>';

/** The same difference without any of these keys where it shows them. */
export function withoutKeys(difference: ReadDifference, keys: readonly string[]): ReadDifference {
  const { expected, actual } = difference;
  const hidden = (value: JsonValue | undefined) =>
    value === undefined ? value : mapTexts(value, (text) => keys.reduce<string>(withoutKey, text));
  return { ...difference, expected: hidden(expected), actual: hidden(actual) };
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

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';

/** Maps a JSON value: each text by `text`, and each member's name by `name`. */
export function mapTexts(
  value: JsonValue,
  text: (text: string) => JsonValue,
  name: (name: string) => string = (each) => each,
): JsonValue {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return value.map((each: JsonValue) => mapTexts(each, text, name));
  if (!isJsonObject(value)) return value;
  const result: JsonObject = Object.create(null);
  for (const [member, each] of Object.entries(value)) result[name(member)] = mapTexts(each, text, name);
  return result;
}

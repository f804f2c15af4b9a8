import { keyFields, sameFields } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import { elementOf, keyOf, keysOfFile, withoutNulls } from '../format/given-state.js';

/**
 * Updates a configuration to other clients' key changes since it was read: new keys, removed keys, and the names and
 * limits in `now`.
 */
export function withKeysOfNow(
  config: JsonObject,
  keysBefore: readonly AccessKey[],
  now: readonly AccessKey[],
): JsonObject {
  const before = new Map(keysBefore.map((each) => [each.accessKey, each]));
  const present = new Map(now.map((each) => [each.accessKey, each]));
  const list = Array.isArray(config.access_keys) ? config.access_keys : [];
  const inFile = new Set(keysOfFile(config).map(({ accessKey }) => accessKey));
  const kept = list.flatMap((element: JsonValue) => {
    const [key] = keyOf(element);
    const was = before.get(key?.accessKey ?? '');
    return key === undefined || was === undefined ? [element] : asNow(element, was, present.get(key.accessKey));
  });
  const fresh = now.filter(({ accessKey }) => !before.has(accessKey) && !inFile.has(accessKey));
  const isSame = kept.length === list.length && kept.every((element, index) => element === list[index]);
  return fresh.length === 0 && isSame ? config : { ...config, access_keys: [...kept, ...fresh.map(elementOf)] };
}

/** Updates an element to what other clients have changed since; a member that no list shows keeps the file's value. */
function asNow(element: JsonValue, was: AccessKey, now: AccessKey | undefined): readonly JsonValue[] {
  if (now === undefined) return [];
  if (sameFields(was, now)) return [element];
  const changed = keyFields
    .filter(({ name }) => was[name] !== now[name])
    .map(({ name, member }) => [member, now[name]]);
  const members = isJsonObject(element) ? element : { access_key: element };
  return [withoutNulls({ ...members, ...Object.fromEntries(changed) })];
}

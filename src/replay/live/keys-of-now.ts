import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import { type GivenKey, keyOf, keysOfFile } from '../format/given-state.js';

/** A configuration with the keys of others that came since it was read, without those that went, and with their names and limits of `now`. */
export function withKeysOfNow(
  config: JsonObject,
  keysBefore: readonly GivenKey[],
  now: readonly GivenKey[],
): JsonObject {
  const [before, present] = [keysBefore, now].map(
    (keys) => new Map(keys.map((each): readonly [string, GivenKey] => [each.accessKey, each])),
  );
  const list = Array.isArray(config.access_keys) ? config.access_keys : [];
  const inFile = new Set(keysOfFile(config).map(({ accessKey }) => accessKey));
  const kept = list.flatMap((element: JsonValue) => {
    const [key] = keyOf(element);
    const was = before?.get(key?.accessKey ?? '');
    return key === undefined || was === undefined ? [element] : asNow(element, was, present?.get(key.accessKey));
  });
  const fresh = now.filter(({ accessKey }) => before?.has(accessKey) !== true && !inFile.has(accessKey));
  const isSame = kept.length === list.length && kept.every((element, index) => element === list[index]);
  if (fresh.length === 0 && isSame) return config;
  return { ...config, access_keys: [...kept, ...fresh.map((key) => elementOf(key.accessKey, key))] };
}

/** The element with the name and limit that others gave it since; a member that no list shows stays what the file says. */
function asNow(element: JsonValue, was: GivenKey, now: GivenKey | undefined): readonly JsonValue[] {
  if (now === undefined) return [];
  const changed = {
    ...(was.name === now.name ? {} : { name: now.name }),
    ...(was.limitBytes === now.limitBytes ? {} : { limit_bytes: now.limitBytes }),
  };
  if (Object.keys(changed).length === 0) return [element];
  const members = { ...(isJsonObject(element) ? element : { access_key: element }), ...changed };
  return [Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))];
}

function elementOf(accessKey: string, { name, limitBytes }: Omit<GivenKey, 'accessKey'>): JsonValue {
  if (name === null && limitBytes === null) return accessKey;
  return {
    access_key: accessKey,
    ...(name === null ? {} : { name }),
    ...(limitBytes === null ? {} : { limit_bytes: limitBytes }),
  };
}

import { type Control, unreadWords } from '../../client/signed-in-caller.js';
import type { AccessKey } from '../../core/model.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { keyOf, withoutNulls } from '../format/given-state.js';
import { sameJson } from '../format/json-difference.js';
import { withKeysOfNow } from './keys-of-now.js';
import type { OwnKeys } from './own-keys.js';
import { listKeys, readKeys } from './target-facts.js';

/** A part of the state that is compared afterwards. */
export type ComparedPart = 'keys' | 'rules' | 'dns' | 'config';

/** The state of a server that a run may change, as read at one time. */
export type SavedState = Awaited<ReturnType<typeof readState>>;

/** Reads everything that a run may change. */
export async function readState(control: Control, { capabilities }: Revision) {
  const unread: Partial<Record<ComparedPart, string>> = {};
  const read = async (part: ComparedPart, path: string): Promise<JsonValue | null> => {
    const answer = await control.send('GET', path);
    const { status, data } = answer;
    if (status === 200 && data !== undefined && (part !== 'config' || isJsonObject(data))) return data;
    unread[part] = unreadWords(path, answer);
    return null;
  };
  const config = capabilities.config === undefined ? null : await read('config', '/server/config');
  const { keys, why } = await readKeys(control);
  if (why !== null) unread.keys = why;
  return {
    /** Null if the server shows none. */
    config: isJsonObject(config) ? config : null,
    keys,
    rules: capabilities.rules === undefined ? null : await read('rules', '/router/rules'),
    dns: capabilities.dns === undefined ? null : await read('dns', '/dns/config'),
    /** Why parts that the revision serves could not be read; such a part is empty here. */
    unread,
  };
}

interface Restoring {
  readonly control: Control;
  readonly own: OwnKeys;
}

/**
 * Restores only the key lists of the configuration, which a server rewrites whenever a key is added or removed.
 * `version` is the server's. Resolves to why that failed, or null.
 */
export async function restoreKeyLists(
  live: Restoring,
  { config, keys: keysBefore }: SavedState,
  { storing }: Revision,
  version: string | null,
): Promise<string | null> {
  const present = await configurationOf(live.control);
  if (config === null || present === null) return null;
  const listOf = (keys: readonly AccessKey[]) => withKeysOfNow(config, keysBefore, keys).access_keys;
  const list = listOf(await othersKeys(live));
  const { access_keys: now, ...others } = present;
  const ordered = (keys: JsonValue | undefined) => (Array.isArray(keys) ? inOrder(keys) : keys);
  if (sameJson(ordered(now), ordered(list))) return null;
  if (list === undefined && version !== null && storing.needsRootList(version))
    return 'the configuration keeps a root access_keys, without which this server drops every key';
  return putConfiguration(live, present, (keys) => {
    const wanted = listOf(keys);
    return wanted === undefined ? others : { ...others, access_keys: wanted };
  });
}

/** Normalizes a key list for comparison: servers write it in any order, and a bare key as a text. */
export function inOrder(list: JsonValue[]): JsonValue[] {
  const named = list.map((element: JsonValue): readonly [string, JsonValue] => [
    keyOf(element)[0]?.accessKey ?? '',
    withoutNulls(isJsonObject(element) ? element : { access_key: element }),
  ]);
  return named.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, element]) => element);
}

async function othersKeys({ control, own }: Restoring): Promise<readonly AccessKey[]> {
  return (await listKeys(control)).filter(({ accessKey }) => !own.isOwn(accessKey));
}

/** The most times that a configuration is sent while other clients keep changing keys. */
const ROUNDS = 3;

/**
 * Restores a configuration, with other clients' keys as read immediately before, unless the server already has it. It
 * is sent again if keys changed meanwhile, because after its next reload a server has only the keys of the file.
 * Resolves to why that failed, or null.
 */
async function putConfiguration(
  live: Restoring,
  present: JsonObject,
  wantedWith: (keys: readonly AccessKey[]) => JsonObject,
): Promise<string | null> {
  let standing = present;
  for (let round = 0; round < ROUNDS; round += 1) {
    const wanted = wantedWith(await othersKeys(live));
    if (sameJson(standing, wanted)) return null;
    const { status, error } = await live.control.send('PUT', '/server/config', wanted);
    if (status !== 200) return `${status} ${error}`;
    standing = wanted;
  }
  return null;
}

async function configurationOf(control: Control): Promise<JsonObject | null> {
  const { data } = await control.send('GET', '/server/config');
  return isJsonObject(data) ? data : null;
}

import { type Control, unreadWords } from '../../client/signed-in-caller.js';
import { messageOf } from '../../core/errors.js';
import type { AccessKey } from '../../core/model.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { keyOf, keysOfFile, withoutNulls } from '../format/given-state.js';
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
  const audit: JsonValue | undefined =
    capabilities.audit === undefined ? null : (await control.send('GET', '/audit')).data;
  const { keys, why } = await readKeys(control);
  if (why !== null) unread.keys = why;
  return {
    /** Null where the server shows none. */
    config: isJsonObject(config) ? config : null,
    keys,
    rules: capabilities.rules === undefined ? null : await read('rules', '/router/rules'),
    dns: capabilities.dns === undefined ? null : await read('dns', '/dns/config'),
    /** Newest first. */
    audit: Array.isArray(audit) ? audit : [],
    /** The reasons why parts that the revision serves could not be read; such a part is empty here. */
    unread,
  };
}

/** Why a state does not hold what would have to be put back after its configuration was replaced, or null. */
export function whyNotToReplace({ config, keys }: SavedState): string | null {
  if (config === null) return 'its configuration cannot be read';
  if (config.mode === undefined) return 'its configuration has no "mode", without which no server takes it back';
  const hasListener = isJsonObject(config.api) || Array.isArray(config.inbounds);
  if (!hasListener) return 'its configuration does not say where the API listens';
  const inFile = new Set(keysOfFile(config).map(({ accessKey }) => accessKey));
  const missing = keys.filter(({ accessKey }) => !inFile.has(accessKey)).length;
  return missing === 0 ? null : `its configuration does not hold ${missing} of the ${keys.length} keys that it lists`;
}

/** A part of the state that is put back, as messages name it. */
type Part = 'configuration' | 'outbound rules' | 'DNS settings' | 'audit list';

export interface Restoring {
  readonly control: Control;
  readonly own: OwnKeys;
}

/**
 * Puts back what differs from the saved state; lists the parts that could not be put back, with the server's words. Keys
 * that others made or removed since then stay as they are now.
 */
export async function restoreState(live: Restoring, saved: SavedState): Promise<readonly string[]> {
  const { control } = live;
  const problems: string[] = [];
  const put = async (part: Part, work: () => Promise<string | null>): Promise<void> => {
    const problem = await work().catch((error: unknown) => messageOf(error));
    if (problem !== null) problems.push(`the ${part} could not be put back: ${problem}`);
  };
  const { config, rules, dns, audit } = saved;
  if (rules !== null) await put('outbound rules', () => restorePart(control, ['PUT', '/router/rules'], rules));
  if (dns !== null) await put('DNS settings', () => restorePart(control, ['POST', '/dns/config'], dns));
  // Last, since the others write into the file in words of their own.
  if (config !== null)
    await put('configuration', async () => {
      const present = await configurationOf(control);
      return putConfiguration(live, present, (keys) => withKeysOfNow(config, saved.keys, keys));
    });
  await put('audit list', () => restoreAudit(control, audit));
  return problems;
}

/**
 * Puts back the key lists of the configuration alone, which a server writes anew with every key that comes and goes. `version`
 * is the server's. Resolves to why it could not, or null.
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

/** A key list as it can be compared: servers write them in no order, and a key of which nothing is said as a text. */
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

/** The most times that a configuration is sent while others go on changing keys. */
export const ROUNDS = 3;

/**
 * Puts a configuration there with others' keys of now, which are read right before, unless it is what stands there. It is
 * sent again where keys changed meanwhile, since a server goes by the file alone from its next reload on. Resolves to why it
 * could not, or null.
 */
export async function putConfiguration(
  live: Restoring,
  present: JsonObject | null,
  wantedWith: (keys: readonly AccessKey[]) => JsonObject,
): Promise<string | null> {
  let standing = present;
  for (let round = 0; round < ROUNDS; round += 1) {
    const wanted = wantedWith(await othersKeys(live));
    if (standing !== null && sameJson(standing, wanted)) return null;
    const { status, error } = await live.control.send('PUT', '/server/config', wanted);
    if (status !== 200) return `${status} ${error}`;
    standing = wanted;
  }
  return null;
}

/** Has a server write its file without comments, and resolves to why it could not, or null: a write of rules into a file with comments leaves nothing of it on many. */
export async function dropComments(live: Restoring): Promise<string | null> {
  const keys = await othersKeys(live);
  const config = await configurationOf(live.control);
  return config === null ? null : putConfiguration(live, null, (now) => withKeysOfNow(config, keys, now));
}

async function configurationOf(control: Control): Promise<JsonObject | null> {
  const { data } = await control.send('GET', '/server/config');
  return isJsonObject(data) ? data : null;
}

async function restorePart(
  control: Control,
  [method, path]: readonly [string, string],
  wanted: JsonValue,
): Promise<string | null> {
  const present = (await control.send('GET', path)).data;
  if (present !== undefined && sameJson(present, wanted)) return null;
  const { status, error } = await control.send(method, path, wanted);
  return status === 200 ? null : `${status} ${error}`;
}

/** Entries get new ids and times: the API makes them. */
async function restoreAudit(control: Control, saved: readonly JsonValue[]): Promise<string | null> {
  const present = (await control.send('GET', '/audit')).data;
  if (!Array.isArray(present) || sameJson(present.map(eventOf), saved.map(eventOf))) return null;
  await control.send('DELETE', '/audit');
  for (const entry of [...saved].reverse()) {
    const { status, error } = await control.send('POST', '/audit', eventOf(entry));
    if (status !== 200) return `${status} ${error}`;
  }
  return null;
}

/** An entry without what the server makes of its own. */
function eventOf(entry: JsonValue): JsonObject {
  const { eventEn = '', eventRu = '', success = false } = isJsonObject(entry) ? entry : {};
  return { eventEn, eventRu, success };
}

import type { Control } from '../southbound/control.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json/json.js';
import type { Revision } from '../wire/traits/revision.js';
import { keyOf } from './given-state.js';
import { sameJson } from './json-difference.js';
import { listKeys, type TargetFacts } from './target-facts.js';

/** What stood on a server before anything of it was replaced. */
export interface SavedState {
  readonly config: JsonObject | null;
  /** Keys that the server listed. */
  readonly keys: readonly string[];
  readonly rules: JsonValue | null;
  readonly dns: JsonValue | null;
  /** Newest first. */
  readonly audit: readonly JsonValue[];
}

/** Reads everything that a scenario may replace. */
export async function saveState(control: Control, revision: Revision, facts: TargetFacts): Promise<SavedState> {
  const { capabilities } = revision;
  const read = async (path: string): Promise<JsonValue | null> => {
    const { status, data } = await control.send('GET', path);
    return status === 200 && data !== undefined ? data : null;
  };
  const audit = capabilities.audit !== undefined ? await read('/audit') : null;
  return {
    config: facts.config === 'none' ? null : facts.config,
    keys: facts.keys.map(({ accessKey }) => accessKey),
    rules: capabilities.rules !== undefined ? await read('/router/rules') : null,
    dns: capabilities.dns !== undefined ? await read('/dns/config') : null,
    audit: Array.isArray(audit) ? audit : [],
  };
}

/** What is put back: a part of the state, for messages. */
type Part = 'configuration' | 'outbound rules' | 'DNS settings' | 'audit list';

/**
 * Puts back what differs from the saved state; lists the parts that could not be put back, with the server's words. Keys
 * that others made or removed since then stay as they are now.
 */
export async function restoreState(control: Control, saved: SavedState): Promise<readonly string[]> {
  const problems: string[] = [];
  const put = async (part: Part, work: () => Promise<string | null>): Promise<void> => {
    const problem = await work().catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    if (problem !== null) problems.push(`the ${part} could not be put back: ${problem}`);
  };
  const { config, rules, dns, audit } = saved;
  if (config !== null) await put('configuration', () => restoreConfig(control, config, saved.keys));
  if (rules !== null) await put('outbound rules', () => restorePart(control, ['PUT', '/router/rules'], rules));
  if (dns !== null) await put('DNS settings', () => restorePart(control, ['POST', '/dns/config'], dns));
  await put('audit list', () => restoreAudit(control, audit));
  return problems;
}

async function restoreConfig(
  control: Control,
  config: JsonObject,
  keysBefore: readonly string[],
): Promise<string | null> {
  const present = (await control.send('GET', '/server/config')).data;
  const wanted = withKeysOfNow(config, new Set(keysBefore), await listKeys(control));
  if (present !== undefined && sameJson(present, wanted)) return null;
  const { status, error } = await control.send('PUT', '/server/config', wanted);
  return status === 200 ? null : `${status} ${error}`;
}

/** The saved file with the keys that came since, and without those that went. */
function withKeysOfNow(
  config: JsonObject,
  before: ReadonlySet<string>,
  now: Awaited<ReturnType<typeof listKeys>>,
): JsonObject {
  const list = Array.isArray(config.access_keys) ? config.access_keys : [];
  const present = new Set(now.map(({ accessKey }) => accessKey));
  const inFile = new Set(list.flatMap(keyOf).map(({ accessKey }) => accessKey));
  const kept = list.filter((element) =>
    keyOf(element).every(({ accessKey }) => present.has(accessKey) || !before.has(accessKey)),
  );
  const fresh = now.filter(({ accessKey }) => !before.has(accessKey) && !inFile.has(accessKey));
  if (fresh.length === 0 && kept.length === list.length) return config;
  return { ...config, access_keys: [...kept, ...fresh.map(asElement)] };
}

function asElement({ accessKey, name, limitBytes }: Awaited<ReturnType<typeof listKeys>>[number]): JsonValue {
  if (name === null && limitBytes === null) return accessKey;
  return {
    access_key: accessKey,
    ...(name === null ? {} : { name }),
    ...(limitBytes === null ? {} : { limit_bytes: limitBytes }),
  };
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

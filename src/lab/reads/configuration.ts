import { keyFields, type NamedKeyField } from '../../core/keys/key-record.js';
import type { AccessKey, OutboundRule, ServerConfiguration } from '../../core/model.js';
import { ConfigurationShapeError, ROOT_SHAPE, readDocument, readRoot } from '../../document/document.js';
import { readLegacyList } from '../../document/legacy-list.js';
import { memberOf } from '../../document/tree.js';
import { isJsonObject, type JsonObject, JsonSyntaxError, type JsonValue, parseJson } from '../../wire/json/json.js';
import { type Encodable, encodeJson, writeJson } from '../../wire/json/write-json.js';
import { sameJson } from '../format/json-difference.js';
import { type At, dataOf, differing, type Found, NEEDS_CREDENTIAL, type ReadDifference, snapshots } from './looking.js';

/** Milliseconds before each look. A server reads its file every 5 s, so the last one sees what was written. */
const LOOKS = [0, 2_000, 5_000];

/**
 * Checks that the configuration agrees with the list, the rules, the DNS settings and the links, as far as its line
 * stores them.
 */
export async function lookAtConfiguration(at: At): Promise<Found> {
  if (at.revision.capabilities.config === undefined) return { unseen: 'this revision does not show it' };
  if ((await at.look.passing(at.api)) === undefined) return { unseen: NEEDS_CREDENTIAL };
  let found: readonly ReadDifference[] = [];
  let before = await snapshots(at);
  let suspects: ReadonlySet<string> | null = null;
  for (const [index, milliseconds] of LOOKS.entries()) {
    const turn = `configuration ${index}`;
    if (milliseconds > 0) await at.look.pauseBefore(turn, milliseconds);
    const file = await fileShown(at, turn);
    if ('unseen' in file) return file;
    const after = await snapshots(at, turn);
    const keys = keyContradictions(file, [before, after], at, suspects);
    found = [
      ...keys.differences,
      ...(await ruleDifferences(file, at, turn)),
      ...(await dnsDifferences(file.configuration, at, turn)),
      ...(await linkDifferences(file.configuration, at, turn)),
    ];
    before = after;
    suspects = keys.suspects;
    if (found.length === 0) break;
  }
  return found;
}

async function fileShown(at: At, turn: string): Promise<ShownFile | { readonly unseen: string }> {
  const config = await dataOf('getConfig', at, { turn });
  const file = config === undefined ? null : readFile(config);
  if (file === null) return { unseen: 'it shows no configuration' };
  return file.configuration.mode === 'server' ? file : { unseen: 'its "mode" is not "server"' };
}

/** The content of a configuration in either layout. */
type ShownFile = NonNullable<ReturnType<typeof readFile>>;

function readFile(config: JsonValue) {
  const bytes = Buffer.from(writeJson(config));
  try {
    const { configuration, document } = readDocument(bytes);
    // Servers that do not store everything cannot start from the layout without inbounds.
    const isRootLayout = document.layout.name === 'access_keys';
    if (document.legacyList === null) return { configuration, isRootLayout, legacyKeys: [] };
    // The keys of a legacy key list.
    const list = memberOf(readRoot(bytes, ROOT_SHAPE), 'access_keys');
    const legacyKeys = list?.kind === 'keys' ? [...readLegacyList(bytes, list).keys.values()] : [];
    return { configuration, isRootLayout, legacyKeys };
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof ConfigurationShapeError) return null;
    throw error;
  }
}

/**
 * Checks that every key that two lists show alike is in the file, with its name and limit and, if a start reads what
 * the API stores, that no others are. `suspects` are the keys that an earlier look found to differ: other clients'
 * newer keys may not have been written yet.
 */
function keyContradictions(
  { configuration, isRootLayout, legacyKeys }: ShownFile,
  lists: readonly [before: readonly JsonObject[], after: readonly JsonObject[]],
  at: At,
  suspects: ReadonlySet<string> | null,
) {
  const request = 'GET /server/config beside GET /users';
  const stored = recordsOf([...configuration.keys, ...legacyKeys]);
  const [before, listed] = [listedBy(lists[0]), listedBy(lists[1])];
  // No path could name the empty key, and servers of each line treat it differently.
  const passedOver = new Set(['', ...changedBetween(before, listed)]);
  for (const keys of [stored, listed])
    for (const key of keys.keys()) if (passedOver.has(key) || suspects?.has(key) === false) keys.delete(key);
  const missing = [...listed.keys()].filter((key) => !stored.has(key));
  const isWhole = isRootLayout || (legacyKeys.length === 0 && at.revision.storing.startsWithKeys);
  const unlisted = isWhole ? [...stored.keys()].filter((key) => !listed.has(key)) : [];
  const unlike = keyFields.flatMap((field) => firstUnlike(stored, listed, field));
  return {
    differences: [
      ...differing(request, 'body /data, keys of the list that it lacks', 0n, BigInt(missing.length)),
      ...differing(request, 'body /data, its keys that the list lacks', 0n, BigInt(unlisted.length)),
      ...unlike.map(({ key: _, ...each }) => ({ request, ...each })),
    ],
    suspects: new Set([...missing, ...unlisted, ...unlike.map(({ key }) => key)]),
  };
}

function listedBy(list: readonly JsonObject[]): Map<string, JsonObject> {
  return new Map(list.map((each) => [String(each.access_key), each]));
}

/** Returns keys that others changed between two lists, about which the configuration may say either. */
function changedBetween(
  before: ReadonlyMap<string, JsonObject>,
  after: ReadonlyMap<string, JsonObject>,
): readonly string[] {
  const record = (each: JsonObject | undefined) => each && keyFields.map(({ member }) => each[member] ?? null);
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (key) => !sameJson(record(before.get(key)), record(after.get(key))),
  );
}

function recordsOf(keys: readonly AccessKey[]): Map<string, AccessKey[]> {
  const records = new Map<string, AccessKey[]>();
  for (const each of keys) records.set(each.accessKey, [...(records.get(each.accessKey) ?? []), each]);
  return records;
}

interface UnlikeKey extends Omit<ReadDifference, 'request'> {
  readonly key: string;
}

/** Returns the first key that the list shows differently; for a key that is in the file twice, either value will do. */
function firstUnlike(
  stored: ReadonlyMap<string, readonly AccessKey[]>,
  listed: ReadonlyMap<string, JsonObject>,
  { name, member }: NamedKeyField,
): readonly UnlikeKey[] {
  for (const [key, records] of stored) {
    const shown = listed.get(key)?.[member];
    const values = records.map((each) => each[name]);
    if (shown !== undefined && !values.some((each) => each === shown))
      return [{ key, where: `body /data, ${member} of a key`, expected: shown, actual: values[0] }];
  }
  return [];
}

/** Compares the rules. Servers read `block` of their file as `proxy` (protocol: "Where recorded servers differ"). */
async function ruleDifferences(
  { configuration: { outbound }, isRootLayout }: ShownFile,
  at: At,
  turn: string,
): Promise<ReadDifference[]> {
  const { capabilities, storing } = at.revision;
  if (capabilities.rules === undefined || !(isRootLayout || storing.storesRules)) return [];
  const shown = await dataOf('getRules', at, { turn });
  if (!Array.isArray(shown)) return [];
  const { form } = capabilities.rules;
  const possible = (outbound?.rules ?? []).map((rule) => [rule, ...(rule.action === 'block' ? [asProxy(rule)] : [])]);
  const stored = possible.map((rules) => rules.map((rule) => wireOf(form.encode(rule))));
  const request = 'GET /router/rules beside GET /server/config';
  if (stored.length !== shown.length)
    return [{ request, where: 'body /data, how many', expected: BigInt(stored.length), actual: BigInt(shown.length) }];
  const place = stored.findIndex((rules, index) => !rules.some((rule) => othersThan(rule, shown[index]).length === 0));
  if (place < 0) return [];
  return [{ request, where: `body /data/${place}`, expected: stored[place]?.[0], actual: shown[place] }];
}

function asProxy(rule: OutboundRule): OutboundRule {
  return { ...rule, action: 'proxy' };
}

async function dnsDifferences({ dns }: ServerConfiguration, at: At, turn: string): Promise<ReadDifference[]> {
  const traits = at.revision.capabilities.dns;
  const shown = traits === undefined ? undefined : await dataOf('getDnsConfig', at, { turn });
  const stored = traits === undefined ? null : wireOf(traits.form.encode(dns));
  if (!isJsonObject(shown) || !isJsonObject(stored)) return [];
  const request = 'GET /dns/config beside GET /server/config';
  return othersThan(stored, shown).map((member) => {
    return { request, where: `body /data/${member}`, expected: stored[member], actual: shown[member] };
  });
}

/** Lists the members whose shown value differs; a missing member is the form's concern, which another rule checks. */
function othersThan(stored: JsonValue, shown: JsonValue | undefined): readonly string[] {
  if (!isJsonObject(stored) || !isJsonObject(shown)) return [];
  return Object.keys(stored).filter(
    (member) => shown[member] !== undefined && !sameJson(stored[member], shown[member]),
  );
}

/** Checks that a link shows whether DNS is on, if its line's links do. */
async function linkDifferences({ dns }: ServerConfiguration, at: At, turn: string): Promise<ReadDifference[]> {
  const first = (await snapshots(at, turn)).find(({ access_key: key }) => key !== '');
  if (first === undefined) return [];
  const link = await dataOf('subscribe', at, { key: String(first.access_key), accept: 'text/plain', turn });
  const { shareQuery } = at.revision;
  const dnsEnabled = typeof link === 'string' ? shareQuery.read(link).dnsEnabled : null;
  if (dnsEnabled === null) return [];
  const request = 'GET /subscribe/{key} beside GET /server/config';
  const words = (enabled: boolean) => (enabled ? 'as with DNS enabled' : 'as without DNS');
  return differing(request, 'body /data, its query', words(dns.enabled), words(dnsEnabled));
}

/** Returns the JSON value as it is on the wire. */
function wireOf(encodable: Encodable): JsonValue {
  return parseJson(Buffer.from(encodeJson(encodable)));
}

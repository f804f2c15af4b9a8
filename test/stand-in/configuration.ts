import type { Credentials, DnsConfig, OutboundRule } from '../../src/core/model.js';
import { DEFAULT_DNS } from '../../src/core/model.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../src/wire/json/json.js';
import type { Behaviour } from './behaviour.js';

/** A key's record as it stands in memory. */
export interface StoredKey {
  readonly name: string | null;
  readonly limitBytes: bigint | null;
}

/** What a server takes from its file when it starts. */
export interface StartState {
  readonly keys: ReadonlyMap<string, StoredKey>;
  readonly credentials: Credentials;
  readonly webpath: string;
  /** `host:port` of the tunnel. */
  readonly listen: string;
  /** Null where outbound routing is not configured. */
  readonly rules: readonly OutboundRule[] | null;
  readonly dns: DnsConfig;
  /** Where clients find a server from 0.4.6 on. */
  readonly published: PublishedStart;
  /** The file as it was. */
  readonly root: JsonObject;
}

export interface PublishedStart {
  readonly domain: string | null;
  readonly tls: { readonly port: number; readonly path: string | null } | null;
  readonly prefix: string | null;
  readonly dnsEnabled: boolean;
}

/** The file as a value; comments are tolerated. Throws `JsonSyntaxError`. */
export function parseConfiguration(bytes: Buffer): JsonValue {
  return parseJson(bytes, { comments: true, duplicates: 'last' });
}

/** Reads a file as a start does. Throws where a server would not start. */
export function readAtStart(root: JsonValue, behaviour: Behaviour): StartState {
  if (!isJsonObject(root)) throw new Error('the configuration file is no object: the server does not start from it');
  if (behaviour.later.isTyped) refuseAtStart(root, behaviour);
  const inbounds = behaviour.keysAtStart === 'inbounds';
  if (inbounds && !Array.isArray(root.outbounds)) throw new Error('outdated format: the server does not start from it');
  const listener = (inbounds ? inbound(root, 'api') : objectIn(root, 'api')) ?? {};
  return {
    keys: inbounds ? keysOfInbounds(root) : keysOfRootList(root, behaviour),
    credentials: {
      token: textIn(listener, 'token') ?? null,
      username: textIn(listener, 'username') ?? '',
      passwordHash: textIn(listener, 'password_hash') ?? '',
    },
    webpath: textIn(listener, 'webpath') ?? '',
    listen: listenOf(root, inbounds),
    rules: inbounds ? rulesOfRouting(root) : rulesOfOutbound(root),
    dns: dnsOf(root),
    published: publishedOf(root),
    root,
  };
}

/** Throws where a server from 0.4.0 on does not start, or starts no API, which is what a stand-in is. */
function refuseAtStart(root: JsonObject, { revision }: Behaviour): void {
  if (root.listen === undefined) throw new Error('missing field `listen`: the server does not start');
  if (!Array.isArray(root.access_keys)) throw new Error('missing field `access_keys`: the server does not start');
  if (root.access_keys.length === 0) throw new Error('Server configuration must contain at least one access_key.');
  const api = objectIn(root, 'api') ?? {};
  const credentials = {
    token: textIn(api, 'token') ?? null,
    username: textIn(api, 'username') ?? '',
    passwordHash: textIn(api, 'password_hash') ?? '',
  };
  if (revision.auth.admitsNobody(credentials)) throw new Error('nobody could sign in: the API is not started');
}

function publishedOf(root: JsonObject): PublishedStart {
  const tls = objectIn(root, 'tls') ?? {};
  const subscription = objectIn(root, 'subscription') ?? {};
  const domain = textIn(root, 'domain') || null;
  const hasTls = tls.enabled === true && domain !== null;
  const path = (textIn(tls, 'frontend') ?? 'builtin') === 'builtin' ? null : (textIn(tls, 'ws_path') ?? null);
  return {
    domain,
    tls: hasTls ? { port: Number(tls.public_port ?? 443n), path } : null,
    prefix: hasTls && subscription.enabled === true ? (textIn(subscription, 'path') ?? '/sub') : null,
    dnsEnabled: objectIn(root, 'dns')?.enabled === true,
  };
}

/** Reads the keys as a reload does. Throws where a server gives the reload up. */
export function readAtReload(root: JsonValue, behaviour: Behaviour): ReadonlyMap<string, StoredKey> {
  if (!isJsonObject(root)) throw new Error('the root is no object');
  const listed = keysOfRootList(root, behaviour);
  if (behaviour.keysAtStart === 'root list') return listed;
  const bare = [...listed.keys()].map((accessKey) => [accessKey, { name: null, limitBytes: null }] as const);
  if (behaviour.keysAtReload === 'root list') return new Map(bare);
  return new Map([...bare, ...keysOfInbounds(root)]);
}

/** The root list as a server writes it: a key with a name or a limit is an object. */
export function rootListOf(keys: readonly (readonly [string, StoredKey])[]): JsonValue {
  return keys.map(([accessKey, { name, limitBytes }]) => {
    if (name === null && limitBytes === null) return accessKey;
    return {
      access_key: accessKey,
      ...(limitBytes === null ? {} : { limit_bytes: limitBytes }),
      ...(name === null ? {} : { name }),
    };
  });
}

function keysOfRootList(root: JsonObject, behaviour: Behaviour): ReadonlyMap<string, StoredKey> {
  const { reloadEndsAtObjects: endsAtObjects, takesOnlyStrings, later } = behaviour;
  const isOdd = (element: JsonValue) => typeof element !== 'string' && !isJsonObject(element);
  if (later.isTyped && elementsOf(root.access_keys).some(isOdd))
    throw new Error('Failed to parse config file during hot-reload');
  return keysIn(root.access_keys, (element) => {
    if (takesOnlyStrings) throw new Error('invalid type: map, expected a string');
    if (later.isTyped && typeof element.access_key !== 'string')
      throw new Error('Failed to parse config file during hot-reload');
    if (endsAtObjects && typeof element.key !== 'string')
      throw new Error('data did not match any variant of untagged enum ReloadUser');
    return element[endsAtObjects ? 'key' : 'access_key'];
  });
}

function keysOfInbounds(root: JsonObject): ReadonlyMap<string, StoredKey> {
  const found = elementsOf(root.inbounds).filter((each) => isJsonObject(each) && each.protocol === 'ostp');
  return new Map(found.flatMap((each) => [...keysIn(isJsonObject(each) ? each.users : null, ({ key }) => key)]));
}

function keysIn(
  list: JsonValue | undefined,
  keyOf: (element: JsonObject) => JsonValue | undefined,
): ReadonlyMap<string, StoredKey> {
  const keys = new Map<string, StoredKey>();
  for (const element of elementsOf(list)) {
    const accessKey = isJsonObject(element) ? keyOf(element) : element;
    if (typeof accessKey !== 'string') continue;
    const { name, limit_bytes: limit } = isJsonObject(element) ? element : {};
    keys.set(accessKey, {
      name: typeof name === 'string' ? name : null,
      limitBytes: typeof limit === 'bigint' ? limit : null,
    });
  }
  return keys;
}

function rulesOfOutbound(root: JsonObject): readonly OutboundRule[] | null {
  const outbound = objectIn(root, 'outbound');
  return outbound === undefined ? null : elementsOf(outbound.rules).flatMap((rule) => ruleOf(rule, 'action'));
}

/** Of the rules a start keeps those of the first outbound that proxies, and no others. */
function rulesOfRouting(root: JsonObject): readonly OutboundRule[] | null {
  const proxy = elementsOf(root.outbounds)
    .filter(isJsonObject)
    .find(({ protocol }) => protocol === 'socks5');
  if (proxy === undefined) return null;
  return elementsOf(objectIn(root, 'routing')?.rules)
    .filter((rule) => isJsonObject(rule) && rule.outbound === proxy.tag)
    .flatMap((rule) => ruleOf(rule, 'outbound'));
}

/** Whatever the file calls anything but direct is read as `proxy`. */
function ruleOf(rule: JsonValue, member: string): readonly OutboundRule[] {
  if (!isJsonObject(rule)) return [];
  return [
    {
      domainSuffix: textsOf(rule.domain_suffix),
      ipCidr: textsOf(rule.ip_cidr),
      protocol: textIn(rule, 'protocol') ?? null,
      action: rule[member] === 'direct' ? 'direct' : 'proxy',
      ...(typeof rule.send_from === 'string' ? { sendFrom: rule.send_from } : {}),
    },
  ];
}

function dnsOf(root: JsonObject): DnsConfig {
  const dns = objectIn(root, 'dns') ?? {};
  const domains = objectIn(dns, 'custom_domains') ?? {};
  const { dohUpstream, localPort } = DEFAULT_DNS;
  return {
    ...DEFAULT_DNS,
    enabled: dns.enabled === true,
    dohUpstream: textIn(dns, 'doh_upstream') ?? dohUpstream,
    adblockUrls: textsOf(dns.adblock_urls),
    customDomains: new Map(Object.entries(domains).map(([name, address]) => [name, String(address)])),
    localPort: typeof dns.local_port === 'bigint' ? Number(dns.local_port) : localPort,
    interceptAllPort53: dns.intercept_all_port53 === true,
  };
}

function listenOf(root: JsonObject, inbounds: boolean): string {
  if (!inbounds) {
    const [first] = Array.isArray(root.listen) ? root.listen : [root.listen];
    return typeof first === 'string' ? first : '';
  }
  const tunnel = inbound(root, 'ostp') ?? {};
  return `${textIn(tunnel, 'listen') ?? ''}:${tunnel.port ?? 0n}`;
}

function inbound(root: JsonObject, protocol: string): JsonObject | undefined {
  return elementsOf(root.inbounds)
    .filter(isJsonObject)
    .find((each) => each.protocol === protocol);
}

function objectIn(from: JsonObject, name: string): JsonObject | undefined {
  const value = from[name];
  return isJsonObject(value) ? value : undefined;
}

function textIn(from: JsonObject, name: string): string | undefined {
  const value = from[name];
  return typeof value === 'string' ? value : undefined;
}

function elementsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return elementsOf(value).filter((each) => typeof each === 'string');
}

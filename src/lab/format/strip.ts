import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Replacements, ValueKind } from './replacements.js';

/** Members whose values may be the format's own words; other values of them belong to somebody's configuration. */
const OWN_WORDS: Readonly<Record<string, ReadonlySet<string>>> = {
  mode: new Set(['server', 'client', 'relay']),
  action: new Set(['proxy', 'direct', 'block']),
  default_action: new Set(['proxy', 'direct', 'block']),
  protocol: new Set(['socks5', 'http', 'ostp', 'api', 'direct', 'block', 'udp', 'tcp']),
  level: new Set(['off', 'error', 'warn', 'info', 'debug', 'trace']),
  log_level: new Set(['off', 'error', 'warn', 'info', 'debug', 'trace']),
  // Constants of the client configuration object (protocol: "Client configuration object").
  socks5_bind: new Set(['127.0.0.1:1088']),
  dns: new Set(['1.1.1.1']),
};

const SECRET_MEMBER = /pass|token|secret|hash|private|psk|credential|webpath|cookie|authorization|(?<!access)_key$/i;
const KEY_MEMBER = new Set(['access_key', 'key']);
const NAME_MEMBER = new Set(['name', 'username', 'user', 'email', 'owner', 'login']);
const KEY_LIST = new Set(['access_keys', 'users']);
/** Objects whose member names are private: domain names. */
const MAPS = new Set(['custom_domains']);
/** Names of members that programs chose; any other name may be private, and becomes a placeholder, too. */
export const PROGRAM_NAMES: ReadonlySet<string> = new Set(
  `ok data error mode access_keys access_key name limit_bytes count api enabled bind token webpath username password
  password_hash version uptime_seconds active_users total_users bytes_up bytes_down connections online last_seen eventEn
  eventRu success id time timestamp domain client_ip blocked failed domain_suffix ip_cidr protocol send_from action outbound address port
  default_action rules dns doh_upstream adblock_urls custom_domains local_port intercept_all_port53 listen debug log
  log_level level inbounds outbounds routing default_outbound tag users key server socks5_bind tun enable exclude domains
  ips processes turn mux sessions type host path tls cert certificate private_key public_key method secret note owner
  email monitoring interval interval_s timeout limits limit transport udp tcp network mtu ipv4 ipv6 gateway interface
  user credential credentials psk hash cookie`.split(/\s+/),
);

/** Tells whether the value under a name is a secret, whatever its form. */
export function isSecretMember(name: string): boolean {
  return SECRET_MEMBER.test(name);
}

/** Removes secrets and private values from a JSON value. `member` is the name of the member that contains it. */
export function stripJson(value: JsonValue, replacements: Replacements, member = ''): JsonValue {
  if (isSecretMember(member)) return stripSecret(value, replacements);
  if (typeof value === 'string') return stripText(value, member, replacements);
  if (Array.isArray(value)) {
    const kind = KEY_LIST.has(member) ? 'key' : null;
    return value.map((element: JsonValue) =>
      kind !== null && typeof element === 'string'
        ? replacements.value(kind, element)
        : stripJson(element, replacements, member),
    );
  }
  if (!isJsonObject(value)) return value;
  return stripMembers(value, replacements, MAPS.has(member), (each, name) => stripJson(each, replacements, name));
}

/** `strip` receives each member's name if a program chose it, else an empty text. */
function stripMembers(
  value: JsonObject,
  replacements: Replacements,
  isMap: boolean,
  strip: (each: JsonValue, name: string) => JsonValue,
): JsonObject {
  const result: JsonObject = Object.create(null);
  for (const [name, each] of Object.entries(value)) {
    const isWord = !isMap && PROGRAM_NAMES.has(name);
    result[isWord ? name : replacements.value('text', name)] = strip(each, isWord ? name : '');
  }
  return result;
}

/**
 * Strips a secret. Null and the empty text are not secrets, because they mean that there is none; numbers and whole
 * objects may be.
 */
function stripSecret(value: JsonValue, replacements: Replacements): JsonValue {
  if (value === null || value === '' || typeof value === 'boolean') return value;
  if (typeof value === 'string') return replacements.secret(value);
  if (Array.isArray(value)) return value.map((element: JsonValue) => stripSecret(element, replacements));
  if (!isJsonObject(value)) return replacements.secret(String(value));
  return stripMembers(value, replacements, false, (each) => stripSecret(each, replacements));
}

function stripText(text: string, member: string, replacements: Replacements): string {
  if (OWN_WORDS[member]?.has(text) === true) return text;
  return replacements.value(kindOf(member), text);
}

function kindOf(member: string): ValueKind {
  if (KEY_MEMBER.has(member)) return 'key';
  return NAME_MEMBER.has(member) ? 'name' : 'text';
}

import type { Whole } from '../../src/text/whole.js';
import { isWhole } from '../text/exact-json.js';
import { ApiFailure } from './failure.js';
import { isObject } from './objects.js';

/** The answers as the protocol names their members. A member that only some revisions have is optional. */
export interface User {
  readonly access_key: string;
  readonly name?: string | null;
  readonly bytes_up: Whole;
  readonly bytes_down: Whole;
  readonly connections: Whole;
  readonly limit_bytes: Whole | null;
  readonly online: boolean;
  readonly last_seen?: null;
  /** The operator's, from Keyway's own interface; absent where there is none, or the credential may not know. */
  readonly note?: string | null;
}

export interface ServerStatus {
  readonly version: string;
  readonly uptime_seconds: Whole;
  readonly active_users: Whole;
  readonly total_users: Whole;
}

export interface AuditEntry {
  readonly id: string;
  readonly time: string;
  readonly eventEn: string;
  readonly eventRu: string;
  readonly success: boolean;
}

export type RuleAction = 'proxy' | 'direct' | 'block';

/** `protocol` is absent where the server's rules have none; other members are kept as they came. */
export interface OutboundRule {
  readonly domain_suffix: readonly string[];
  readonly ip_cidr: readonly string[];
  readonly protocol?: string | null;
  readonly action: RuleAction;
  /** In a file of the newer layout the tag that stands for the action. */
  readonly outbound?: string;
}

/** Members that the page does not know are kept and sent back. */
export interface DnsSettings {
  readonly enabled: boolean;
  readonly doh_upstream: string;
  readonly adblock_urls: readonly string[];
  readonly custom_domains: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

/** One line of the query log; `timestamp` is seconds since the epoch. */
export interface DnsQuery {
  readonly timestamp: Whole;
  readonly domain: string;
  readonly client_ip: string;
  readonly blocked: boolean;
  /** True where nobody could answer it; absent where the server does not tell. */
  readonly failed: boolean;
}

export function garbled(place: string): never {
  throw new ApiFailure('garbled', place);
}

export function listOf(value: unknown, place: string): readonly unknown[] {
  return Array.isArray(value) ? value : garbled(place);
}

export function objectOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : garbled(place);
}

export function readText(value: unknown, place: string): string {
  return typeof value === 'string' ? value : garbled(place);
}

/** Reads the members of an object of an answer; each of the readers throws `ApiFailure` with the member's place. */
export function fieldsOf(value: unknown, place = 'data') {
  const members = objectOf(value, place);
  const at = (name: string) => `${place}.${name}`;
  const text = (name: string) => readText(members[name], at(name));
  return {
    members,
    text,
    texts: (name: string) => readTexts(members[name] ?? [], at(name)),
    whole: (name: string): Whole => {
      const number = members[name];
      return isWhole(number) ? number : garbled(at(name));
    },
    /** A time (RFC 3339) as milliseconds since the epoch. */
    time: (name: string): number => {
      const time = Date.parse(text(name));
      return Number.isNaN(time) ? garbled(at(name)) : time;
    },
    /** Reads a member by one of these; null stays null. */
    orNull: <T>(name: string, read: (name: string) => T): T | null => (members[name] === null ? null : read(name)),
    /** The known value that the member has. */
    oneOf: <T>(name: string, known: readonly T[]): T =>
      known.find((each) => each === members[name]) ?? garbled(at(name)),
  };
}

export type Fields = ReturnType<typeof fieldsOf>;

/** Reads the objects of a list. */
export function itemsOf<T>(value: unknown, read: (fields: Fields) => T, place = 'data'): readonly T[] {
  return listOf(value, place).map((item, index) => read(fieldsOf(item, `${place}[${index}]`)));
}

/** A key that changed: whole, or with its counters alone. */
export type ChangedKey = Pick<User, 'access_key' | 'bytes_up' | 'bytes_down' | 'connections' | 'online'> &
  Partial<Pick<User, 'name' | 'limit_bytes' | 'note'>>;

export function isChangedKey(value: unknown): value is ChangedKey {
  if (!isObject(value)) return false;
  const { limit_bytes: limit } = value;
  const isText = (text: unknown) => text === undefined || text === null || typeof text === 'string';
  return (
    typeof value.access_key === 'string' &&
    isWhole(value.bytes_up) &&
    isWhole(value.bytes_down) &&
    isWhole(value.connections) &&
    typeof value.online === 'boolean' &&
    isText(value.name) &&
    isText(value.note) &&
    (limit === undefined || limit === null || isWhole(limit))
  );
}

function isUser(value: unknown): value is User {
  return isChangedKey(value) && value.limit_bytes !== undefined;
}

/** Checked in place: a list of 100,000 is not copied. */
export function readUsers(data: unknown): readonly User[] {
  const list = listOf(data, 'data');
  return areUsers(list) ? list : garbled(`data[${list.findIndex((item) => !isUser(item))}]`);
}

function areUsers(list: readonly unknown[]): list is readonly User[] {
  return list.every(isUser);
}

export function readStatus(data: unknown): ServerStatus {
  const { text, whole } = fieldsOf(data);
  return {
    version: text('version'),
    uptime_seconds: whole('uptime_seconds'),
    active_users: whole('active_users'),
    total_users: whole('total_users'),
  };
}

export function readTexts(data: unknown, place = 'data'): readonly string[] {
  return listOf(data, place).map((item, index) => readText(item, `${place}[${index}]`));
}

export function readAudit(data: unknown): readonly AuditEntry[] {
  return itemsOf(data, ({ text, members }) => ({
    ...{ id: text('id'), time: text('time'), eventEn: text('eventEn'), eventRu: text('eventRu') },
    success: members.success === true,
  }));
}

const ACTIONS: readonly RuleAction[] = ['proxy', 'direct', 'block'];

export function readRules(data: unknown): readonly OutboundRule[] {
  return itemsOf(data, ({ members, texts, oneOf }) => ({
    ...members,
    ...{ domain_suffix: texts('domain_suffix'), ip_cidr: texts('ip_cidr'), action: oneOf('action', ACTIONS) },
  }));
}

export function readDns(data: unknown): DnsSettings {
  const { members, texts } = fieldsOf(data);
  const { enabled, doh_upstream: upstream, custom_domains: domains } = members;
  const names = fieldsOf(isObject(domains) ? domains : {}, 'data.custom_domains');
  return {
    ...members,
    enabled: enabled === true,
    doh_upstream: typeof upstream === 'string' ? upstream : '',
    adblock_urls: texts('adblock_urls'),
    custom_domains: Object.fromEntries(Object.keys(names.members).map((name) => [name, names.text(name)])),
  };
}

/** The members of the form of 0.4.6, which count in the place of the older ones, by how they begin. */
const NEWER_DNS = /^(allowlist|block(_|ed_[st]|ing)|cache|lists|query|rewrites|safe|up(date|stream)|user)/;

/** Returns true for settings of a file that have the form of 0.4.6, as docs/dns.md tells it. */
export function isNewerDns(settings: DnsSettings): boolean {
  return Object.entries(settings).some(([name, value]) => value !== null && NEWER_DNS.test(name));
}

/** Records in the field differ in their members: what is missing is shown as empty. */
export function readQueries(data: unknown): readonly DnsQuery[] {
  return itemsOf(data, ({ members: { timestamp, domain, client_ip, blocked, failed } }) => ({
    timestamp: isWhole(timestamp) ? timestamp : 0,
    domain: String(domain ?? ''),
    client_ip: String(client_ip ?? ''),
    blocked: blocked === true,
    failed: failed === true,
  }));
}

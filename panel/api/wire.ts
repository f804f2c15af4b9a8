import { isWhole, type Whole } from '../text/exact-json.js';
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

/** Reads a time (RFC 3339) as milliseconds since the epoch. */
export function readTime(value: unknown, place: string): number {
  const time = Date.parse(readText(value, place));
  return Number.isNaN(time) ? garbled(place) : time;
}

/** A key that changed: whole, or with its counters alone. */
export type ChangedKey = Pick<User, 'access_key' | 'bytes_up' | 'bytes_down' | 'connections' | 'online'> &
  Partial<Pick<User, 'name' | 'limit_bytes'>>;

export function isChangedKey(value: unknown): value is ChangedKey {
  if (!isObject(value)) return false;
  const { name, limit_bytes: limit } = value;
  return (
    typeof value.access_key === 'string' &&
    isWhole(value.bytes_up) &&
    isWhole(value.bytes_down) &&
    isWhole(value.connections) &&
    typeof value.online === 'boolean' &&
    (name === undefined || name === null || typeof name === 'string') &&
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
  const value = objectOf(data, 'data');
  const whole = (name: string): Whole => {
    const number = value[name];
    return isWhole(number) ? number : garbled(`data.${name}`);
  };
  return {
    version: readText(value.version, 'data.version'),
    uptime_seconds: whole('uptime_seconds'),
    active_users: whole('active_users'),
    total_users: whole('total_users'),
  };
}

export function readTexts(data: unknown, place = 'data'): readonly string[] {
  return listOf(data, place).map((item, index) => readText(item, `${place}[${index}]`));
}

export function readToken(data: unknown): string {
  return readText(objectOf(data, 'data').token, 'data.token');
}

export function readAudit(data: unknown): readonly AuditEntry[] {
  return listOf(data, 'data').map((item, index) => {
    const entry = objectOf(item, `data[${index}]`);
    return {
      id: readText(entry.id, `data[${index}].id`),
      time: readText(entry.time, `data[${index}].time`),
      eventEn: readText(entry.eventEn, `data[${index}].eventEn`),
      eventRu: readText(entry.eventRu, `data[${index}].eventRu`),
      success: entry.success === true,
    };
  });
}

const ACTIONS: readonly RuleAction[] = ['proxy', 'direct', 'block'];

export function readRules(data: unknown): readonly OutboundRule[] {
  return listOf(data, 'data').map((item, index) => {
    const rule = objectOf(item, `data[${index}]`);
    const action = ACTIONS.find((known) => known === rule.action) ?? garbled(`data[${index}].action`);
    return {
      ...rule,
      domain_suffix: readTexts(rule.domain_suffix ?? [], `data[${index}].domain_suffix`),
      ip_cidr: readTexts(rule.ip_cidr ?? [], `data[${index}].ip_cidr`),
      action,
    };
  });
}

export function readDns(data: unknown): DnsSettings {
  const value = objectOf(data, 'data');
  const names = isObject(value.custom_domains) ? value.custom_domains : {};
  return {
    ...value,
    enabled: value.enabled === true,
    doh_upstream: typeof value.doh_upstream === 'string' ? value.doh_upstream : '',
    adblock_urls: readTexts(value.adblock_urls ?? [], 'data.adblock_urls'),
    custom_domains: Object.fromEntries(
      Object.entries(names).map(([name, address]) => [name, readText(address, `data.custom_domains.${name}`)]),
    ),
  };
}

/** Records in the field differ in their members: what is missing is shown as empty. */
export function readQueries(data: unknown): readonly DnsQuery[] {
  return listOf(data, 'data').map((item, index) => {
    const query = objectOf(item, `data[${index}]`);
    return {
      timestamp: isWhole(query.timestamp) ? query.timestamp : 0,
      domain: String(query.domain ?? ''),
      client_ip: String(query.client_ip ?? ''),
      blocked: query.blocked === true,
      failed: query.failed === true,
    };
  });
}

import { isIP } from 'node:net';
import { DEFAULT_RESOLVER, foldedIn } from '../core/dns-settings.js';
import {
  type BlockedAnswer,
  DEFAULT_DNS,
  type DnsConfig,
  type DnsList,
  type DnsRewrite,
  MAX_U64,
  type ResolverSettings,
} from '../core/model.js';
import {
  isAbsent,
  isObjectHere,
  readBoolean,
  readElements,
  readPort,
  readString,
  readStrings,
  type Warnings,
} from './reading.js';
import type { Rendered } from './style.js';
import { memberOf, type ObjectNode, type ValueNode } from './tree.js';

/** A setting with a member of its own in every form of the `dns` object. */
export type PlainDns = Exclude<keyof DnsConfig, 'resolver'>;

/** The members of the `dns` object that the gateway knows, by setting; without those of 0.4.6. */
export const DNS_MEMBERS: ReadonlyMap<PlainDns, string> = new Map<PlainDns, string>([
  ['enabled', 'enabled'],
  ['dohUpstream', 'doh_upstream'],
  ['adblockUrls', 'adblock_urls'],
  ['customDomains', 'custom_domains'],
  ['localPort', 'local_port'],
  ['interceptAllPort53', 'intercept_all_port53'],
  ['bind', 'bind'],
  ['blockedAnswer', 'blocked_answer'],
  ['refreshHours', 'refresh_hours'],
]);

/** The members of the form of 0.4.6 that replace an older one, with that one. */
export const OLDER_OF: ReadonlyMap<string, string> = new Map([
  ['upstreams', 'doh_upstream'],
  ['blocking_mode', 'blocked_answer'],
  ['lists', 'adblock_urls'],
  ['update_interval_hours', 'refresh_hours'],
  ['rewrites', 'custom_domains'],
]);

/** Returns the settings of the form of 0.4.6 as they are written, by member. */
export function renderResolver(settings: ResolverSettings): ReadonlyMap<string, Rendered> {
  return new Map<string, Rendered>([
    ['upstreams', settings.upstreams],
    ['upstream_mode', settings.upstreamMode],
    ['cache_size', settings.cacheSize],
    ['cache_min_ttl', settings.cacheMinTtl],
    ['cache_max_ttl', settings.cacheMaxTtl],
    ['blocking_mode', settings.blockingMode],
    ['blocked_ttl', settings.blockedTtl],
    ['lists', settings.lists.map(entryMembers)],
    ['allowlists', settings.allowlists.map(entryMembers)],
    ['update_interval_hours', settings.updateIntervalHours],
    ['user_rules', settings.userRules],
    ['rewrites', settings.rewrites.map(entryMembers)],
    ['safe_search', settings.safeSearch],
    ['block_doh_bypass', settings.blockDohBypass],
    ['blocked_services', settings.blockedServices],
    ['query_log_size', settings.queryLogSize],
  ]);
}

/** Returns the members of an entry of a list, as they are written. */
export const entryMembers = (entry: DnsList | DnsRewrite): ReadonlyMap<string, Rendered> =>
  new Map(Object.entries(entry));

/** The members of the form of 0.4.6. */
export const RESOLVER_MEMBERS: ReadonlySet<string> = new Set(renderResolver(DEFAULT_RESOLVER).keys());

/** Tells whether a `dns` object has a member of the form of 0.4.6; absent members then have that form's defaults. */
export function hasResolverForm(dns: ObjectNode): boolean {
  return dns.members.some(({ name, value }) => RESOLVER_MEMBERS.has(name) && !isAbsent(value));
}

/** Reads the `dns` member of a root, with defaults for what is missing or unusable. */
export function readDns(root: ObjectNode, warnings: Warnings): DnsConfig {
  const dns = memberOf(root, 'dns');
  if (!isObjectHere(dns, 'dns', warnings)) return DEFAULT_DNS;
  const urls = memberOf(dns, 'adblock_urls');
  const read = {
    enabled: readBoolean(memberOf(dns, 'enabled'), 'dns.enabled', DEFAULT_DNS.enabled, warnings),
    dohUpstream: readString(memberOf(dns, 'doh_upstream'), 'dns.doh_upstream', DEFAULT_DNS.dohUpstream, warnings),
    adblockUrls: isAbsent(urls) ? DEFAULT_DNS.adblockUrls : readStrings(urls, 'dns.adblock_urls', warnings),
    customDomains: readCustomDomains(memberOf(dns, 'custom_domains'), warnings),
    localPort: readPort(memberOf(dns, 'local_port'), 'dns.local_port', DEFAULT_DNS.localPort, warnings),
    interceptAllPort53: readBoolean(
      memberOf(dns, 'intercept_all_port53'),
      'dns.intercept_all_port53',
      DEFAULT_DNS.interceptAllPort53,
      warnings,
    ),
    bind: readBind(memberOf(dns, 'bind'), warnings),
    blockedAnswer: readBlockedAnswer(memberOf(dns, 'blocked_answer'), warnings),
    refreshHours: readRefreshHours(memberOf(dns, 'refresh_hours'), warnings),
  };
  if (!hasResolverForm(dns)) return { ...read, resolver: null };
  const older = {
    ...read,
    // An absent one must not join the others.
    dohUpstream: isAbsent(memberOf(dns, 'doh_upstream')) ? '' : read.dohUpstream,
  };
  return { ...read, resolver: foldedIn(readResolver(dns, warnings), older) };
}

function readResolver(dns: ObjectNode, warnings: Warnings): ResolverSettings {
  const fallback = DEFAULT_RESOLVER;
  const given = (name: string) => ({ node: memberOf(dns, name), place: `dns.${name}` });
  const texts = (name: string, otherwise: readonly string[]) => {
    const { node, place } = given(name);
    return isAbsent(node) ? otherwise : readStrings(node, place, warnings);
  };
  const flag = (name: string, otherwise: boolean) => {
    const { node, place } = given(name);
    return readBoolean(node, place, otherwise, warnings);
  };
  const integer = (name: string, otherwise: bigint, most: bigint) => {
    const { node, place } = given(name);
    if (isAbsent(node)) return otherwise;
    if (node.kind === 'integer' && node.value >= 0n && node.value <= most) return node.value;
    warnings.add(place, `expected an integer from 0 to ${most}; it is ignored`);
    return otherwise;
  };
  const number = (name: string, otherwise: number) => Number(integer(name, BigInt(otherwise), MOST_NUMBER));
  const word = <W extends string>(name: string, words: readonly [W, ...W[]]): W => {
    const { node, place } = given(name);
    const text = readString(node, place, words[0], warnings);
    const found = words.find((one) => one === text);
    if (found === undefined) warnings.add(place, `expected ${words.join(' or ')}; it is ignored`);
    return found ?? words[0];
  };
  const lists = (name: string, otherwise: readonly DnsList[]) => {
    const { node, place } = given(name);
    return isAbsent(node) ? otherwise : readEntries(node, place, readList, warnings);
  };
  return {
    upstreams: texts('upstreams', fallback.upstreams),
    upstreamMode: word('upstream_mode', ['fallback', 'parallel']),
    cacheSize: integer('cache_size', fallback.cacheSize, MAX_U64),
    cacheMinTtl: number('cache_min_ttl', fallback.cacheMinTtl),
    cacheMaxTtl: number('cache_max_ttl', fallback.cacheMaxTtl),
    blockingMode: word('blocking_mode', ['nxdomain', 'null_ip', 'refused']),
    blockedTtl: number('blocked_ttl', fallback.blockedTtl),
    lists: lists('lists', fallback.lists),
    allowlists: lists('allowlists', fallback.allowlists),
    updateIntervalHours: number('update_interval_hours', fallback.updateIntervalHours),
    userRules: texts('user_rules', fallback.userRules),
    rewrites: readEntries(memberOf(dns, 'rewrites'), 'dns.rewrites', readRewrite, warnings),
    safeSearch: flag('safe_search', fallback.safeSearch),
    blockDohBypass: flag('block_doh_bypass', fallback.blockDohBypass),
    blockedServices: texts('blocked_services', fallback.blockedServices),
    queryLogSize: integer('query_log_size', fallback.queryLogSize, MAX_U64),
  };
}

const MOST_NUMBER = 2n ** 32n - 1n;

/** Reads the entries of a list, without those that cannot be used. */
function readEntries<T>(
  node: ValueNode | undefined,
  place: string,
  read: (element: ValueNode, place: string, warnings: Warnings) => T | null,
  warnings: Warnings,
): readonly T[] {
  return readElements(node, place, warnings).flatMap((element, index) => {
    const at = `${place}[${index}]`;
    return isObjectHere(element, at, warnings) ? (read(element, at, warnings) ?? []) : [];
  });
}

/** Reads an entry of `lists` or `allowlists`; null, with a warning, if it cannot be used. */
function readList(element: ValueNode, place: string, warnings: Warnings): DnsList | null {
  const url = readString(memberOf(element, 'url'), `${place}.url`, '', warnings);
  if (url === '') warnings.add(`${place}.url`, 'expected a URL; the list is ignored');
  const name = readString(memberOf(element, 'name'), `${place}.name`, url, warnings);
  const enabled = readBoolean(memberOf(element, 'enabled'), `${place}.enabled`, true, warnings);
  return url === '' ? null : { name, url, enabled };
}

/** Reads an entry of `rewrites`; null, with a warning, if it cannot be used. */
function readRewrite(element: ValueNode, place: string, warnings: Warnings): DnsRewrite | null {
  const domain = readString(memberOf(element, 'domain'), `${place}.domain`, '', warnings);
  const answer = readString(memberOf(element, 'answer'), `${place}.answer`, '', warnings);
  if (domain !== '' && answer !== '') return { domain, answer };
  warnings.add(place, 'expected a domain and an answer; it is ignored');
  return null;
}

/** The entries of a list of the form of 0.4.6. */
export interface EntryKind {
  readonly read: typeof readList | typeof readRewrite;
  /** The member that names an entry. */
  readonly named: string;
}

/** The lists of the form of 0.4.6 whose entries are objects. */
export const ENTRY_LISTS: ReadonlyMap<string, EntryKind> = new Map<string, EntryKind>([
  ['lists', { read: readList, named: 'url' }],
  ['allowlists', { read: readList, named: 'url' }],
  ['rewrites', { read: readRewrite, named: 'domain' }],
]);

function readBind(node: ValueNode | undefined, warnings: Warnings): string {
  const bind = readString(node, 'dns.bind', DEFAULT_DNS.bind, warnings);
  if (isIP(bind) !== 0) return bind;
  warnings.add('dns.bind', 'expected an IPv4 or IPv6 address; it is ignored');
  return DEFAULT_DNS.bind;
}

function readBlockedAnswer(node: ValueNode | undefined, warnings: Warnings): BlockedAnswer {
  const answer = readString(node, 'dns.blocked_answer', DEFAULT_DNS.blockedAnswer, warnings);
  if (answer === 'nxdomain' || answer === 'zero') return answer;
  warnings.add('dns.blocked_answer', 'expected "nxdomain" or "zero"; it is ignored');
  return DEFAULT_DNS.blockedAnswer;
}

/** Reads the hours between refreshes, at most 24 days, because a timer cannot wait longer. */
function readRefreshHours(node: ValueNode | undefined, warnings: Warnings): number {
  if (isAbsent(node)) return DEFAULT_DNS.refreshHours;
  if (node.kind === 'integer' && node.value >= 1n && node.value <= 576n) return Number(node.value);
  warnings.add('dns.refresh_hours', 'expected a whole number of hours from 1 to 576; it is ignored');
  return DEFAULT_DNS.refreshHours;
}

function readCustomDomains(node: ValueNode | undefined, warnings: Warnings): ReadonlyMap<string, string> {
  const place = 'dns.custom_domains';
  const domains = new Map<string, string>();
  if (!isObjectHere(node, place, warnings)) return domains;
  for (const { name, value } of node.members) {
    const entry = `${place}[${JSON.stringify(name)}]`;
    if (value.kind !== 'string') warnings.add(entry, 'expected a string; it is ignored');
    else if (isIP(value.value) === 0) warnings.add(entry, 'expected an IPv4 or IPv6 address; it is ignored');
    else domains.set(name, value.value);
  }
  return domains;
}

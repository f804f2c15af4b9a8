import { isIP } from 'node:net';
import { type BlockedAnswer, DEFAULT_DNS, type DnsConfig } from '../core/model.js';
import { isAbsent, isObjectHere, readBoolean, readPort, readString, readStrings, type Warnings } from './reading.js';
import type { Rendered } from './style.js';
import { memberOf, type ObjectNode, type ValueNode } from './tree.js';

/** The members of the `dns` object that the gateway knows, by the settings that they hold. */
export const DNS_MEMBERS: ReadonlyMap<keyof DnsConfig, string> = new Map<keyof DnsConfig, string>([
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

/** The `dns` member of a root, defaults where it has nothing usable. */
export function readDns(root: ObjectNode, warnings: Warnings): DnsConfig {
  const dns = memberOf(root, 'dns');
  if (!isObjectHere(dns, 'dns', warnings)) return DEFAULT_DNS;
  const urls = memberOf(dns, 'adblock_urls');
  return {
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
}

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

/** At most 24 days: a timer cannot wait for longer. */
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

/** One setting as it is written. */
export function renderDns<M extends keyof DnsConfig>(config: Pick<DnsConfig, M>, member: M): Rendered {
  return config[member];
}

/** True when a member of the file already says this; an absent one says the default. */
export function saysAlready(node: ValueNode | undefined, wanted: Rendered, fallback: Rendered): boolean {
  return isAbsent(node) ? sameRendered(fallback, wanted) : nodeSays(node, wanted);
}

function nodeSays(node: ValueNode, wanted: Rendered): boolean {
  if (wanted instanceof Map) return node.kind === 'object' && membersSay(node, wanted);
  if (isList(wanted)) {
    if (node.kind !== 'array' || node.elements.length !== wanted.length) return false;
    return node.elements.every((element, index) => nodeSays(element, wanted[index] ?? null));
  }
  if (typeof wanted === 'number') return node.kind === 'integer' && node.value === BigInt(wanted);
  return (node.kind === 'string' || node.kind === 'boolean' || node.kind === 'integer') && node.value === wanted;
}

function membersSay(node: ObjectNode, wanted: ReadonlyMap<string, Rendered>): boolean {
  const names = new Set(node.members.map(({ name }) => name));
  if (names.size !== wanted.size) return false;
  return [...wanted].every(([name, value]) => {
    const member = memberOf(node, name);
    return member !== undefined && nodeSays(member, value);
  });
}

/** Compares settings; the order of a map's entries says nothing. */
function sameRendered(a: Rendered, b: Rendered): boolean {
  if (a instanceof Map && b instanceof Map) {
    return (
      a.size === b.size && [...a].every(([name, value]) => b.has(name) && sameRendered(value, b.get(name) ?? null))
    );
  }
  if (isList(a) && isList(b)) {
    return a.length === b.length && a.every((value, index) => sameRendered(value, b[index] ?? null));
  }
  return a === b;
}

/** `Array.isArray` does not narrow a readonly array. */
function isList(value: Rendered): value is readonly Rendered[] {
  return Array.isArray(value);
}

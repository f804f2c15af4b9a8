import { DomainError } from '../core/errors.js';
import type { DnsExplanation, DnsFigures, DnsLogEntry, ResolverSettings } from '../core/model.js';
import type { Encodable } from '../wire/json/write-json.js';

/** Returns the figures in the form of the newer DNS endpoints. */
export function dnsStats(figures: DnsFigures): Encodable {
  return {
    enabled: figures.enabled,
    since_seconds: figures.since,
    total: figures.total,
    blocked: figures.blocked,
    rewritten: figures.rewritten,
    cached: figures.cached,
    failed: figures.failed,
    avg_upstream_ms: figures.averageUpstream === null ? null : Math.round(figures.averageUpstream),
    rules: figures.lists.reduce((sum, { rules }) => sum + rules, 0),
    lists: figures.lists.map((list) => ({ ...list })),
    upstreams: figures.upstreams,
    top_domains: figures.topNames,
    top_blocked: figures.topBlocked,
    top_clients: figures.topClients,
  };
}

export function dnsLogEntry({ type, elapsed, ...entry }: DnsLogEntry): Encodable {
  const { time, client, name, outcome } = entry;
  return { time, client, name, qtype: type, outcome, ...decidedBy(entry), elapsed_ms: Math.round(elapsed) };
}

export function dnsExplanation({ name, outcome, detail, ...by }: DnsExplanation): Encodable {
  return { name, outcome, detail, ...decidedBy({ ...by, upstream: null }) };
}

/** Returns the parts that are known. */
function decidedBy(parts: Pick<DnsLogEntry, 'rule' | 'source' | 'upstream'>): { readonly [name: string]: Encodable } {
  const { rule, source, upstream } = parts;
  return Object.fromEntries(Object.entries({ rule, source, upstream }).filter(([, value]) => value !== null));
}

/** Throws `invalidBody` if the change switches on a feature that Keyway lacks; one that is already on may stay. */
export function refuseUnserved(wanted: ResolverSettings, present: ResolverSettings): void {
  if (wanted.safeSearch && !present.safeSearch)
    throw new DomainError('invalidBody', 'dns.safe_search: Keyway does not do this');
  const added = wanted.blockedServices.filter((id) => !present.blockedServices.includes(id));
  if (added.length > 0)
    throw new DomainError('invalidBody', `dns.blocked_services: Keyway does not block services: ${added.join(', ')}`);
}

/** Lists that a panel offers: id, name and URL. */
export const LIST_PRESETS: readonly (readonly [id: string, name: string, url: string])[] = [
  ['adguard', 'AdGuard DNS filter', 'https://adguardteam.github.io/AdGuardSDNSFilter/Filters/filter.txt'],
  ['adaway', 'AdAway default blocklist', 'https://adaway.org/hosts.txt'],
  ['stevenblack', "Steven Black's unified hosts", 'https://raw.githubusercontent.com/StevenBlack/hosts/master/hosts'],
  ['oisd-small', 'OISD small', 'https://small.oisd.nl/'],
  ['hagezi-light', 'HaGeZi Light', 'https://raw.githubusercontent.com/hagezi/dns-blocklists/main/adblock/light.txt'],
];

import { isIP } from 'node:net';
import {
  DEFAULT_DNS,
  type DnsChange,
  type DnsConfig,
  type DnsList,
  type DnsRewrite,
  type ResolverSettings,
} from './model.js';

/** The defaults of the form of 0.4.6, which servers take for members that a file in that form lacks. */
export const DEFAULT_RESOLVER: ResolverSettings = {
  upstreams: ['https://cloudflare-dns.com/dns-query', 'https://dns.google/dns-query'],
  upstreamMode: 'fallback',
  cacheSize: 10_000n,
  cacheMinTtl: 60,
  cacheMaxTtl: 86_400,
  blockingMode: 'nxdomain',
  blockedTtl: 300,
  lists: [
    {
      name: 'AdGuard DNS filter',
      url: 'https://adguardteam.github.io/AdGuardSDNSFilter/Filters/filter.txt',
      enabled: true,
    },
  ],
  allowlists: [],
  updateIntervalHours: 24,
  userRules: [],
  rewrites: [],
  safeSearch: false,
  blockDohBypass: true,
  blockedServices: [],
  queryLogSize: 1000n,
};

/** The members of the older forms for which the form of 0.4.6 has others. */
export type OlderMember = (typeof OLDER_MEMBERS)[number];

export const OLDER_MEMBERS = ['dohUpstream', 'adblockUrls', 'customDomains', 'blockedAnswer', 'refreshHours'] as const;

/** The settings that count where they have the older form, besides what that says. */
const OF_OLDER_FORM = {
  cacheSize: 50_000n,
  cacheMinTtl: 0,
  cacheMaxTtl: 86_400,
  blockedTtl: 60,
  blockDohBypass: false,
} as const;

/** The settings that are in force, in the form of 0.4.6: those of the older form as servers before 0.4.6 go by them. */
export function resolverSettings(dns: DnsConfig): ResolverSettings {
  if (dns.resolver !== null) return dns.resolver;
  const { dohUpstream, adblockUrls, customDomains, blockedAnswer, refreshHours } = dns;
  return {
    ...DEFAULT_RESOLVER,
    ...OF_OLDER_FORM,
    upstreams: dohUpstream === '' ? [] : [dohUpstream],
    lists: adblockUrls.map(namedList),
    rewrites: rewritesOf(customDomains),
    blockingMode: blockedAnswer === 'zero' ? 'null_ip' : 'nxdomain',
    updateIntervalHours: refreshHours,
  };
}

/** The settings as servers from 0.4.6 on read them: those of the older form join the defaults of the newer one. */
export function engineSettings(dns: DnsConfig): ResolverSettings {
  const { resolver, blockedAnswer, refreshHours } = dns;
  if (resolver !== null) return resolver;
  const defaults: ResolverSettings = {
    ...DEFAULT_RESOLVER,
    blockingMode: blockedAnswer === 'zero' ? 'null_ip' : 'nxdomain',
    updateIntervalHours: refreshHours,
  };
  return foldedIn(defaults, dns);
}

/** The same settings as the older forms say them; what those cannot say is left out. */
export function olderMembers(dns: DnsConfig): Pick<DnsConfig, OlderMember> {
  const { resolver } = dns;
  if (resolver === null) return dns;
  const { upstreams, lists, rewrites, blockingMode, updateIntervalHours } = resolver;
  return {
    dohUpstream: upstreams[0] ?? DEFAULT_DNS.dohUpstream,
    adblockUrls: lists.filter(({ enabled }) => enabled).map(({ url }) => url),
    customDomains: new Map(rewrites.filter(hasAddress).map(({ domain, answer }) => [domain, answer])),
    blockedAnswer: blockingMode === 'null_ip' ? 'zero' : 'nxdomain',
    refreshHours: updateIntervalHours,
  };
}

/**
 * A change in the form that the settings have: one of an older form becomes one of their `resolver`. What it says as that form shows
 * it now stays as it is, with all that the form cannot say.
 */
export function inFormOf({ resolver }: Pick<DnsConfig, 'resolver'>, change: DnsChange): DnsChange {
  if (resolver === null || change.resolver !== undefined) return change;
  // What stays as it is here may be another by the time this is written.
  if (OLDER_MEMBERS.every((member) => change[member] === undefined)) return change;
  const { dohUpstream, adblockUrls, customDomains, blockedAnswer, refreshHours, ...others } = change;
  const shown = olderMembers({ ...DEFAULT_DNS, resolver });
  const { upstreams, lists, rewrites } = resolver;
  const isOther = <T>(given: T | undefined, now: T): given is T => given !== undefined && given !== now;
  const changed: ResolverSettings = {
    ...resolver,
    ...(isOther(dohUpstream, shown.dohUpstream) && { upstreams: withUpstream(upstreams, dohUpstream) }),
    ...(adblockUrls !== undefined && { lists: withLists(lists, adblockUrls) }),
    ...(customDomains !== undefined && { rewrites: withDomains(rewrites, customDomains) }),
    ...(isOther(blockedAnswer, shown.blockedAnswer) && {
      blockingMode: blockedAnswer === 'zero' ? 'null_ip' : 'nxdomain',
    }),
    ...(refreshHours !== undefined && { updateIntervalHours: refreshHours }),
  };
  return { ...others, resolver: changed };
}

/** Settings that a file has in both forms, as servers of 0.4.6 read them: the older members join the others. */
export function foldedIn(settings: ResolverSettings, older: Partial<Pick<DnsConfig, OlderMember>>): ResolverSettings {
  const { upstreams, lists, rewrites } = settings;
  const { dohUpstream = '', adblockUrls = [], customDomains = new Map() } = older;
  const known = new Set(lists.map(({ url }) => url));
  const answered = new Set(rewrites.map(({ domain }) => domain));
  return {
    ...settings,
    upstreams: dohUpstream === '' || upstreams.includes(dohUpstream) ? upstreams : [dohUpstream, ...upstreams],
    lists: [...lists, ...[...new Set(adblockUrls)].filter((url) => !known.has(url)).map(namedList)],
    rewrites: [...rewrites, ...rewritesOf(customDomains).filter(({ domain }) => !answered.has(domain))],
  };
}

/**
 * Switches lists by their URLs, which needs one where it is not there. The older forms know only lists that are on: one that is
 * switched off leaves them.
 */
export function switchLists({ resolver, adblockUrls }: DnsConfig, wanted: ReadonlyMap<string, boolean>): DnsChange {
  const missing = (urls: readonly string[]) => {
    const present = new Set(urls);
    return [...wanted].flatMap(([url, isOn]) => (isOn && !present.has(url) ? [url] : []));
  };
  if (resolver === null) {
    const kept = adblockUrls.filter((url) => wanted.get(url) !== false);
    return { adblockUrls: [...kept, ...missing(kept)] };
  }
  const { lists, allowlists } = resolver;
  const switched = (list: DnsList): DnsList => ({ ...list, enabled: wanted.get(list.url) ?? list.enabled });
  const added = missing([...lists, ...allowlists].map(({ url }) => url)).map(namedList);
  return {
    resolver: { ...resolver, lists: [...lists.map(switched), ...added], allowlists: allowlists.map(switched) },
  };
}

function namedList(url: string): DnsList {
  return { name: url, url, enabled: true };
}

function rewritesOf(domains: ReadonlyMap<string, string>): readonly DnsRewrite[] {
  return [...domains].map(([domain, answer]) => ({ domain, answer }));
}

function hasAddress({ answer }: DnsRewrite): boolean {
  return isIP(answer) !== 0;
}

/** The older forms know one upstream, which is the first. */
function withUpstream([, ...others]: readonly string[], wanted: string): readonly string[] {
  return [wanted, ...others.filter((upstream) => upstream !== wanted)];
}

/**
 * Lists that are on go unless they are wanted, and keep their names; those that are off stay so, unless their address is wanted and no
 * list with it is on.
 */
function withLists(lists: readonly DnsList[], wanted: readonly string[]): readonly DnsList[] {
  const all = new Set(wanted);
  const missing = new Set(wanted);
  for (const { url, enabled } of lists) if (enabled) missing.delete(url);
  const kept = lists.flatMap((list) => {
    if (list.enabled) return all.has(list.url) ? [list] : [];
    return [missing.delete(list.url) ? { ...list, enabled: true } : list];
  });
  return [...kept, ...[...missing].map(namedList)];
}

/** Changes the last address of each name, the one that the older forms show; keeps the other addresses and the aliases. */
function withDomains(rewrites: readonly DnsRewrite[], wanted: ReadonlyMap<string, string>): readonly DnsRewrite[] {
  const shown = new Map(rewrites.flatMap((rewrite, place) => (hasAddress(rewrite) ? [[rewrite.domain, place]] : [])));
  const kept = rewrites.flatMap((rewrite, place) => {
    if (shown.get(rewrite.domain) !== place) return [rewrite];
    const answer = wanted.get(rewrite.domain);
    return answer === undefined ? [] : [answer === rewrite.answer ? rewrite : { ...rewrite, answer }];
  });
  return [...kept, ...rewritesOf(wanted).filter(({ domain }) => !shown.has(domain))];
}

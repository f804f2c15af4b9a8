import type { DnsExplanation, ResolverSettings } from '../core/model.js';
import { isAddress } from '../wire/dns-values.js';
import type { Blocklist } from './blocklist.js';
import { type LineReader, readLineOfAnEngine, readOlderLine } from './line-rules.js';
import { canonicalAddress, createOwnNames, plainName } from './own-names.js';

/** The decision on a question, made before any upstream is asked. */
export interface Decision extends Pick<DnsExplanation, 'outcome' | 'rule' | 'source'> {
  readonly detail: string;
  /** The addresses of an own name, or the name that it is an alias of. */
  readonly targets: readonly string[];
  /** The rule as logged. */
  readonly logged: string | null;
  /** True for a blocked name that does not exist, whatever the answer for blocked names is. */
  readonly isNameless: boolean;
}

const OPEN: Decision = {
  outcome: 'allowed',
  detail: 'no rule matches: resolved upstream',
  rule: null,
  source: null,
  targets: [],
  logged: null,
  isNameless: false,
};

/** A name in the servers' own zone, which exists nowhere else. */
const OWN_ZONE: Decision = {
  ...OPEN,
  outcome: 'blocked',
  detail: 'a .ostp name without a rewrite: NXDOMAIN, never sent upstream',
  logged: '.ostp without a rewrite',
  isNameless: true,
};

const BROWSERS_OWN: Decision = {
  ...OPEN,
  outcome: 'blocked',
  detail: "a browser's own DNS over HTTPS: blocked so queries stay here",
  source: 'built-in',
  logged: 'browser DNS over HTTPS',
  isNameless: true,
};

/** Names by which browsers ask whether to use their own DNS over HTTPS, and names of those servers. */
const BROWSERS_SERVERS: ReadonlySet<string> = new Set([
  'use-application-dns.net',
  'dns.google',
  'dns.google.com',
  'cloudflare-dns.com',
  'mozilla.cloudflare-dns.com',
  'chrome.cloudflare-dns.com',
  'one.one.one.one',
  '1dot1dot1dot1.cloudflare-dns.com',
  'dns.quad9.net',
  'dns9.quad9.net',
  'doh.opendns.com',
  'doh.cleanbrowsing.org',
  'dns.adguard-dns.com',
  'dns.adguard.com',
  'doh.dns.sb',
  'dns.nextdns.io',
  'doh.mullvad.net',
  'common.dot.dns.yandex.net',
]);

/** How the servers of a family of lines understand lists, rules and own names. */
export interface Dialect {
  readonly readLine: LineReader;
  /** True if every own name that fits answers, rather than the nearest alone. */
  readonly takesAllOwnNames: boolean;
  /** True if names below `.ostp` belong to the servers. */
  readonly hasOwnZone: boolean;
  /** True if an alias of a blocked name is blocked. */
  readonly looksAtAliases: boolean;
}

/** Keyway's own rules for lines before 0.4.6, of whose servers little is known here. */
export const OLDER_DIALECT: Dialect = {
  readLine: readOlderLine,
  takesAllOwnNames: false,
  hasOwnZone: false,
  looksAtAliases: false,
};

export const DIALECT_OF_AN_ENGINE: Dialect = {
  readLine: readLineOfAnEngine,
  takesAllOwnNames: true,
  hasOwnZone: true,
  looksAtAliases: true,
};

/** Decides about names by the present settings and lists. */
export type Policy = ReturnType<typeof createPolicy>;

export function createPolicy(settings: ResolverSettings, blocklist: () => Blocklist, dialect: Dialect) {
  const own = createOwnNames(settings.rewrites, dialect.takesAllOwnNames);

  function decide(name: string): Decision {
    const lists = blocklist();
    const named = own.targets(name);
    const targets = named.length > 0 ? named : lists.addresses(name).map(canonicalAddress);
    if (targets.length > 0)
      return { ...OPEN, outcome: 'rewritten', detail: `answered locally: ${targets.join(', ')}`, targets };
    if (dialect.hasOwnZone && (name === 'ostp' || name.endsWith('.ostp'))) return OWN_ZONE;
    if (settings.blockDohBypass && BROWSERS_SERVERS.has(name)) return BROWSERS_OWN;
    const verdict = lists.verdict(name);
    if (verdict === null) return OPEN;
    const { isBlocked, rule, source } = verdict;
    if (isBlocked) return { ...OPEN, outcome: 'blocked', detail: 'blocked by a rule', rule, source, logged: rule };
    return { ...OPEN, detail: 'allowed by an exception', rule, source };
  }

  return {
    decide,
    looksAtAliases: dialect.looksAtAliases,
    /** Decides about an answer by the aliases in it; null if none of them is blocked. */
    decideAnswer(aliases: readonly string[]): Decision | null {
      for (const alias of aliases) {
        const decision = blocklist().verdict(alias);
        if (decision?.isBlocked !== true) continue;
        const { rule, source } = decision;
        return { ...OPEN, outcome: 'blocked', rule, source, logged: `${rule} (CNAME ${alias})` };
      }
      return null;
    },
    explain(text: string): DnsExplanation {
      const name = plainName(text);
      const { outcome, detail, rule, source } = decide(name);
      return { name, outcome, detail, rule, source };
    },
    address: own.address,
    ignored: own.ignored,
  };
}

/** Returns the addresses among the targets of an own name. */
export function addressesOf(targets: readonly string[]): readonly string[] {
  return targets.filter(isAddress);
}

import { isIP } from 'node:net';

/** The DNS settings of servers from 0.4.6 on, as they stand in a body and in the file. */
export interface DnsSettings {
  readonly enabled: boolean;
  readonly intercept_all_port53: boolean;
  readonly upstreams: string[];
  readonly upstream_mode: string;
  readonly cache_size: bigint;
  readonly cache_min_ttl: bigint;
  readonly cache_max_ttl: bigint;
  readonly blocking_mode: string;
  readonly blocked_ttl: bigint;
  readonly lists: { readonly name: string; readonly url: string; readonly enabled?: boolean }[];
  readonly allowlists: { readonly name: string; readonly url: string; readonly enabled?: boolean }[];
  readonly update_interval_hours: bigint;
  readonly user_rules: string[];
  readonly rewrites: { readonly domain: string; readonly answer: string }[];
  readonly safe_search: boolean;
  readonly block_doh_bypass: boolean;
  readonly blocked_services: string[];
  readonly query_log_size: bigint;
}

type Preset = readonly [id: string, name: string, url: string];

export const PRESETS: readonly [Preset, ...Preset[]] = [
  ['adguard', 'AdGuard DNS filter', 'https://adguardteam.github.io/AdGuardSDNSFilter/Filters/filter.txt'],
  ['adaway', 'AdAway default blocklist', 'https://adaway.org/hosts.txt'],
  ['stevenblack', "Steven Black's unified hosts", 'https://raw.githubusercontent.com/StevenBlack/hosts/master/hosts'],
  ['oisd-small', 'OISD small', 'https://small.oisd.nl/'],
  ['hagezi-light', 'HaGeZi Light', 'https://raw.githubusercontent.com/hagezi/dns-blocklists/main/adblock/light.txt'],
];

interface OlderMembers {
  readonly doh_upstream?: string | null;
  readonly adblock_urls?: readonly string[] | null;
  readonly custom_domains?: Readonly<Record<string, string>> | null;
}

/** What members of older forms say joins the others. */
export function foldOlder(settings: DnsSettings, older: OlderMembers): DnsSettings {
  const folded = { ...settings, upstreams: [...settings.upstreams], lists: [...settings.lists] };
  const rewrites = [...settings.rewrites];
  if (older.doh_upstream && !folded.upstreams.includes(older.doh_upstream))
    folded.upstreams.unshift(older.doh_upstream);
  for (const url of older.adblock_urls ?? [])
    if (!folded.lists.some((list) => list.url === url)) folded.lists.push({ name: url, url, enabled: true });
  for (const [domain, answer] of Object.entries(older.custom_domains ?? {}))
    if (!rewrites.some((rewrite) => rewrite.domain === domain)) rewrites.push({ domain, answer });
  return { ...folded, rewrites };
}

/** Why a text is no resolver to ask, or null. */
export function upstreamRefusal(given: string): string | null {
  const text = given.trim();
  if (text.startsWith('https://')) return null;
  if (text.startsWith('tls://')) return text.replace(/\/+$/, '') === 'tls:' ? `"${text}": no host` : null;
  const rest = text.replace(/^(?:tcp|udp):\/\//, '');
  if (addressOf(rest) !== null) return null;
  const why = `"${rest}" is not an IP address (with an optional port)`;
  if (text.startsWith('tcp://')) return why;
  return `upstream "${text}": use https://host/dns-query, tls://host, tcp://ip, udp://ip or a bare IP: ${why}`;
}

/** How the figures call a resolver. */
export function upstreamLabel(given: string): string {
  const text = given.trim();
  if (text.startsWith('https://')) return text;
  if (text.startsWith('tls://')) return /:\d+$/.test(text) ? text : `${text}:853`;
  return `${text.startsWith('tcp://') ? 'tcp' : 'udp'}://${addressOf(text.replace(/^(?:tcp|udp):\/\//, ''))}`;
}

function addressOf(text: string): string | null {
  const bare = text.replace(/^\[|\]$/g, '');
  if (isIP(bare) === 4) return `${bare}:53`;
  if (isIP(bare) === 6) return `[${bare}]:53`;
  const [, host = ''] = /^(.*):\d+$/.exec(text) ?? [];
  return isIP(host) === 4 || (host.startsWith('[') && isIP(host.slice(1, -1)) === 6) ? text : null;
}

const HANDS_OFF = ['localhost', 'localhost.localdomain', 'local', 'broadcasthost', 'ip6-localhost', 'ip6-loopback'];

/** Of the names that belong to browsers' own DNS, those that tests ask for. */
const BROWSERS_OWN = ['use-application-dns.net', 'dns.google', 'cloudflare-dns.com'];

interface Rule {
  readonly isAllowing: boolean;
  readonly isImportant: boolean;
  readonly isExact: boolean;
  readonly pattern: string;
}

/** A line: rules, addresses of names, nothing that counts (a comment), or what is not supported. */
type Line =
  | 'comment'
  | 'unsupported'
  | { readonly rules: readonly Rule[]; readonly hosts: readonly [string, string][] };

function readLine(given: string): Line {
  const text = given.trim();
  if (text === '' || /^[!#[]/.test(text) || /##|#@#|#\?#|#\$#/.test(text)) return 'comment';
  const [line = ''] = text.split(' #');
  const [address = '', ...names] = line.trim().split(/\s+/);
  if (isIP(address) !== 0) return hostsLine(address, names);
  const isAllowing = line.startsWith('@@');
  const [body = '', ...modifiers] = (isAllowing ? line.slice(2) : line).trim().split('$');
  const isImportant = modifiers.length > 0;
  if (
    isImportant &&
    !modifiers
      .join('$')
      .split(',')
      .every((each) => each.trim() === 'important')
  )
    return 'unsupported';
  const lower = body.toLowerCase();
  const isExact = /^\|(?!\|)/.test(lower);
  const pattern = lower
    .replace(/^\|\|?/, '')
    .replace(/\|*$/, '')
    .replace(/\^*$/, '');
  const isName = /^[a-z0-9_*-][a-z0-9._*-]*$/.test(pattern) && (pattern.includes('*') || pattern.includes('.'));
  if (!isName || (pattern.endsWith('.') && !pattern.includes('*'))) return 'unsupported';
  return { rules: [{ isAllowing, isImportant: isImportant && !isAllowing, isExact, pattern }], hosts: [] };
}

function hostsLine(address: string, names: readonly string[]): Line {
  const wanted = names.map((name) => name.toLowerCase()).filter((name) => !HANDS_OFF.includes(name));
  if (wanted.length === 0) return 'comment';
  // A single label is no name, but the line counts.
  const named = wanted.filter((name) => name.includes('.'));
  const isNowhere = /^(?:0\.0\.0\.0|127\..*|::1?)$/.test(address);
  const rule = (pattern: string): Rule => ({ isAllowing: false, isImportant: false, isExact: true, pattern });
  return {
    rules: isNowhere ? named.map(rule) : [],
    hosts: isNowhere ? [] : named.map((name) => [name, address]),
  };
}

export function countRules(lines: readonly string[]): { readonly rules: bigint; readonly unsupported: bigint } {
  const read = lines.map(readLine);
  const unsupported = read.filter((line) => line === 'unsupported').length;
  return {
    rules: BigInt(read.filter((line) => line !== 'comment').length - unsupported),
    unsupported: BigInt(unsupported),
  };
}

function matches({ isExact, pattern }: Rule, name: string): boolean {
  const source = pattern.replaceAll('.', '\\.').replaceAll('*', '.*');
  return new RegExp(`^${isExact ? '' : '(?:.*\\.)?'}${source}$`).test(name);
}

/** Of rules that match: one of the very name, else of the nearest above it, else the first pattern. */
function nearest(rules: readonly Rule[]): Rule | undefined {
  const plain = rules.filter(({ pattern }) => !pattern.includes('*'));
  const above = plain.filter(({ isExact }) => !isExact).sort((a, b) => b.pattern.length - a.pattern.length);
  return plain.find(({ isExact }) => isExact) ?? above[0] ?? rules[0];
}

/** What would become of a question for a name. */
export function explain(settings: DnsSettings, asked: string) {
  const name = asked.trim().replace(/\.+$/, '').toLowerCase();
  const lines = settings.user_rules.map(readLine).filter((line) => typeof line !== 'string');
  const own = settings.rewrites.filter(({ domain }) =>
    domain.startsWith('*.') ? name.endsWith(domain.slice(1)) : domain.toLowerCase() === name,
  );
  const hosts = lines.flatMap((line) => line.hosts).filter(([host]) => host === name);
  const answers = own.length > 0 ? own.map(({ answer }) => answer) : hosts.map(([, address]) => address);
  if (answers.length > 0) return { name, outcome: 'rewritten', detail: `answered locally: ${answers.join(', ')}` };
  if (name === 'ostp' || name.endsWith('.ostp')) {
    return { name, outcome: 'blocked', detail: 'a .ostp name without a rewrite: NXDOMAIN, never sent upstream' };
  }
  if (settings.block_doh_bypass && BROWSERS_OWN.includes(name)) {
    const detail = "a browser's own DNS over HTTPS: blocked so queries stay here";
    return { name, outcome: 'blocked', detail, source: 'built-in' };
  }
  const rules = lines.flatMap((line) => line.rules).filter((each) => matches(each, name));
  const rule =
    nearest(rules.filter((each) => each.isImportant)) ??
    nearest(rules.filter((each) => each.isAllowing)) ??
    nearest(rules);
  if (rule === undefined) return { name, outcome: 'allowed', detail: 'no rule matches: resolved upstream' };
  const text = `${rule.isAllowing ? '@@' : ''}${rule.isExact ? '|' : '||'}${rule.pattern}^${rule.isImportant ? '$important' : ''}`;
  return {
    name,
    outcome: rule.isAllowing ? 'allowed' : 'blocked',
    detail: rule.isAllowing ? 'allowed by an exception' : 'blocked by a rule',
    rule: text,
    source: 'user rules',
  };
}

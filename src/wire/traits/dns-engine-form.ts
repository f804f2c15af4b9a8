import type { Static, TSchema } from 'typebox';
import { DEFAULT_RESOLVER, engineSettings, foldedIn } from '../../core/dns-settings.js';
import { DomainError } from '../../core/errors.js';
import type { DnsChange, DnsConfig, DnsList, DnsRewrite, ResolverSettings } from '../../core/model.js';
import { SERVICES, upstreamFault } from '../dns-values.js';
import type { Encodable } from '../json/write-json.js';
import { flag, object, optional, text, texts, textsByName, u64 } from '../schemas.js';
import { Type } from '../typebox.js';

/** A revision's form of the DNS settings that replace the whole `dns` object (design: "DNS settings"). */
export interface DnsEngineForm {
  readonly name: string;
  readonly body: TSchema;
  readonly answer: TSchema;
  encode(dns: DnsConfig): Encodable;
  /** Reads the settings; an absent member becomes its default. Throws `invalidBody` in the servers' words. */
  decode(wire: WireDnsSettings): DnsChange & { readonly resolver: ResolverSettings };
}

const MOST_U32 = 2n ** 32n - 1n;
const u32 = (description: string) =>
  Type.BigInt({ minimum: 0n, maximum: MOST_U32, expected: `an integer from 0 to ${MOST_U32}`, description });
const switched = (description: string) => Type.Optional(flag(description));
const list = Type.Object({ name: text('Name.'), url: text('URL.'), enabled: flag('Whether it is used.') });
const givenLists = (description: string) =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          name: text('Name.'),
          url: text('URL.'),
          enabled: switched('Whether it is used; absent means true.'),
        },
        { fewestElements: 2 },
      ),
      { expected: 'an array of objects with name and url', description },
    ),
  );
const rewrite = Type.Object({ domain: text('The name.'), answer: text('Its address or name.') });
const MODE = Type.Union([Type.Literal('fallback'), Type.Literal('parallel')], {
  expected: '"fallback" or "parallel"',
  description: 'One after the other, or all at once.',
});
const BLOCKING = Type.Union([Type.Literal('nxdomain'), Type.Literal('null_ip'), Type.Literal('refused')], {
  expected: '"nxdomain", "null_ip" or "refused"',
  description: 'The answer for a blocked name.',
});

const BODY = object(
  {
    enabled: switched('Whether the resolver runs and is announced in share links.'),
    intercept_all_port53: switched('Kept in the file.'),
    upstreams: Type.Optional(texts('Resolvers to ask.')),
    upstream_mode: Type.Optional(MODE),
    cache_size: Type.Optional(u64('Answers that are kept.')),
    cache_min_ttl: Type.Optional(u32('Seconds for which an answer is kept at least.')),
    cache_max_ttl: Type.Optional(u32('Seconds for which an answer is kept at most.')),
    blocking_mode: Type.Optional(BLOCKING),
    blocked_ttl: Type.Optional(u32('Seconds for which clients may keep it.')),
    lists: givenLists('Lists of names to block.'),
    allowlists: givenLists('Lists of names that are never blocked.'),
    update_interval_hours: Type.Optional(u32('Hours after which lists are fetched again.')),
    user_rules: Type.Optional(texts('Rules of one’s own, such as `||example.org^`.')),
    rewrites: Type.Optional(
      Type.Array(rewrite, { expected: 'an array of objects with domain and answer', description: 'Own names.' }),
    ),
    safe_search: switched('Kept in the file.'),
    block_doh_bypass: switched('Whether browsers are kept from their own DNS over HTTPS.'),
    blocked_services: Type.Optional(texts('Services that are blocked as a whole, by their ids.')),
    query_log_size: Type.Optional(u64('Questions that are kept in the log.')),
    // The members of older forms, which are merged into the others.
    doh_upstream: optional(text('URL.'), 'a string or null', 'Put before the other upstreams.'),
    adblock_urls: optional(texts('URLs.'), 'an array of strings or null', 'Put behind the other lists.'),
    custom_domains: optional(
      textsByName('Address.'),
      'an object of strings, or null',
      'Put behind the other own names.',
    ),
    local_port: optional(Type.BigInt({ minimum: 0n, maximum: 65_535n }), 'a port or null', 'Passed over.'),
  },
  { fewestElements: 0 },
);

export type WireDnsSettings = Static<typeof BODY>;

const ANSWER = Type.Object({
  enabled: flag('Whether the resolver runs and is announced in share links.'),
  intercept_all_port53: flag('As it stands in the file.'),
  upstreams: texts('Resolvers to ask.'),
  upstream_mode: MODE,
  cache_size: u64('Answers that are kept.'),
  cache_min_ttl: u32('Seconds for which an answer is kept at least.'),
  cache_max_ttl: u32('Seconds for which an answer is kept at most.'),
  blocking_mode: BLOCKING,
  blocked_ttl: u32('Seconds for which clients may keep the answer for a blocked name.'),
  lists: Type.Array(list),
  allowlists: Type.Array(list),
  update_interval_hours: u32('Hours after which lists are fetched again.'),
  user_rules: texts('Rules of one’s own.'),
  rewrites: Type.Array(rewrite),
  safe_search: flag('As it stands in the file.'),
  block_doh_bypass: flag('Whether browsers are kept from their own DNS over HTTPS.'),
  blocked_services: texts('Services that are blocked as a whole, by their ids.'),
  query_log_size: u64('Questions that are kept in the log.'),
});

const encodeList = ({ name, url, enabled }: DnsList): Encodable => ({ name, url, enabled });
const encodeRewrite = ({ domain, answer }: DnsRewrite): Encodable => ({ domain, answer });
const decodeList = ({ name, url, enabled = true }: Omit<DnsList, 'enabled'> & { enabled?: boolean }): DnsList => ({
  name,
  url,
  enabled,
});
const numberOr = (given: bigint | undefined, otherwise: number): number =>
  given === undefined ? otherwise : Number(given);

/** All eighteen settings of 0.4.6, and the members of older forms that are merged into them. */
export const dnsSettingsOfAnEngine: DnsEngineForm = {
  name: 'whole settings',
  body: BODY,
  answer: ANSWER,
  encode(dns) {
    const settings = engineSettings(dns);
    return {
      enabled: dns.enabled,
      intercept_all_port53: dns.interceptAllPort53,
      upstreams: settings.upstreams,
      upstream_mode: settings.upstreamMode,
      cache_size: settings.cacheSize,
      cache_min_ttl: settings.cacheMinTtl,
      cache_max_ttl: settings.cacheMaxTtl,
      blocking_mode: settings.blockingMode,
      blocked_ttl: settings.blockedTtl,
      lists: settings.lists.map(encodeList),
      allowlists: settings.allowlists.map(encodeList),
      update_interval_hours: settings.updateIntervalHours,
      user_rules: settings.userRules,
      rewrites: settings.rewrites.map(encodeRewrite),
      safe_search: settings.safeSearch,
      block_doh_bypass: settings.blockDohBypass,
      blocked_services: settings.blockedServices,
      query_log_size: settings.queryLogSize,
    };
  },
  decode(wire) {
    const otherwise = DEFAULT_RESOLVER;
    const given: ResolverSettings = {
      upstreams: wire.upstreams ?? otherwise.upstreams,
      upstreamMode: wire.upstream_mode ?? otherwise.upstreamMode,
      cacheSize: wire.cache_size ?? otherwise.cacheSize,
      cacheMinTtl: numberOr(wire.cache_min_ttl, otherwise.cacheMinTtl),
      cacheMaxTtl: numberOr(wire.cache_max_ttl, otherwise.cacheMaxTtl),
      blockingMode: wire.blocking_mode ?? otherwise.blockingMode,
      blockedTtl: numberOr(wire.blocked_ttl, otherwise.blockedTtl),
      lists: wire.lists?.map(decodeList) ?? otherwise.lists,
      allowlists: wire.allowlists?.map(decodeList) ?? otherwise.allowlists,
      updateIntervalHours: numberOr(wire.update_interval_hours, otherwise.updateIntervalHours),
      userRules: wire.user_rules ?? otherwise.userRules,
      rewrites: wire.rewrites ?? otherwise.rewrites,
      safeSearch: wire.safe_search ?? otherwise.safeSearch,
      blockDohBypass: wire.block_doh_bypass ?? otherwise.blockDohBypass,
      blockedServices: wire.blocked_services ?? otherwise.blockedServices,
      queryLogSize: wire.query_log_size ?? otherwise.queryLogSize,
    };
    const resolver = foldedIn(given, {
      dohUpstream: wire.doh_upstream ?? '',
      adblockUrls: wire.adblock_urls ?? [],
      customDomains: new Map(Object.entries(wire.custom_domains ?? {})),
    });
    const { enabled = false, intercept_all_port53: interceptAllPort53 = false } = wire;
    check(resolver, enabled);
    return { enabled, interceptAllPort53, resolver };
  },
};

function check(
  { upstreams, rewrites, blockedServices, cacheMinTtl, cacheMaxTtl }: ResolverSettings,
  isEnabled: boolean,
): void {
  if (isEnabled && upstreams.length === 0) refuse('dns.upstreams must name at least one upstream resolver');
  for (const upstream of upstreams) {
    const fault = upstreamFault(upstream);
    if (fault !== null) refuse(fault);
  }
  if (rewrites.some(({ domain, answer }) => domain.trim() === '' || answer.trim() === ''))
    refuse('dns.rewrites entries need both a domain and an answer');
  const unknown = blockedServices.find((id) => !SERVICES.some(([known]) => known === id));
  if (unknown !== undefined) refuse(`dns.blocked_services: unknown service "${unknown}" (ostp dns service list)`);
  if (cacheMinTtl > cacheMaxTtl) refuse('dns.cache_min_ttl is larger than dns.cache_max_ttl');
}

function refuse(words: string): never {
  throw new DomainError('invalidBody', words);
}

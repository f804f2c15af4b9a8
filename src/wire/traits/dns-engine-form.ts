import type { Static, TSchema } from 'typebox';
import { DEFAULT_RESOLVER, resolverSettings } from '../../core/dns-settings.js';
import { DomainError } from '../../core/errors.js';
import type { DnsChange, DnsConfig, DnsList, DnsRewrite, ResolverSettings } from '../../core/model.js';
import { SERVICE_IDS, upstreamPlace } from '../dns-values.js';
import type { Encodable } from '../json/write-json.js';
import { flag, object, optional, text, texts } from '../schemas.js';
import { Type } from '../typebox.js';

/** A revision's form of the DNS settings that stand for the whole `dns` object (design: "DNS settings"). */
export interface DnsEngineForm {
  readonly name: string;
  readonly body: TSchema;
  readonly answer: TSchema;
  encode(dns: DnsConfig): Encodable;
  /** An absent member is its default. Throws `invalidBody` in the words of the servers. */
  decode(wire: WireDnsSettings): DnsChange & { readonly resolver: ResolverSettings };
}

const MOST = 2n ** 32n - 1n;
const number = (description: string) => Type.BigInt({ minimum: 0n, maximum: MOST, description });
const numberOrNull = (description: string) =>
  optional(number(description), `an integer from 0 to ${MOST}, or null`, description);
const flagOrNull = (description: string) => optional(flag('Flag.'), 'true, false or null', description);
const textsOrNull = (description: string) => optional(texts('Texts.'), 'an array of strings or null', description);
const list = Type.Object({ name: text('Name.'), url: text('URL.'), enabled: flag('Whether it is used.') });
const givenList = Type.Object({
  name: text('Name.'),
  url: text('URL.'),
  enabled: flagOrNull('Whether it is used; absent means true.'),
});
const rewrite = Type.Object({ domain: text('The name.'), answer: text('Its address or name.') });
const listsOrNull = (description: string) =>
  optional(Type.Array(givenList), 'an array of objects with name and url, or null', description);
const MODE = Type.Union([Type.Literal('fallback'), Type.Literal('parallel')]);
const BLOCKING = Type.Union([Type.Literal('nxdomain'), Type.Literal('null_ip'), Type.Literal('refused')]);

const BODY = object({
  enabled: flagOrNull('Whether the resolver runs and is announced in share links.'),
  intercept_all_port53: flagOrNull('Kept in the file.'),
  upstreams: textsOrNull('Resolvers to ask.'),
  upstream_mode: optional(MODE, '"fallback", "parallel" or null', 'One after the other, or all at once.'),
  cache_size: numberOrNull('Answers that are kept.'),
  cache_min_ttl: numberOrNull('Seconds for which an answer is kept at least.'),
  cache_max_ttl: numberOrNull('Seconds for which an answer is kept at most.'),
  blocking_mode: optional(BLOCKING, '"nxdomain", "null_ip", "refused" or null', 'The answer for a blocked name.'),
  blocked_ttl: numberOrNull('Seconds for which clients may keep it.'),
  lists: listsOrNull('Lists of names to block.'),
  allowlists: listsOrNull('Lists of names that are never blocked.'),
  update_interval_hours: numberOrNull('Hours after which lists are fetched again.'),
  user_rules: textsOrNull('Rules of one’s own, such as `||example.org^`.'),
  rewrites: optional(Type.Array(rewrite), 'an array of objects with domain and answer, or null', 'Own names.'),
  safe_search: flagOrNull('Kept in the file.'),
  block_doh_bypass: flagOrNull('Whether browsers are kept from their own DNS over HTTPS.'),
  blocked_services: textsOrNull('Services that are blocked as a whole, by their ids.'),
  query_log_size: numberOrNull('Questions that are kept in the log.'),
});

export type WireDnsSettings = Static<typeof BODY>;

const ANSWER = Type.Object({
  enabled: flag('Whether the resolver runs and is announced in share links.'),
  intercept_all_port53: flag('As it stands in the file.'),
  upstreams: texts('Resolvers to ask.'),
  upstream_mode: MODE,
  cache_size: number('Answers that are kept.'),
  cache_min_ttl: number('Seconds for which an answer is kept at least.'),
  cache_max_ttl: number('Seconds for which an answer is kept at most.'),
  blocking_mode: BLOCKING,
  blocked_ttl: number('Seconds for which clients may keep the answer for a blocked name.'),
  lists: Type.Array(list),
  allowlists: Type.Array(list),
  update_interval_hours: number('Hours after which lists are fetched again.'),
  user_rules: texts('Rules of one’s own.'),
  rewrites: Type.Array(rewrite),
  safe_search: flag('As it stands in the file.'),
  block_doh_bypass: flag('Whether browsers are kept from their own DNS over HTTPS.'),
  blocked_services: texts('Services that are blocked as a whole, by their ids.'),
  query_log_size: number('Questions that are kept in the log.'),
});

const encodeList = ({ name, url, enabled }: DnsList): Encodable => ({ name, url, enabled });
const encodeRewrite = ({ domain, answer }: DnsRewrite): Encodable => ({ domain, answer });
const decodeList = ({ name, url, enabled }: Static<typeof givenList>): DnsList => ({
  name,
  url,
  enabled: enabled ?? true,
});
const numberOr = (given: bigint | null | undefined, otherwise: number): number =>
  given == null ? otherwise : Number(given);

/** The settings of 0.4.6, all eighteen. */
export const dnsSettingsOfAnEngine: DnsEngineForm = {
  name: 'whole settings',
  body: BODY,
  answer: ANSWER,
  encode(dns) {
    const settings = resolverSettings(dns);
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
    const resolver: ResolverSettings = {
      upstreams: wire.upstreams ?? otherwise.upstreams,
      upstreamMode: wire.upstream_mode ?? otherwise.upstreamMode,
      cacheSize: numberOr(wire.cache_size, otherwise.cacheSize),
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
      queryLogSize: numberOr(wire.query_log_size, otherwise.queryLogSize),
    };
    check(resolver);
    return { enabled: wire.enabled ?? false, interceptAllPort53: wire.intercept_all_port53 ?? false, resolver };
  },
};

function check({ upstreams, rewrites, blockedServices, cacheMinTtl, cacheMaxTtl }: ResolverSettings): void {
  if (upstreams.length === 0) refuse('dns.upstreams must name at least one upstream resolver');
  const wrong = upstreams.find((upstream) => upstreamPlace(upstream) === null);
  if (wrong !== undefined) refuse(`dns.upstreams: "${wrong}" names no resolver`);
  if (rewrites.some(({ domain, answer }) => domain === '' || answer === ''))
    refuse('dns.rewrites entries need both a domain and an answer');
  const unknown = blockedServices.find((id) => !SERVICE_IDS.includes(id));
  if (unknown !== undefined) refuse(`dns.blocked_services: unknown service "${unknown}" (ostp dns service list)`);
  if (cacheMinTtl > cacheMaxTtl) refuse('dns.cache_min_ttl is larger than dns.cache_max_ttl');
}

function refuse(words: string): never {
  throw new DomainError('invalidBody', words);
}

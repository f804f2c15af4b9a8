import type { Static, TSchema } from 'typebox';
import { MAX_U64 } from '../core/model.js';
import { Type } from './typebox.js';

/**
 * The shapes of bodies and answers. They validate and they print the OpenAPI documents. `expected` completes the
 * sentence "member: expected …" of a refused body. Integers are bigint here; the documents call them integers.
 */
/** The bound is exclusive because the compiled validator rounds it to a double, which 2^64 survives and 2^64-1 does not. */
const u64 = (description: string) =>
  Type.BigInt({ minimum: 0n, exclusiveMaximum: MAX_U64 + 1n, expected: 'an unsigned 64-bit integer', description });

const text = (description: string) => Type.String({ expected: 'a string', description });

const flag = (description: string) => Type.Boolean({ expected: 'true or false', description });

/** Optional, where null is the same as absent (design: "Null for an optional member"). */
const optional = <S extends TSchema>(schema: S, expected: string, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { expected, description }));

const object = <P extends Record<string, TSchema>>(properties: P, options: { description?: string } = {}) =>
  Type.Object(properties, { expected: 'a JSON object', ...options });

const limitBytes = optional(
  u64('Bytes.'),
  'an unsigned 64-bit integer or null',
  'Traffic limit in bytes; null or absent means no limit.',
);
const name = optional(text('Text.'), 'a string or null', 'Display name; null or absent means none.');

export const CreateUserBody = object({
  access_key: optional(
    Type.String({ minLength: 1 }),
    'a string that is not empty, or null',
    'The key; when absent, 32 lowercase hexadecimal characters are generated.',
  ),
  name,
  limit_bytes: limitBytes,
});
export const BulkCreateBody = object({
  count: u64('How many keys to create, at most 1000.'),
  limit_bytes: limitBytes,
});
export const UpdateUserBody = object({ name, limit_bytes: limitBytes });
export const SetLimitBody = object({ limit_bytes: limitBytes });
export const LoginBody = object({
  username: text('The operator login name.'),
  password: optional(text('Text.'), 'a string or null', 'The operator password; absent counts as empty.'),
});
export const AddAuditBody = object({
  eventEn: text('Event text, first language.'),
  eventRu: text('Event text, second language.'),
  success: flag('Outcome.'),
});

const texts = (description: string) => Type.Array(text('Text.'), { expected: 'an array of strings', description });
const ACTION = 'one of "proxy", "direct", "block"';

export const OutboundRuleBody = Type.Object(
  {
    domain_suffix: optional(texts('Suffixes.'), 'an array of strings', 'Domain suffixes that the rule matches.'),
    ip_cidr: optional(texts('Networks.'), 'an array of strings', 'Networks that the rule matches, in CIDR notation.'),
    protocol: optional(text('Text.'), 'a string or null', 'Transport protocol that the rule matches; null for any.'),
    action: Type.Union([Type.Literal('proxy'), Type.Literal('direct'), Type.Literal('block')], {
      expected: ACTION,
      description: 'What happens to a connection that matches.',
    }),
  },
  { expected: 'an outbound rule (a JSON object)' },
);
export const PutRulesBody = Type.Array(OutboundRuleBody, {
  expected: 'a JSON array of outbound rules',
  description: 'The outbound rules, first match wins.',
});

const dnsMembers = {
  enabled: flag('Whether the DNS server runs and is announced in share links.'),
  doh_upstream: optional(text('URL.'), 'a string or null', 'DNS over HTTPS upstream; absent keeps the present one.'),
  adblock_urls: optional(texts('URLs.'), 'an array of strings or null', 'Blocklists; absent keeps the present ones.'),
  custom_domains: optional(
    Type.Record(Type.String(), text('Address.')),
    'an object of addresses by name, or null',
    'Name to IPv4 or IPv6 address; absent keeps the present ones.',
  ),
};
export const PutDnsBody = object(dnsMembers);
export const PutDnsWithListenerBody = object({
  ...dnsMembers,
  local_port: optional(
    Type.BigInt({ minimum: 1n, maximum: 65535n }),
    'a port from 1 to 65535, or null',
    'UDP and TCP port of the DNS server; absent keeps the present one.',
  ),
  intercept_all_port53: optional(
    flag('Flag.'),
    'true, false or null',
    'Kept in the file; absent keeps the present one.',
  ),
});

export type CreateUser = Static<typeof CreateUserBody>;
export type WireOutboundRule = Static<typeof OutboundRuleBody>;
export type WireDnsChange = Static<typeof PutDnsWithListenerBody>;

import type { Static, TSchema } from 'typebox';
import { olderMembers } from '../../core/dns-settings.js';
import type { DnsChange, DnsConfig } from '../../core/model.js';
import { checkCustomDomains, checkListUrls, checkUpstream } from '../dns-values.js';
import type { Encodable } from '../json/write-json.js';
import { flag, object, optional, text, texts, textsByName } from '../schemas.js';
import { Type } from '../typebox.js';

/** A revision's form of the DNS configuration object (design: "DNS settings"). */
export interface DnsForm {
  readonly name: string;
  /** The schemas of a body and of an answer. */
  readonly schema: TSchema;
  encode(dns: DnsConfig): Encodable;
  /**
   * Reads a change; an absent member keeps its present value. Throws `invalidBody`, which names the place, for a
   * meaningless value.
   */
  decode(wire: WireDnsChange): DnsChange;
  /** Does the same for a server's own answer, without judging it. */
  read(wire: WireDnsChange): DnsChange;
}

const fourMembers = {
  enabled: flag('Whether the DNS server runs and is announced in share links.'),
  doh_upstream: optional(text('URL.'), 'a string or null', 'DNS over HTTPS upstream; absent keeps the present one.'),
  adblock_urls: optional(texts('URLs.'), 'an array of strings or null', 'Blocklists; absent keeps the present ones.'),
  custom_domains: optional(
    textsByName('Address.'),
    'an object of addresses by name, or null',
    'Name to IPv4 or IPv6 address; absent keeps the present ones.',
  ),
};
const sixMembers = object({
  ...fourMembers,
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

export type WireDnsChange = Static<typeof sixMembers>;

function encodeFour(dns: DnsConfig) {
  const { dohUpstream, adblockUrls, customDomains } = olderMembers(dns);
  return {
    enabled: dns.enabled,
    doh_upstream: dohUpstream,
    adblock_urls: adblockUrls,
    custom_domains: customDomains,
  };
}

function check(wire: WireDnsChange): void {
  if (isGiven(wire.doh_upstream)) checkUpstream(wire.doh_upstream);
  if (isGiven(wire.adblock_urls)) checkListUrls(wire.adblock_urls);
  if (isGiven(wire.custom_domains)) checkCustomDomains(wire.custom_domains);
}

/** Wraps a reader so that it refuses meaningless settings. */
const checking = (read: DnsForm['read']): DnsForm['decode'] => {
  return (wire) => {
    check(wire);
    return read(wire);
  };
};

function readFour(wire: WireDnsChange): DnsChange {
  return {
    enabled: wire.enabled,
    ...given('dohUpstream', wire.doh_upstream),
    ...given('adblockUrls', wire.adblock_urls),
    ...given('customDomains', wire.custom_domains && new Map(Object.entries(wire.custom_domains))),
  };
}

function given<K extends keyof DnsChange>(name: K, value: DnsConfig[K] | null | undefined): DnsChange {
  return isGiven(value) ? { [name]: value } : {};
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** Exactly `enabled`, `doh_upstream`, `adblock_urls`, `custom_domains`, as in the DNS revision. */
export const dnsOfFourMembers: DnsForm = {
  name: 'four members',
  schema: object(fourMembers),
  encode: encodeFour,
  decode: checking(readFour),
  read: readFour,
};

const readSix = (wire: WireDnsChange): DnsChange => ({
  ...readFour(wire),
  ...given('localPort', isGiven(wire.local_port) ? Number(wire.local_port) : null),
  ...given('interceptAllPort53', wire.intercept_all_port53),
});

/** The four and `local_port`, `intercept_all_port53`. */
export const dnsOfSixMembers: DnsForm = {
  name: 'six members',
  schema: sixMembers,
  encode: (dns) => ({
    ...encodeFour(dns),
    local_port: dns.localPort,
    intercept_all_port53: dns.interceptAllPort53,
  }),
  decode: checking(readSix),
  read: readSix,
};

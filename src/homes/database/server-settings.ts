import type { BackendSettings, ReloadReason } from '../../core/backend.js';
import {
  DEFAULT_DNS,
  DEFAULT_PUBLISHED,
  type DnsChange,
  type DnsConfig,
  type OutboundSettings,
  type ResolverSettings,
  type ServerConfiguration,
} from '../../core/model.js';
import { announcedBy } from '../../document/published-sections.js';

/** A configuration without its keys, as the database stores it; every member may be missing. */
export interface StoredSettings {
  readonly outbound?: OutboundSettings | null;
  readonly dns?: StoredDns;
  /** The members given since the configuration was put. */
  readonly dnsChange?: StoredDns;
  /** The first value given for each: a file keeps the member even when the value is the default again. */
  readonly dnsFirst?: StoredDns;
  readonly listener?: BackendSettings['listener'];
  readonly announced?: BackendSettings['announced'];
  readonly published?: BackendSettings['published'];
  /** Why the configuration was put; absent means `replaced`. */
  readonly put?: PutReason;
}

export type PutReason = Exclude<ReloadReason, 'edited'>;

/** 64-bit numbers are text, which JSON keeps exactly; an older Keyway stored them as numbers. */
type StoredResolver = Omit<ResolverSettings, 'cacheSize' | 'queryLogSize'> & {
  readonly cacheSize: string | number;
  readonly queryLogSize: string | number;
};

/** Members of an object that PostgreSQL stores have no order, but the order of the domains matters. */
export type StoredDns = Omit<DnsChange, 'customDomains' | 'resolver'> & {
  readonly resolver?: StoredResolver | null;
  readonly customDomains?: readonly (readonly [string, string])[];
};

export function storedSettings(configuration: ServerConfiguration): StoredSettings {
  const { outbound, dns, listener, published } = configuration;
  return { outbound, dns: storedDns(dns), listener, announced: announcedBy(configuration, null), published };
}

export function storedDns({ customDomains, resolver, ...others }: DnsChange): StoredDns {
  return {
    ...others,
    ...(resolver === undefined ? {} : { resolver: resolver && storedResolver(resolver) }),
    ...(customDomains === undefined ? {} : { customDomains: [...customDomains] }),
  };
}

function storedResolver({ cacheSize, queryLogSize, ...others }: ResolverSettings): StoredResolver {
  return { ...others, cacheSize: `${cacheSize}`, queryLogSize: `${queryLogSize}` };
}

export function readSettings({
  outbound = null,
  dns = {},
  listener = null,
  announced = {},
  published = DEFAULT_PUBLISHED,
}: StoredSettings): BackendSettings {
  // Settings stored by an older Keyway lack members that it did not know.
  return { outbound, dns: readDns(dns), listener, announced, published: { ...DEFAULT_PUBLISHED, ...published } };
}

function readDns(dns: StoredDns): DnsConfig {
  return { ...DEFAULT_DNS, ...readDnsChange(dns) };
}

export function readDnsChange({ customDomains, resolver, ...others }: StoredDns): DnsChange {
  return {
    ...others,
    ...(resolver === undefined ? {} : { resolver: resolver && readResolver(resolver) }),
    ...(customDomains === undefined ? {} : { customDomains: new Map(customDomains) }),
  };
}

function readResolver({ cacheSize, queryLogSize, ...others }: StoredResolver): ResolverSettings {
  return { ...others, cacheSize: BigInt(cacheSize), queryLogSize: BigInt(queryLogSize) };
}

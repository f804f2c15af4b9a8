import type { BackendSettings } from '../../core/backend.js';
import {
  DEFAULT_DNS,
  DEFAULT_PUBLISHED,
  type DnsChange,
  type DnsConfig,
  type OutboundSettings,
  type ServerConfiguration,
} from '../../core/model.js';

/** A configuration besides its keys, as the database holds it; every member may be missing. */
export interface StoredSettings {
  readonly outbound?: OutboundSettings | null;
  readonly dns?: StoredDns;
  /** The members given since the configuration was put. */
  readonly dnsChange?: StoredDns;
  /** The first value of each that was given: a file has a member for it although the last is the default again. */
  readonly dnsFirst?: StoredDns;
  readonly listener?: BackendSettings['listener'];
  readonly announced?: BackendSettings['announced'];
  readonly published?: BackendSettings['published'];
}

/** Members of an object that PostgreSQL stores have no order of their own, and that of the domains counts. */
export type StoredDns = Omit<DnsChange, 'customDomains'> & {
  readonly customDomains?: readonly (readonly [string, string])[];
};

export function storedSettings(configuration: ServerConfiguration): StoredSettings {
  const { outbound, dns, listener, listen, published } = configuration;
  const announced = listen === null ? {} : announcedBy(listen);
  return { outbound, dns: storedDns(dns), listener, announced, published };
}

export function storedDns({ customDomains, ...others }: DnsChange): StoredDns {
  return { ...others, ...(customDomains === undefined ? {} : { customDomains: [...customDomains] }) };
}

export function readSettings({
  outbound = null,
  dns = {},
  listener = null,
  announced = {},
  published = DEFAULT_PUBLISHED,
}: StoredSettings): BackendSettings {
  return { outbound, dns: readDns(dns), listener, announced, published };
}

function readDns(dns: StoredDns): DnsConfig {
  return { ...DEFAULT_DNS, ...readDnsChange(dns) };
}

export function readDnsChange({ customDomains, ...others }: StoredDns): DnsChange {
  return { ...others, ...(customDomains === undefined ? {} : { customDomains: new Map(customDomains) }) };
}

/** By `host:port`; nothing where it is none. */
function announcedBy(listen: string): BackendSettings['announced'] {
  const [, host, port] = /^(.*):(\d+)$/.exec(listen) ?? [];
  return host === undefined || port === undefined ? {} : { host, port: Number(port) };
}

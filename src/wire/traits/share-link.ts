import type { AnnouncedServer } from '../../core/model.js';

/** Makes the query of a share link (protocol: "Subscription"). */
export interface ShareQueryRule {
  readonly name: string;
  query(configured: string, dnsEnabled: boolean): string;
  /** Reads the query of a link back. */
  read(query: string): ReadShareQuery;
}

export interface ReadShareQuery {
  /** The configured query, as far as a link shows it; a query of the line's own counts as configured. */
  readonly configured: string;
  /** True if DNS is enabled; null if the line's links do not say. */
  readonly dnsEnabled: boolean | null;
}

const OWN_DNS = 'owndns=true';

function readOwnDns(query: string): ReadShareQuery {
  const [configured] = [`?${OWN_DNS}`, `&${OWN_DNS}`].flatMap((end) =>
    query.endsWith(end) ? [query.slice(0, -end.length)] : [],
  );
  return { configured: configured ?? query, dnsEnabled: configured !== undefined };
}

function withOwnDns(query: string): string {
  return query === '' ? `?${OWN_DNS}` : `${query}&${OWN_DNS}`;
}

/** For server lines without a configured query. */
export const noQuery: ShareQueryRule = {
  name: 'none',
  query: () => '',
  read: () => ({ configured: '', dnsEnabled: null }),
};

/** Earliest revision: the configured query, unchanged. */
export const configuredQuery: ShareQueryRule = {
  name: 'configured',
  query: (configured) => configured,
  read: (query) => ({ configured: query, dnsEnabled: null }),
};

/** DNS revision: the configured query, plus `owndns=true` if DNS is enabled. */
export const configuredQueryWithOwnDns: ShareQueryRule = {
  name: 'configured, owndns',
  query: (configured, dnsEnabled) => (dnsEnabled ? withOwnDns(configured) : configured),
  read: readOwnDns,
};

/** Current revision: `?type=udp`, plus `&owndns=true` if DNS is enabled. */
export const udpQueryWithOwnDns: ShareQueryRule = {
  name: '?type=udp, owndns',
  query: (_configured, dnsEnabled) => (dnsEnabled ? withOwnDns('?type=udp') : '?type=udp'),
  read: readOwnDns,
};

/** `<share_scheme>://<key>@<server_host>:<server_port><query>`; the key is not encoded (protocol: "Subscription"). */
export function shareLink(accessKey: string, server: AnnouncedServer, query: string): string {
  return `${server.shareScheme}://${accessKey}@${server.host}:${server.port}${query}`;
}

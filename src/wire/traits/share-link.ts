import type { AnnouncedServer } from '../../core/model.js';

/** Makes the query of a share link (protocol: "Subscription"). */
export interface ShareQueryRule {
  readonly name: string;
  query(configured: string, dnsEnabled: boolean): string;
  /** The query of a link read back. */
  read(query: string): ReadShareQuery;
}

export interface ReadShareQuery {
  /** The configured query, as far as a link shows it: where a line writes a query of its own, that. */
  readonly configured: string;
  /** True where DNS is enabled; null where the line's links do not tell. */
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

/** Server lines before there was a configured query. */
export const noQuery: ShareQueryRule = {
  name: 'none',
  query: () => '',
  read: () => ({ configured: '', dnsEnabled: null }),
};

/** Earliest revision: the configured query as it stands. */
export const configuredQuery: ShareQueryRule = {
  name: 'configured',
  query: (configured) => configured,
  read: (query) => ({ configured: query, dnsEnabled: null }),
};

/** DNS revision: the configured query, plus `owndns=true` when DNS is enabled. */
export const configuredQueryWithOwnDns: ShareQueryRule = {
  name: 'configured, owndns',
  query: (configured, dnsEnabled) => (dnsEnabled ? withOwnDns(configured) : configured),
  read: readOwnDns,
};

/** Current revision: `?type=udp`, plus `&owndns=true` when DNS is enabled. */
export const udpQueryWithOwnDns: ShareQueryRule = {
  name: '?type=udp, owndns',
  query: (_configured, dnsEnabled) => (dnsEnabled ? withOwnDns('?type=udp') : '?type=udp'),
  read: readOwnDns,
};

/** `<share_scheme>://<key>@<server_host>:<server_port><query>`; the key stands as it is (protocol: "Subscription"). */
export function shareLink(accessKey: string, server: AnnouncedServer, query: string): string {
  return `${server.shareScheme}://${accessKey}@${server.host}:${server.port}${query}`;
}

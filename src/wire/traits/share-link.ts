import type { AnnouncedServer } from '../../core/model.js';

/** How a revision makes the query of a share link (protocol: "Subscription"). */
export interface ShareQueryRule {
  readonly name: string;
  query(configured: string, dnsEnabled: boolean): string;
}

const OWN_DNS = 'owndns=true';

function withParameter(query: string, parameter: string): string {
  return query === '' ? `?${parameter}` : `${query}&${parameter}`;
}

/** Server lines before there was a configured query. */
export const noQuery: ShareQueryRule = { name: 'none', query: () => '' };

/** Earliest revision: the configured query as it stands. */
export const configuredQuery: ShareQueryRule = { name: 'configured', query: (configured) => configured };

/** DNS revision: the configured query, plus `owndns=true` when DNS is enabled. */
export const configuredQueryWithOwnDns: ShareQueryRule = {
  name: 'configured, owndns',
  query: (configured, dnsEnabled) => (dnsEnabled ? withParameter(configured, OWN_DNS) : configured),
};

/** Current revision: `?type=udp`, plus `&owndns=true` when DNS is enabled. */
export const udpQueryWithOwnDns: ShareQueryRule = {
  name: '?type=udp, owndns',
  query: (_configured, dnsEnabled) => (dnsEnabled ? withParameter('?type=udp', OWN_DNS) : '?type=udp'),
};

/** `<share_scheme>://<key>@<server_host>:<server_port><query>`; the key stands as it is (protocol: "Subscription"). */
export function shareLink(accessKey: string, server: AnnouncedServer, query: string): string {
  return `${server.shareScheme}://${accessKey}@${server.host}:${server.port}${query}`;
}

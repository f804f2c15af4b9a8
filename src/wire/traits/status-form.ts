import type { TSchema } from 'typebox';
import { encodeJson } from '../json/write-json.js';
import { flag, orNull, text, u64 } from '../schemas.js';
import { Type } from '../typebox.js';

/** The counts of a status (protocol: "Server status"). */
export interface StatusCounts {
  /** In whole seconds. */
  readonly uptimeSeconds: number;
  /** The numbers of counter entries with traffic, and of registered keys. */
  readonly active: number;
  readonly total: number;
}

/** The sums over the counters of all keys, and where clients find the server. */
export interface StatusOfServer {
  readonly online: number;
  readonly connections: bigint;
  readonly bytesUp: bigint;
  readonly bytesDown: bigint;
  readonly endpoint: ToldEndpoint;
}

export interface ToldEndpoint {
  readonly host: string;
  readonly udpPort: number;
  readonly tls: { readonly host: string; readonly port: number; readonly path: string | null } | null;
  /** The path before the tokens of subscriptions; null without them. */
  readonly subscriptionPrefix: string | null;
  readonly dnsEnabled: boolean;
}

/** A revision's form of the status. */
export interface StatusForm {
  readonly name: string;
  readonly schema: TSchema;
  /** False if it has only the counts. */
  readonly tellsServer: boolean;
  /** Returns the status of a server of this package version as JSON text; `server` if the form includes it. */
  encode(version: string, counts: StatusCounts, server: StatusOfServer | null): string;
}

const COUNTS = {
  version: text('Version of the server package that this revision stands for.', 'version'),
  uptime_seconds: Type.BigInt({ ...u64('Whole seconds since the API started.'), recorded: 'uptime' }),
  active_users: u64('Keys with traffic.'),
  total_users: u64('Registered keys.'),
};

/** The members that every form has. */
export const STATUS = Type.Object(COUNTS);

const TLS = Type.Object({
  host: text('The host of TLS links.'),
  port: u64('Their port.'),
  path: orNull(Type.String(), 'a string or null', 'Their path; null where the server ends TLS itself.'),
});

const ENDPOINT = Type.Object({
  host: text('The host of UDP links.'),
  udp_port: u64('Their port.'),
  tls: orNull(TLS, 'an object or null', 'Where clients find the server over TLS; null without.'),
  subscription_prefix: orNull(
    Type.String(),
    'a string or null',
    'The path before the tokens of subscriptions; null without them.',
  ),
  dns_enabled: flag('Whether links say `owndns`.'),
});

/** Returns the members that every form has. They are text, because panels poll for them; no number of them exceeds 2^53. */
const countsText = (version: string, { uptimeSeconds, active, total }: StatusCounts): string =>
  `"version":${JSON.stringify(version)},"uptime_seconds":${uptimeSeconds},"active_users":${active},"total_users":${total}`;

/** Version, uptime and the numbers of keys, which every line reports. */
export const statusOfCounts: StatusForm = {
  name: 'four members',
  schema: STATUS,
  tellsServer: false,
  encode: (version, counts) => `{${countsText(version, counts)}}`,
};

/** The same with sums over all keys, and where clients find the server. */
export const statusWithEndpoint: StatusForm = {
  name: 'with sums and endpoint',
  schema: Type.Object({
    ...COUNTS,
    online_users: u64('Keys that are connected.'),
    connections: u64('The sum over all keys.'),
    bytes_up: u64('The sum over all keys.'),
    bytes_down: u64('The sum over all keys.'),
    endpoint: ENDPOINT,
  }),
  tellsServer: true,
  encode(version, counts, server) {
    if (server === null) throw new Error('a status of this form tells of the server');
    const { online, connections, bytesUp, bytesDown, endpoint } = server;
    const others = encodeJson({
      online_users: online,
      connections,
      bytes_up: bytesUp,
      bytes_down: bytesDown,
      endpoint: {
        host: endpoint.host,
        udp_port: endpoint.udpPort,
        tls: endpoint.tls,
        subscription_prefix: endpoint.subscriptionPrefix,
        dns_enabled: endpoint.dnsEnabled,
      },
    });
    return `{${countsText(version, counts)},${others.slice(1)}`;
  },
};

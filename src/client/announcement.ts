import type { JsonValue } from '../wire/json/json.js';
import { checked, SchemaError } from '../wire/schema-check.js';
import { object, text } from '../wire/schemas.js';
import type { Revision } from '../wire/traits/revision.js';
import { percentEncoded } from '../wire/traits/write-share-link.js';
import type { Exchange } from './exchange.js';
import { endpointIn } from './find-line.js';
import type { Purpose, Sent, UpstreamAnnouncement } from './server.js';

/** Without this, servers with TLS would answer with the link for that, which older clients do not know. */
const OVER_UDP = 'transport=udp';

/**
 * Learns how a server announces itself for UDP, from the subscription of one of its keys: scheme and query from its
 * share link, host and port from its status if that has them, else from its client configuration object. Undefined for
 * a key that the server does not have.
 */
export async function learnAnnouncement(
  exchange: Pick<Exchange, 'ask'>,
  accessKey: string,
  purpose: Purpose | undefined,
): Promise<Sent<UpstreamAnnouncement | undefined>> {
  const asked = {
    operation: 'subscribe',
    key: accessKey,
    purpose,
    query: OVER_UDP,
    unknownKey: { value: undefined },
  } as const;
  const address = await exchange.ask<Address | undefined>({ ...asked, read: configuredAddress });
  if (address.value === undefined) return { ...address, value: undefined };
  // Unlike a subscription, a status requires a credential.
  const endpoint = await exchange.ask({ operation: 'getStatus', purpose: 'poll', read: endpointIn }).catch(() => null);
  const { host, port } = endpoint?.value ?? address.value;
  const link = await exchange.ask<Link | undefined>({
    ...asked,
    headers: { accept: 'text/plain' },
    read: (data, line) => linkOf(data, accessKey, line),
  });
  return { ...address, value: link.value === undefined ? undefined : { host, port, ...link.value } };
}

type Address = Pick<UpstreamAnnouncement, 'host' | 'port'>;
type Link = Pick<UpstreamAnnouncement, 'shareScheme' | 'shareQuery' | 'ownDns'>;

const CLIENT_CONFIG = object({ server: text('`host:port` as announced to clients.') });

/** Returns host and port of a client configuration object. Throws `SchemaError`. */
export function configuredAddress(data: JsonValue): Address {
  const { server } = checked(CLIENT_CONFIG, data, 'data');
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(server) ?? [];
  if (host === undefined) throw new SchemaError('data.server', 'host:port');
  return { host, port: Number(port) };
}

/**
 * Reads the share link of a key, which contains the key literally or percent-encoded (protocol: "Subscription"). Throws
 * `SchemaError`.
 */
export function linkOf(data: JsonValue, accessKey: string, { shareQuery }: Revision): Link {
  const link = typeof data === 'string' ? data : '';
  const spellings = [accessKey, percentEncoded(accessKey)];
  const spelling = spellings.find((key) => link.indexOf(`://${key}@`) > 0);
  if (spelling === undefined) throw new SchemaError('data', 'a share link of the key');
  const end = link.indexOf(`://${spelling}@`);
  const rest = link.slice(end + 4 + spelling.length);
  const query = rest.includes('?') ? rest.slice(rest.indexOf('?')) : '';
  const { configured, dnsEnabled } = shareQuery.read(query);
  return { shareScheme: link.slice(0, end), shareQuery: configured, ownDns: dnsEnabled };
}

import type { JsonValue } from '../wire/json/json.js';
import { checked, SchemaError } from '../wire/schema-check.js';
import { object, text } from '../wire/schemas.js';
import type { Revision } from '../wire/traits/revision.js';
import type { Exchange } from './exchange.js';
import type { Purpose, Sent, UpstreamAnnouncement } from './server.js';

/**
 * How a server announces itself, from the subscription of one of its keys: host and port stand in its client configuration
 * object, scheme and query in its share link. Undefined for a key that it does not have.
 */
export async function learnAnnouncement(
  { ask }: Pick<Exchange, 'ask'>,
  accessKey: string,
  purpose: Purpose | undefined,
): Promise<Sent<UpstreamAnnouncement | undefined>> {
  const asked = { operation: 'subscribe', key: accessKey, purpose, unknownKey: { value: undefined } } as const;
  const address = await ask<Address | undefined>({ ...asked, read: addressOf });
  if (address.value === undefined) return { ...address, value: undefined };
  const { host, port } = address.value;
  const link = await ask<Link | undefined>({
    ...asked,
    headers: { accept: 'text/plain' },
    read: (data, line) => linkOf(data, accessKey, line),
  });
  return { ...address, value: link.value === undefined ? undefined : { host, port, ...link.value } };
}

type Address = Pick<UpstreamAnnouncement, 'host' | 'port'>;
type Link = Pick<UpstreamAnnouncement, 'shareScheme' | 'shareQuery' | 'ownDns'>;

const CLIENT_CONFIG = object({ server: text('`host:port` as announced to clients.') });

/** Host and port in a client configuration object. Throws `SchemaError`. */
export function addressOf(data: JsonValue): Address {
  const { server } = checked(CLIENT_CONFIG, data, 'data');
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(server) ?? [];
  if (host === undefined) throw new SchemaError('data.server', 'host:port');
  return { host, port: Number(port) };
}

/** What the share link of a key, which stands in it as it is, says (protocol: "Subscription"). Throws `SchemaError`. */
export function linkOf(data: JsonValue, accessKey: string, { shareQuery }: Revision): Link {
  const link = typeof data === 'string' ? data : '';
  const end = link.indexOf(`://${accessKey}@`);
  if (end < 1) throw new SchemaError('data', 'a share link of the key');
  const rest = link.slice(end + 4 + accessKey.length);
  const query = rest.includes('?') ? rest.slice(rest.indexOf('?')) : '';
  const { configured, dnsEnabled } = shareQuery.read(query);
  return { shareScheme: link.slice(0, end), shareQuery: configured, ownDns: dnsEnabled };
}

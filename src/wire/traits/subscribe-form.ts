import type { TSchema } from 'typebox';
import type { AnnouncedServer } from '../../core/model.js';
import { clientConfig } from '../client-config.js';
import { successEnvelope } from '../envelope.js';
import { type Encodable, encodeJson } from '../json/write-json.js';
import { orNull, text } from '../schemas.js';
import { Type } from '../typebox.js';
import { shareLink } from './share-link.js';
import { type LinkWay, type LinkWays, percentEncoded, writeShareLink } from './write-share-link.js';

/** A request for a key's subscription. */
export interface WantedSubscription {
  readonly accessKey: string;
  /** True for a link instead of a client configuration. */
  readonly isLink: boolean;
  /** The carrier that the query names; null without one. */
  readonly transport: string | null;
}

/** The announced server, with the query of its links. */
export interface OneWay {
  readonly announced: AnnouncedServer;
  readonly query: string;
}

/** A revision's form of `/subscribe/{key}` (protocol: "Subscription"). */
export interface SubscribeForm {
  readonly name: string;
  /** The schemas of `data`, and of the envelope's other members. */
  readonly data: TSchema;
  readonly beside: Readonly<Record<string, TSchema>>;
  /** Writes a key in the form of a link. */
  spell(accessKey: string): string;
  /** Returns the client configuration object for an address, `host:port`. */
  config(accessKey: string, address: string): Encodable;
  /** Returns the whole envelope, for one way to the server or for all ways; `by` says which the form needs. */
  readonly encode:
    | { readonly by: 'one way'; envelope(wanted: WantedSubscription, way: OneWay): string }
    | { readonly by: 'ways'; envelope(wanted: WantedSubscription, ways: LinkWays): string };
}

const CONFIG = {
  mode: Type.Literal('client'),
  server: text('`host:port` as announced to clients.'),
  access_key: text('The requested key.'),
  socks5_bind: text('Where the client listens.'),
  tun: Type.Object({ enable: Type.Boolean(), dns: Type.String() }),
  exclude: Type.Object({
    domains: Type.Array(Type.String()),
    ips: Type.Array(Type.String()),
    processes: Type.Array(Type.String()),
  }),
  turn: Type.Object({ enabled: Type.Boolean() }),
  mux: Type.Object({ enabled: Type.Boolean(), sessions: Type.BigInt() }),
  debug: Type.Boolean(),
};

const LINK = text('A share link.', 'share link');

/** One link, which names the announced server. */
export const oneLink: SubscribeForm = {
  name: 'one link',
  data: Type.Union([LINK, Type.Object(CONFIG)]),
  beside: {},
  spell: (accessKey) => accessKey,
  config: clientConfig,
  encode: {
    by: 'one way',
    envelope: ({ accessKey, isLink }, { announced, query }) =>
      successEnvelope(
        isLink
          ? shareLink(accessKey, announced, query)
          : clientConfig(accessKey, `${announced.host}:${announced.port}`),
      ),
  },
};

const TRANSPORT = Type.Union([
  Type.Object({ mode: Type.Literal('udp') }),
  Type.Object({
    mode: Type.Literal('uot'),
    tls: Type.Literal(true),
    ws_path: orNull(Type.String(), 'a string or null', 'The path at a web server; null without one.'),
  }),
]);

const transportOf = ({ type, path }: LinkWay): Encodable =>
  type === 'udp' ? { mode: 'udp' } : { mode: 'uot', tls: true, ws_path: path };

/** A link over TLS if the server has that, unless UDP is asked for, with both next to it; keys are percent-encoded. */
export const linkOfEachCarrier: SubscribeForm = {
  name: 'a link of each carrier',
  data: Type.Union([LINK, Type.Object({ ...CONFIG, transport: TRANSPORT })]),
  beside: {
    links: Type.Object({
      tls: orNull(Type.String(), 'a string or null', 'The link over TLS; null without.'),
      udp: text('The link over UDP.'),
    }),
  },
  spell: percentEncoded,
  config: (accessKey, address) => sorted({ ...clientConfig(accessKey, address), transport: { mode: 'udp' } }),
  encode: {
    by: 'ways',
    envelope({ accessKey, isLink, transport }, { udp, tls }) {
      const linkOf = (way: LinkWay) => writeShareLink({ ...way, accessKey, name: null });
      const way = transport === 'udp' ? udp : (tls ?? udp);
      const host = way.host.includes(':') ? `[${way.host}]` : way.host;
      const config = { ...clientConfig(accessKey, `${host}:${way.port}`), transport: transportOf(way) };
      return encodeJson({
        data: isLink ? linkOf(way) : sorted(config),
        links: { tls: tls === null ? null : linkOf(tls), udp: linkOf(udp) },
        ok: true,
      });
    },
  },
};

/** Sorts the members by name, as these servers do in this answer. */
function sorted(value: Encodable): Encodable {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([name, member]): [string, Encodable] => [name, sorted(member)]);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

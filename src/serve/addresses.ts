import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { LogPort } from '../core/ports.js';
import type { Gateway } from '../gateway/compose.js';
import type { CreateServer } from '../northbound/api-server.js';
import { StartError } from '../platform/start-error.js';
import { addressClashes } from '../settings/bind-address.js';
import type { Settings } from '../settings/table.js';
import type { Connections } from './connections.js';
import { listenAt } from './listen.js';
import type { Tls } from './tls.js';

/** Where the API listens, and what is said of it. */
export interface ApiAddress {
  /** `host:port`, or `unix:` and a path. */
  readonly bind: string;
  readonly tls: Tls | null;
}

const API_WORDS = {
  subject: 'the API',
  remedy:
    'if the server whose file this is serves its own API there, give Keyway another address with --bind, else free this one',
};
const SUBSCRIPTION_WORDS = {
  subject: 'the subscription listener',
  remedy: 'give it another address with --subscription-bind',
};

/** Rejects addresses of which two cannot both be listened on. Throws a `StartError` that names each two. */
export function refuseClashes(settings: Settings, bind: string): void {
  const api = settings.bind === null ? "the API's own address" : '--bind';
  const clashes = addressClashes([
    { name: api, bind },
    ...named('--subscription-bind', settings.subscriptionBind),
    ...named('--feed-bind', settings.feedBind),
    ...named('--ops-bind', settings.opsBind),
  ]);
  if (clashes.length > 0) throw new StartError(clashes);
}

function named(name: string, bind: string | null) {
  return bind === null ? [] : [{ name, bind }];
}

/** Listens for the API. Resolves to `http(s)://host:port`, or `unix:` and the path. Rejects with a `StartError`. */
export async function listenForApi(gateway: Gateway, { bind, tls }: ApiAddress, log: LogPort): Promise<string> {
  return secured(await listenAt(gateway.app, bind, API_WORDS, log), tls);
}

/**
 * Listens for the subscriptions of every mount alone, over the gateway's core; closed with the gateway. Resolves to the
 * app. Rejects with a `StartError`.
 */
export async function startSubscriptions(
  gateway: Gateway,
  { bind, tls }: ApiAddress,
  connections: Connections,
  log: LogPort,
): Promise<FastifyInstance> {
  const app = gateway.subscriptions({ createServer: connections.serverFor('subscriptions', tlsAt(bind, tls)) });
  // Before the counters' own: hooks of this kind run in the reverse order.
  gateway.app.addHook('onClose', () => app.close());
  const url = secured(await listenAt(app, bind, SUBSCRIPTION_WORDS, log), tls);
  log.info({ subscriptions: url }, `subscriptions alone are served on ${url}`);
  return app;
}

/** What makes the server of an address, if it is no plain one: a Unix socket is for proxies of this machine, and speaks plainly. */
export function tlsAt(bind: string | null, tls: Tls | null): CreateServer | undefined {
  return tls === null || bind?.startsWith('unix:') === true ? undefined : tls.createServer;
}

function secured(url: string, tls: Tls | null): string {
  return tls === null ? url : url.replace(/^http:/, 'https:');
}

/** Where a path of a gateway is, for people: a URL, or the path and the socket. */
export function placeOf(url: string, path: string): string {
  return url.startsWith('unix:') ? `${path} on ${url}` : url + path;
}

/** Milliseconds that clients are given to take the answers that were accepted before a stop. */
const CLOSING_TIME = 10_000;

/** Finishes what was accepted; a client that does not take its answer in time is cut off, so that every write is carried. */
export async function closeInTime(gateway: Gateway, others: readonly FastifyInstance[]): Promise<void> {
  const servers = [gateway.app, ...others].map(({ server }) => server);
  const late = setTimeout(() => {
    for (const server of servers) server.closeAllConnections();
  }, CLOSING_TIME);
  // The system has accepted connections that nobody here has seen yet.
  await nextTurn();
  await gateway.app.close();
  clearTimeout(late);
}

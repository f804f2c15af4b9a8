import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { LogPort } from '../core/ports.js';
import type { Gateway } from '../gateway/compose.js';
import { startControl } from './control.js';
import { listenAt } from './listen.js';
import type { Prepared, ServePorts } from './prepare.js';
import { type Tls, tlsAt } from './tls.js';

const API_WORDS = {
  subject: 'the API',
  remedy:
    'if the server whose file this is serves its own API there, give Keyway another address with --bind, else free this one',
};
const SUBSCRIPTION_WORDS = {
  subject: 'the subscription listener',
  remedy: 'give it another address with --subscription-bind',
};

export interface Listening {
  /** The URL of the API: `http(s)://host:port`, without a trailing slash, or `unix:` and the socket's path. */
  readonly url: string;
  /** Finishes accepted requests on all listeners, and closes the gateway. */
  close(): Promise<void>;
}

/** Opens the listeners that the settings ask for, the API's last. Rejects with a `StartError`. */
export async function openListeners(prepared: Prepared, ports: ServePorts): Promise<Listening> {
  const { settings, gateway, connections, ops, resolver, bind, tls } = prepared;
  const { feedBind, subscriptionBind } = settings;
  const createServer = connections.serverFor('feed');
  const running =
    feedBind === null
      ? null
      : await (await import('./feed.js')).startFeed(gateway, { ...settings, feedBind, createServer }, ports);
  ops?.watch(gateway, { feed: running?.feed ?? null, resolver });
  const subscriptions =
    subscriptionBind === null ? [] : [await startSubscriptions(prepared, subscriptionBind, ports.log)];
  const { commandFolder } = settings.home;
  const control = commandFolder === null ? null : await startControl(gateway, commandFolder, ports.log);
  const url = secured(await listenAt(gateway.app, bind, API_WORDS, ports.log), tls);
  const others = [...subscriptions, ...(running === null ? [] : [running.feed.app]), ...(control ? [control] : [])];
  return { url, close: () => closeInTime(gateway, others) };
}

/**
 * Opens the listener that serves only the subscriptions of every mount, over the gateway's core; it closes with the
 * gateway.
 */
async function startSubscriptions(
  { gateway, connections, tls }: Prepared,
  bind: string,
  log: LogPort,
): Promise<FastifyInstance> {
  const app = gateway.subscriptions({ createServer: connections.serverFor('subscriptions', tlsAt(bind, tls)) });
  // Registered after the counters' hook, because hooks of this kind run in reverse order.
  gateway.app.addHook('onClose', () => app.close());
  const url = secured(await listenAt(app, bind, SUBSCRIPTION_WORDS, log), tls);
  log.info({ subscriptions: url }, `subscriptions alone are served on ${url}`);
  return app;
}

function secured(url: string, tls: Tls | null): string {
  return tls === null ? url : url.replace(/^http:/, 'https:');
}

/** Writes the address of a path for the log: a URL, or the path and the socket. */
export function placeOf(url: string, path: string): string {
  return url.startsWith('unix:') ? `${path} on ${url}` : url + path;
}

/** Milliseconds that clients have to read the answers to requests that were accepted before a stop. */
const CLOSING_TIME = 10_000;

/** Finishes accepted requests and their writes; clients that do not read answers in time are cut off. */
async function closeInTime(gateway: Gateway, others: readonly FastifyInstance[]): Promise<void> {
  const servers = [gateway.app, ...others].map(({ server }) => server);
  const late = setTimeout(() => {
    for (const server of servers) server.closeAllConnections();
  }, CLOSING_TIME);
  // The system has accepted connections that this process has not seen yet.
  await nextTurn();
  await gateway.app.close();
  clearTimeout(late);
}

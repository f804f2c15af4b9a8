import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import type { OutboundAction } from '../core/model.js';
import { hostOf } from '../wire/dns-values.js';
import type { Channel, ConnectionsOptions } from './channel.js';
import { decideRoute, RouteError } from './routes.js';

/** HTTP connections to the hosts that the resolver calls, each by the route that the outbound settings choose. */
export type Connections = ReturnType<typeof createConnections>;

/** Milliseconds; a route may depend on addresses, which change. */
const ROUTE_MS = 60_000;

/** Creates the connections, which open on demand. */
export function createConnections(options: ConnectionsOptions) {
  const routes = new Map<string, { readonly decided: Promise<OutboundAction>; readonly until: number }>();
  let channels = new Map<string, Channel>();

  /** Loads the HTTP client on demand, because it takes 9 MB. */
  async function channel(route: 'direct' | 'proxy', origin: string): Promise<Channel> {
    const { openChannel } = await import('./channel.js');
    const key = `${route} ${origin}`;
    const present = channels.get(key) ?? openChannel(route, options);
    channels.set(key, present);
    return present;
  }

  async function routeTo(host: string): Promise<'direct' | 'proxy'> {
    let known = routes.get(host);
    const now = options.clock.monotonic();
    if (known === undefined || now > known.until) {
      const decided = decideRoute(options.outbound, host, options.addressesOf);
      known = { decided, until: now + ROUTE_MS };
      routes.set(host, known);
    }
    const route = await known.decided;
    if (route === 'block') throw new RouteError(`an outbound rule blocks ${host}`);
    const kind = options.reserved(host);
    if (kind !== null) throw new RouteError(`${host} is ${kind}`);
    return route;
  }

  return {
    /** Returns the route to a host. Rejects with `RouteError` if a rule blocks it, or its address is reserved. */
    routeTo,
    /** Returns the dispatcher for this URL's host. Rejects as `routeTo` does. */
    async dispatcherFor(url: URL): Promise<Dispatcher> {
      return (await channel(await routeTo(hostOf(url)), url.origin)).dispatcherFor(url);
    },
    /**
     * Opens a separate connection to a host, with TLS if asked for. Rejects as `routeTo` does, and if the host does not
     * answer.
     */
    async socketTo(place: { readonly host: string; readonly port: number; readonly isTls: boolean }): Promise<Socket> {
      const route = await routeTo(place.host);
      const { openSocket } = await import('./channel.js');
      return openSocket(route, options, place);
    },
    /** Abandons connections that no longer answer: the next request opens new ones. */
    renew(): void {
      const gone = channels;
      channels = new Map();
      for (const old of gone.values()) void old.destroy();
    },
    /** Ends all connections, including requests under way. */
    async destroy(): Promise<void> {
      await Promise.all([...channels.values()].map((old) => old.destroy()));
    },
  };
}

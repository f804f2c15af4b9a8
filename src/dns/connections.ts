import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import type { OutboundAction } from '../core/model.js';
import { hostOf } from '../wire/dns-values.js';
import type { Channel, ConnectionsOptions } from './channel.js';
import { decideRoute, RouteError } from './routes.js';

/** HTTP connections to the hosts that the resolver calls, each on the way that the outbound settings give it. */
export type Connections = ReturnType<typeof createConnections>;

/** A decision may rest on addresses, which change. */
const ROUTE_MS = 60_000;

/** Opens connections as they are needed. */
export function createConnections(options: ConnectionsOptions) {
  const routes = new Map<string, { readonly decided: Promise<OutboundAction>; readonly until: number }>();
  let channels = new Map<string, Channel>();

  /** The HTTP client takes 9 MB, which a server without this resolver need not have. */
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
    /** Returns the way to a host. Rejects with `RouteError` when a rule blocks it, or nothing is called there. */
    routeTo,
    /** Returns the way to this URL's host. Rejects as `routeTo` does. */
    async dispatcherFor(url: URL): Promise<Dispatcher> {
      return (await channel(await routeTo(hostOf(url)), url.origin)).dispatcherFor(url);
    },
    /** Opens a connection of its own to a host, with TLS where asked for. Rejects as `routeTo` does, and where nobody answers. */
    async socketTo(place: { readonly host: string; readonly port: number; readonly isTls: boolean }): Promise<Socket> {
      const route = await routeTo(place.host);
      const { openSocket } = await import('./channel.js');
      return openSocket(route, options, place);
    },
    /** Forgets connections that no longer answer: the next request opens new ones. */
    renew(): void {
      const gone = channels;
      channels = new Map();
      for (const old of gone.values()) void old.destroy();
    },
    /** Ends all connections, requests under way included. */
    async destroy(): Promise<void> {
      await Promise.all([...channels.values()].map((old) => old.destroy()));
    },
  };
}

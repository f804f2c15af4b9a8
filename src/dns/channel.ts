import { request } from 'node:http';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, rootCertificates, TLSSocket } from 'node:tls';
import { socksConnector } from 'fetch-socks';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { OutboundSettings } from '../core/model.js';
import type { ClockPort } from '../core/ports.js';
import { RouteError } from './routes.js';

/** HTTP/1.1 carries one question at a time on a connection, HTTP/2 all of them. */
const MOST_CONNECTIONS = 32;
const MOST_STREAMS = 100;
const KEEP_ALIVE_MS = 60_000;

/** The options of connections by any route. */
export interface ConnectionsOptions {
  readonly outbound: OutboundSettings | null;
  readonly addressesOf: (host: string) => Promise<readonly string[]>;
  /**
   * Returns the kind of an address that is never connected to, or null. A host name is judged by the addresses of a
   * direct connection; a proxy looks up names itself.
   */
  readonly reserved: (address: string) => string | null;
  /** Milliseconds that connecting may take. */
  readonly connectTimeout: number;
  readonly clock: Pick<ClockPort, 'monotonic'>;
  /** Certificates (PEM) that are trusted in addition to Node's. */
  readonly ca?: readonly string[];
}

/** Creates a channel; connections open with the first request. */
export function openChannel(route: 'direct' | 'proxy', options: ConnectionsOptions): Channel {
  const connectorFor = route === 'direct' ? direct(options) : proxied(options);
  return createChannel((allowH2) => unlessReserved(connectorFor(allowH2), options));
}

/** Opens a connection for DNS to a host, with TLS if asked for (RFC 7858). */
export async function openSocket(
  route: 'direct' | 'proxy',
  options: ConnectionsOptions,
  { host, port, isTls }: { readonly host: string; readonly port: number; readonly isTls: boolean },
): Promise<Socket> {
  const connectorFor = route === 'direct' ? direct(options) : proxied(options);
  const plain = await new Promise<Socket>((resolve, reject) => {
    connectorFor(false)({ hostname: host, protocol: 'http:', port: String(port) }, (error, socket) => {
      // After a failure the client passes no socket, though its types say otherwise.
      if (error === null) resolve(socket.setNoDelay());
      else reject(error);
    });
  });
  if (!isTls) return plain;
  const name = isIP(host) === 0 ? { servername: host } : {};
  const trusted = options.ca === undefined ? {} : { ca: [...options.ca, ...rootCertificates] };
  const socket = connectTls({ socket: plain, host, ALPNProtocols: ['dot'], ...name, ...trusted });
  socket.setTimeout(options.connectTimeout, () => socket.destroy(new RouteError('TLS takes too long')));
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve);
    socket.once('error', reject);
  });
  return socket.setTimeout(0);
}

/** Requests to one origin by one route. */
export type Channel = ReturnType<typeof createChannel>;

type Connector = buildConnector.connector;

/** Options of TLS; `allowH2` offers HTTP/2 to the server (RFC 7301), which may decline it. */
type TlsOptions = buildConnector.BuildOptions & { readonly allowH2: boolean };

/**
 * Creates the channel of one origin by one route. HTTP/2 is offered first, as RFC 8484 section 5.2 recommends; if the
 * server declines it, questions are spread over several HTTP/1.1 connections.
 */
function createChannel(connectorFor: (allowH2: boolean) => Connector) {
  let multiplexed = true;
  const offering = connectorFor(true);
  const noting: Connector = (target, callback) => {
    offering(target, (...result) => {
      const [, socket] = result;
      if (socket instanceof TLSSocket) multiplexed = socket.alpnProtocol === 'h2';
      callback(...result);
    });
  };
  const shared = { keepAliveTimeout: KEEP_ALIVE_MS };
  const one = new Agent({ ...shared, allowH2: true, connections: 1, pipelining: MOST_STREAMS, connect: noting });
  const many = new Agent({ ...shared, connections: MOST_CONNECTIONS, pipelining: 1, connect: connectorFor(false) });
  return {
    dispatcherFor: (url: URL): Dispatcher => (multiplexed && url.protocol === 'https:' ? one : many),
    async destroy(): Promise<void> {
      await Promise.all([one.destroy(), many.destroy()]);
    },
  };
}

function tlsOptions({ ca, connectTimeout }: ConnectionsOptions, allowH2: boolean): TlsOptions {
  return { allowH2, timeout: connectTimeout, ...(ca === undefined ? {} : { ca: [...ca] }) };
}

function direct(options: ConnectionsOptions): (allowH2: boolean) => Connector {
  return (allowH2) => {
    const lookup = lookupFunction(options);
    return buildConnector({ ...tlsOptions(options, allowH2), lookup, autoSelectFamily: true });
  };
}

/** Refuses a reserved address, even behind a proxy. One in the URL is never looked up, so it is judged here. */
function unlessReserved(connect: Connector, { reserved }: ConnectionsOptions): Connector {
  return (target, callback) => {
    const kind = reserved(target.hostname);
    if (kind === null) connect(target, callback);
    else callback(new RouteError(`${target.hostname} is ${kind}`), null);
  };
}

/** Adapts our look-up to Node's form. It returns the addresses that are connected to, so reserved ones are left out. */
function lookupFunction({ addressesOf, reserved }: ConnectionsOptions): LookupFunction {
  return (host, { all, family }, callback) => {
    addressesOf(host).then(
      (found) => {
        const allowed = found.filter((address) => reserved(address) === null);
        const wanted = allowed.filter((address) => !family || `IPv${isIP(address)}` === `IPv${family}`);
        const [first] = wanted;
        if (first === undefined) {
          const [kind = null] = found.map(reserved).filter((one) => one !== null);
          callback(new RouteError(kind === null ? `${host} has no address` : `${host} leads to ${kind}`), '', 0);
        } else if (all === true) {
          callback(
            null,
            wanted.map((address) => ({ address, family: isIP(address) })),
          );
        } else callback(null, first, isIP(first));
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), '', 0),
    );
  };
}

function proxied(options: ConnectionsOptions): (allowH2: boolean) => Connector {
  const { outbound, connectTimeout } = options;
  const protocol = outbound?.protocol.toLowerCase() ?? '';
  if (outbound === null || outbound.address === '' || (protocol !== 'socks5' && protocol !== 'http')) {
    // Going direct instead would reveal what the operator wants to send through the proxy.
    const problem = new RouteError('the outbound proxy has no address or a protocol other than socks5 and http');
    return () => (_target, callback) => callback(problem, null);
  }
  const host = outbound.address.replace(/^\[(.*)\]$/, '$1');
  if (protocol === 'http') return (allowH2) => throughHttpProxy({ host, port: outbound.port, options, allowH2 });
  const proxy = { type: 5 as const, host, port: outbound.port };
  return (allowH2) => socksConnector(proxy, { ...tlsOptions(options, allowH2), timeout: connectTimeout });
}

interface HttpProxy {
  readonly host: string;
  readonly port: number;
  readonly options: ConnectionsOptions;
  readonly allowH2: boolean;
}

/** Connects through a tunnel by CONNECT (RFC 9110 section 9.3.6), with TLS inside it for https. */
function throughHttpProxy({ host, port, options, allowH2 }: HttpProxy): Connector {
  const upgrade = buildConnector(tlsOptions(options, allowH2));
  return (target, callback) => {
    const { hostname, protocol } = target;
    const targetPort = target.port || (protocol === 'https:' ? '443' : '80');
    const authority = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${targetPort}`;
    const tunnel = request({
      host,
      port,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority },
      agent: false,
      timeout: options.connectTimeout,
    });
    tunnel.once('timeout', () => tunnel.destroy(new RouteError('the outbound proxy does not answer')));
    tunnel.once('error', (error) => callback(error, null));
    tunnel.once('response', (response) => {
      tunnel.destroy(new RouteError(`the outbound proxy answered ${response.statusCode}`));
    });
    tunnel.once('connect', (response, socket) => {
      if (response.statusCode !== 200 || !isSocket(socket)) {
        socket.destroy();
        callback(new RouteError(`the outbound proxy answered ${response.statusCode}`), null);
      } else if (protocol === 'https:') upgrade({ ...target, httpSocket: socket }, callback);
      else callback(null, socket.setNoDelay());
    });
    tunnel.end();
  };
}

function isSocket(stream: Duplex): stream is Socket {
  return 'setNoDelay' in stream;
}

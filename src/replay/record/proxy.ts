import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { followConnections } from '../../sockets/followed-connections.js';
import type { PassedExchange } from './describe.js';

/** An exchange that passed, with what tells one client from another. */
export interface ProxiedExchange extends PassedExchange {
  /** Counts the requests in the order of their arrival. */
  readonly sequence: number;
  /** The same for all requests of one client: its address and what it calls itself. Never written out. */
  readonly client: string;
}

export interface ProxyOptions {
  /** `http://host:port` of the server. */
  readonly origin: string;
  /** Certificates (PEM) that are trusted of it instead of the system's. */
  readonly ca?: Buffer;
  readonly listen: { readonly host: string; readonly port: number };
  readonly onExchange: (exchange: ProxiedExchange) => void;
  /** Told when the server gave no answer, or only a part of one, to a client that waits for it. */
  readonly onFailure: (reason: string) => void;
}

export type RecordingProxy = Awaited<ReturnType<typeof startProxy>>;

/**
 * Stands between clients and a server without being noticed: status, headers and bytes pass as they come, in both directions,
 * while they come. Each client connection has one connection of its own to the server, and ends with it. Only `Host`
 * changes: it names the server, as it would without a proxy. Rejects when it cannot listen.
 */
export async function startProxy(options: ProxyOptions) {
  const upstreams = new Map<Socket, Upstream>();
  const sequence = { next: 0 };
  const plain = createServer({ keepAlive: true }, (incoming, outgoing) => {
    const upstream = upstreams.get(incoming.socket) ?? openUpstream(incoming.socket, options);
    upstreams.set(incoming.socket, upstream);
    sequence.next += 1;
    pass(incoming, outgoing, { ...options, upstream, sequence: sequence.next });
  });
  const server = followConnections(plain);
  // The server behind decides how long a connection stays open and a request may take, not the proxy.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  server.on('connection', (socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      upstreams.get(socket)?.agent.destroy();
      upstreams.delete(socket);
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  const { host, port } = options.listen;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  const address = server.address();
  return {
    /** The address that it listens at. */
    url: urlOf(host, address),
    /** Lets requests under way come to their end, and no new connections in. */
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

function urlOf(host: string, address: AddressInfo | string | null): string {
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

type Upstream = ReturnType<typeof openUpstream>;

function openUpstream(client: Socket, { origin, ca }: Pick<ProxyOptions, 'origin' | 'ca'>) {
  const { hostname, port, protocol, host } = new URL(origin);
  const secure = protocol === 'https:';
  const agent = secure
    ? new SecureAgent({ ...ONE_CONNECTION, ...(ca === undefined ? {} : { ca }) })
    : new Agent(ONE_CONNECTION);
  // An idle connection that the server closes is closed towards the client too, as it would be without the proxy.
  agent.on('free', (socket: Socket) => {
    if (socket.listenerCount('close', endClient) === 0) socket.once('close', endClient);
  });
  function endClient(): void {
    if (!client.destroyed) client.end();
  }
  const options = {
    agent,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 443 : 80) : Number(port),
  };
  return { agent, open: secure ? httpsRequest : httpRequest, options, host };
}

const ONE_CONNECTION = { keepAlive: true, maxSockets: 1 };

interface Passing extends ProxyOptions {
  readonly upstream: Upstream;
  readonly sequence: number;
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, passing: Passing): void {
  const { upstream, onFailure } = passing;
  const requestBody: Buffer[] = [];
  const headers = withHost(incoming.rawHeaders, upstream.host);
  const { method = 'GET', url: path = '/' } = incoming;
  let hasLeft = false;
  const client = `${incoming.socket.remoteAddress} ${incoming.headers['user-agent'] ?? ''}`;
  const asked = upstream.open({ ...upstream.options, method, path, headers }, (answer) => {
    const responseBody: Buffer[] = [];
    outgoing.sendDate = false;
    // Node would add its own; what the server says of the connection stands among its headers.
    outgoing.removeHeader('connection');
    outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
    outgoing.flushHeaders();
    answer.on('data', (chunk: Buffer) => responseBody.push(chunk));
    answer.pipe(outgoing);
    answer.on('error', () => undefined);
    answer.on('close', () => {
      if (!answer.complete) {
        if (hasLeft) return;
        onFailure(`${method}: the server ended its answer half-way`);
        outgoing.destroy();
        return;
      }
      passing.onExchange({
        sequence: passing.sequence,
        client,
        method,
        path,
        requestHeaders: headerMap(incoming),
        requestBody: Buffer.concat(requestBody),
        status: answer.statusCode ?? 0,
        responseHeaders: headerMap(answer),
        responseBody: Buffer.concat(responseBody),
      });
    });
  });
  asked.on('error', (error: NodeJS.ErrnoException) => {
    if (hasLeft || outgoing.headersSent) return;
    onFailure(`${method}: no answer from the server (${error.code ?? error.message})`);
    // Without an answer there is nothing to pass on but the end of the connection.
    incoming.socket.destroy();
  });
  incoming.on('data', (chunk: Buffer) => requestBody.push(chunk));
  incoming.on('error', () => asked.destroy());
  outgoing.on('close', () => {
    if (outgoing.writableFinished) return;
    hasLeft = true;
    asked.destroy();
  });
  incoming.pipe(asked);
}

/** Names in lower case, repeated ones joined. */
function headerMap(message: IncomingMessage): ReadonlyMap<string, string> {
  return new Map(Object.entries(message.headersDistinct).map(([name, values]) => [name, (values ?? []).join(', ')]));
}

function withHost(rawHeaders: readonly string[], host: string): string[] {
  return rawHeaders.map((text, index) => {
    const isHost = index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host';
    return isHost ? host : text;
  });
}

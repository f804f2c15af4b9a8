import {
  Agent,
  type ClientRequest,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { withFollowed } from '../../sockets/followed-connections.js';
import { allowHalfClose } from '../../sockets/http-server.js';
import type { PassedExchange } from './describe.js';
import { answerHeaders, framesBody, headersIn, passInformation, requestHeaders, trailersOf } from './passed-heads.js';

/** An exchange that passed, with what distinguishes clients. */
export interface ProxiedExchange extends PassedExchange {
  /** The number of the request in the order of arrival. */
  readonly sequence: number;
  /** Equal for all requests of one client: its address and user agent. Never written out. */
  readonly client: string;
}

export interface ProxyOptions {
  /** `http://host:port` of the server. */
  readonly origin: string;
  /** Certificates (PEM) that are trusted for it instead of the system's. */
  readonly ca?: Buffer;
  readonly listen: { readonly host: string; readonly port: number };
  /** Called with each exchange that has passed whole. Clients wait for it. */
  readonly onExchange: (exchange: ProxiedExchange) => void;
  /** Called if the server gave no answer, or only part of one, to a client that waits for it. */
  readonly onFailure: (reason: string) => void;
}

export type RecordingProxy = Awaited<ReturnType<typeof startProxy>>;

/**
 * Runs an unnoticeable proxy between clients and a server: status, headers and bytes pass in both directions, unchanged
 * and without delay. Each client connection has its own connection to the server, and ends with it. `Host` names the
 * server, as it would without a proxy; otherwise only what Node cannot write changes, such as a `Trailer` for a body
 * that cannot have one. Rejects if it cannot listen.
 */
export async function startProxy(options: ProxyOptions) {
  const upstreams = new Map<Socket, Upstream>();
  const sequence = { next: 0 };
  const create = withFollowed(createServer, {}, null);
  const server = create({ keepAlive: true, requireHostHeader: false, ...LONG_HEADS }, (incoming, outgoing) => {
    const upstream = upstreams.get(incoming.socket) ?? openUpstream(incoming.socket, options);
    upstreams.set(incoming.socket, upstream);
    sequence.next += 1;
    pass(incoming, outgoing, { ...options, upstream, sequence: sequence.next });
  });
  server.maxHeadersCount = 0;
  // The server, not the proxy, decides how long a connection stays open and a request may take.
  allowHalfClose(server);
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  // A client that waits before sending its body waits for the server.
  for (const expects of ['checkContinue', 'checkExpectation'])
    server.on(expects, (incoming, outgoing) => server.emit('request', incoming, outgoing));
  server.on('connection', (socket) => {
    socket.on('error', () => socket.destroy());
    // A client that has ended its side may still wait for answers, or be gone; the server decides, as it would without
    // a proxy.
    socket.on('end', () => upstreams.get(socket)?.endBehindRequests());
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
    url: urlOf(host, address),
    /** Accepts no new connections, and lets requests under way finish. */
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
  // When the server closes an idle connection, the client's is closed, too, as it would be without the proxy.
  agent.on('free', (socket: Socket) => {
    if (socket.listenerCount('close', endClient) === 0) socket.once('close', endClient);
    // The agent opens another one for each request that was still waiting when its client left.
    if (client.destroyed) socket.destroy();
  });
  function endClient(): void {
    if (!client.destroyed) client.end();
  }
  const open = secure ? httpsRequest : httpRequest;
  const options = {
    agent,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 443 : 80) : Number(port),
  };
  const unsent = new Set<ClientRequest>();
  let [isEnding, last]: [boolean, ClientRequest | null] = [false, null];
  const endWhenSent = () => {
    if (isEnding && unsent.size === 0) last?.socket?.end();
  };
  return {
    agent,
    /** Sends a client's request to the server; null if Node would not write it. */
    ask(incoming: IncomingMessage): ClientRequest | null {
      const { method, url: path } = incoming;
      try {
        const asked = open({ ...options, ...LONG_HEADS, method, path, headers: requestHeaders(incoming, host) });
        asked.maxHeadersCount = 0;
        return asked;
      } catch {
        return null;
      }
    },
    /** Follows a request until it has been sent whole. */
    follow(request: ClientRequest): void {
      unsent.add(request);
      last = request;
      const sent = () => {
        unsent.delete(request);
        endWhenSent();
      };
      request.on('finish', sent);
      request.on('close', sent);
    },
    /** Ends the client's side once every request has been sent. */
    endBehindRequests(): void {
      isEnding = true;
      endWhenSent();
    },
  };
}

/** Bytes; a server may accept longer heads than Node's default of 16 KiB. */
const LONG_HEADS = { maxHeaderSize: 1024 * 1024 };
const ONE_CONNECTION = { keepAlive: true, maxSockets: 1 };

interface Passing extends ProxyOptions {
  readonly upstream: Upstream;
  readonly sequence: number;
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, passing: Passing): void {
  const { upstream, onExchange, onFailure, sequence } = passing;
  const { method = 'GET', url: path = '/' } = incoming;
  const client = `${incoming.socket.remoteAddress} ${incoming.headers['user-agent'] ?? ''}`;
  const [requestBody, responseBody]: [Buffer[], Buffer[]] = [[], []];
  let hasLeft = false;
  const asked = upstream.ask(incoming);
  if (asked === null) {
    incoming.socket.destroy();
    return;
  }
  asked.on('information', (said) => passInformation(said, incoming, outgoing));
  asked.on('response', (answer) => {
    if (!passAnswer(answer, incoming, outgoing)) {
      asked.destroy(new Error('its answer is none that can be passed on'));
      return;
    }
    if (!asked.writableFinished) keepSending(asked);
    answer.on('data', (chunk: Buffer) => responseBody.push(chunk));
    answer.on('error', () => undefined);
    answer.on('close', () => {
      if (!answer.complete) {
        if (!hasLeft && !incoming.socket.readableEnded) onFailure(`${method}: the server ended its answer half-way`);
        outgoing.destroy();
        return;
      }
      // The server has answered a request that it did not read to its end.
      if (!incoming.readableEnded) return;
      onExchange({
        ...{ sequence, client, method, path },
        requestHeaders: headersIn(incoming.rawHeaders),
        requestBody: Buffer.concat(requestBody),
        status: answer.statusCode ?? 0,
        responseHeaders: headersIn(answer.rawHeaders),
        responseBody: Buffer.concat(responseBody),
      });
    });
  });
  upstream.follow(asked);
  asked.on('error', (error: NodeJS.ErrnoException) => {
    if (hasLeft || outgoing.headersSent) return;
    if (incoming.socket.readableEnded) {
      incoming.socket.destroy();
      return;
    }
    onFailure(`${method}: no answer from the server (${error.code ?? error.message})`);
    // Without an answer the only thing to pass on is the end of the connection.
    incoming.socket.destroy();
  });
  // An upgrade closes it without an error and without an answer.
  asked.on('close', () => outgoing.headersSent || incoming.socket.destroy());
  incoming.on('data', (chunk: Buffer) => requestBody.push(chunk));
  incoming.on('end', () => asked.addTrailers(trailersOf(incoming)));
  incoming.on('error', () => asked.destroy());
  outgoing.on('close', () => {
    if (outgoing.writableFinished) return;
    hasLeft = true;
    asked.destroy();
  });
  // The server may answer before any of the body arrives.
  if (framesBody(incoming)) asked.write(NOTHING);
  incoming.pipe(asked);
}

/** Makes Node write the head, which waits for a body's first bytes; a text would be of another encoding. */
const NOTHING = Buffer.alloc(0);

/** Begins to pass an answer on while it arrives; returns false if Node would not write it. */
function passAnswer(answer: IncomingMessage, { httpVersion }: IncomingMessage, outgoing: ServerResponse): boolean {
  const { statusCode = 0, statusMessage } = answer;
  if (statusCode < 200) return false;
  outgoing.sendDate = false;
  // Node would add its own; the server's is among its headers.
  outgoing.removeHeader('connection');
  // A body that ends with the connection does so for the client, too.
  if (!framesBody(answer) || httpVersion === '1.0') outgoing.removeHeader('transfer-encoding');
  outgoing.writeHead(statusCode, statusMessage, [...answerHeaders(answer, httpVersion)]);
  answer.on('end', () => outgoing.addTrailers(trailersOf(answer)));
  answer.pipe(outgoing);
  // After the pipe, so that data that came with the head goes out with it: Node delays a write until the answer has
  // delivered that data.
  outgoing.write(NOTHING);
  return true;
}

/** Keeps sending a request after its answer; Node reports room for more of it only until the answer is complete. */
function keepSending(asked: ClientRequest): void {
  const { socket } = asked;
  const drained = () => asked.emit('drain');
  socket?.on('drain', drained);
  asked.on('close', () => socket?.off('drain', drained));
}

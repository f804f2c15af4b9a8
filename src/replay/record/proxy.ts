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
  /** Told of each exchange that has passed whole. Clients wait for it. */
  readonly onExchange: (exchange: ProxiedExchange) => void;
  /** Told when the server gave no answer, or only a part of one, to a client that waits for it. */
  readonly onFailure: (reason: string) => void;
}

export type RecordingProxy = Awaited<ReturnType<typeof startProxy>>;

/**
 * Stands between clients and a server without being noticed: status, headers and bytes pass as they come, in both directions,
 * while they come. Each client connection has one connection of its own to the server, and ends with it. `Host` names the
 * server, as it would without a proxy; else only what Node cannot write changes, such as a `Trailer` where there is no room for one. Rejects when it cannot listen.
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
  // The server behind decides how long a connection stays open and a request may take, not the proxy.
  allowHalfClose(server);
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  // What a client waits for before it sends its body is the server's to say.
  for (const expects of ['checkContinue', 'checkExpectation'])
    server.on(expects, (incoming, outgoing) => server.emit('request', incoming, outgoing));
  server.on('connection', (socket) => {
    socket.on('error', () => socket.destroy());
    // A client that has ended its side may still wait for answers, or be gone: the server decides, as it would without a proxy.
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
    // The agent opens another for each request that still waited when its client left.
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
    /** Asks the server what a client asks; null for what Node would not write. */
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
    /** Follows a request until it has gone out whole. */
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
    /** Ends the side of the client, once every request has gone out. */
    endBehindRequests(): void {
      isEnding = true;
      endWhenSent();
    },
  };
}

/** A server may take longer heads than Node does by itself, which is 16 KiB. */
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
      // The server has answered what it did not read to its end.
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
    // Without an answer there is nothing to pass on but the end of the connection.
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
  // The server may answer before anything of the body comes.
  if (framesBody(incoming)) asked.write(NOTHING);
  incoming.pipe(asked);
}

/** Node writes the head with the first bytes of a body; with a text, as of another encoding. */
const NOTHING = Buffer.alloc(0);

/** Begins to pass an answer on, while it comes; false for one that Node would not write. */
function passAnswer(answer: IncomingMessage, { httpVersion }: IncomingMessage, outgoing: ServerResponse): boolean {
  const { statusCode = 0, statusMessage } = answer;
  if (statusCode < 200) return false;
  outgoing.sendDate = false;
  // Node would add its own; what the server says of the connection stands among its headers.
  outgoing.removeHeader('connection');
  // What ends with the connection ends so for the client, too.
  if (!framesBody(answer) || httpVersion === '1.0') outgoing.removeHeader('transfer-encoding');
  outgoing.writeHead(statusCode, statusMessage, [...answerHeaders(answer, httpVersion)]);
  answer.on('end', () => outgoing.addTrailers(trailersOf(answer)));
  answer.pipe(outgoing);
  // After the pipe, so that what came with the head goes out with it: Node holds a write back until the answer has handed that over.
  outgoing.write(NOTHING);
  return true;
}

/** Has the rest of a request go out after its answer, too: Node tells of room for more of it only until that has come whole. */
function keepSending(asked: ClientRequest): void {
  const { socket } = asked;
  const drained = () => asked.emit('drain');
  socket?.on('drain', drained);
  asked.on('close', () => socket?.off('drain', drained));
}

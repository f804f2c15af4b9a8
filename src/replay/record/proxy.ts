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
import { setImmediate } from 'node:timers/promises';
import { followConnections } from '../../sockets/followed-connections.js';
import { allowHalfClose } from '../../sockets/http-server.js';
import type { PassedExchange } from './describe.js';
import {
  answerHeaders,
  framesBody,
  headLength,
  passInformation,
  readExchange,
  requestHeaders,
  trailersOf,
  type UnreadHeads,
} from './passed-heads.js';

/** A request as its head says it. */
export interface ProxiedRequest extends Pick<PassedExchange, 'method' | 'path'> {
  /** Counts the requests in the order of their arrival. */
  readonly sequence: number;
  /** The same for all requests of one client: its address and what it calls itself. Never written out. */
  readonly client: string;
}

/** An exchange that passed, with what tells one client from another. */
export interface ProxiedExchange extends ProxiedRequest, PassedExchange {}

/** The same, before anybody has read its heads. */
export interface UnreadExchange
  extends ProxiedRequest,
    UnreadHeads,
    Pick<PassedExchange, 'status' | 'requestBody' | 'responseBody'> {}

/** Follows one request as it passes. */
export interface PassingWatch {
  /** Tells whether so many bytes more of it are kept; once they are not, nothing of it is. `letGo` has what was kept before let go of, at any time. */
  keeps(bytes: number, letGo: () => void): boolean;
  /** Takes the exchange, all of which was kept, and of which nothing can be let go any more. */
  passed(exchange: UnreadExchange): void;
  /** Told instead where not all of it was kept, or came. */
  unkept(): void;
}

export interface ProxyOptions {
  /** `http://host:port` of the server. */
  readonly origin: string;
  /** Certificates (PEM) that are trusted of it instead of the system's. */
  readonly ca?: Buffer;
  readonly listen: { readonly host: string; readonly port: number };
  /** Told of each request when its head has come. Clients wait for it, and for its watch. */
  readonly watch: (request: ProxiedRequest) => PassingWatch;
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
  const handingOut = new Set<Promise<void>>();
  const later = (work: Promise<void>) => {
    handingOut.add(work);
    void work.finally(() => handingOut.delete(work));
  };
  const sequence = { next: 0 };
  const plain = createServer({ keepAlive: true, requireHostHeader: false, ...LONG_HEADS }, (incoming, outgoing) => {
    const upstream = upstreams.get(incoming.socket) ?? openUpstream(incoming.socket, options);
    upstreams.set(incoming.socket, upstream);
    sequence.next += 1;
    pass(incoming, outgoing, { ...options, upstream, later, sequence: sequence.next });
  });
  const server = followConnections(plain);
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
    /** Lets requests under way come to their end, and no new connections in; resolves when all that passed was handed out. */
    async close() {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all(handingOut);
    },
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
  /** Takes what still hands an exchange out after its answer has. */
  readonly later: (work: Promise<void>) => void;
  readonly sequence: number;
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, passing: Passing): void {
  const { upstream, later, onFailure, sequence } = passing;
  const { method = 'GET', url: path = '/' } = incoming;
  const client = `${incoming.socket.remoteAddress} ${incoming.headers['user-agent'] ?? ''}`;
  const request = { sequence, client, method, path };
  const watch = passing.watch(request);
  const requestHead = incoming.rawHeaders;
  const kept = new KeptBodies(watch, headLength(requestHead, path));
  let [hasLeft, isHandedOut] = [false, false];
  const asked = upstream.ask(incoming);
  if (asked === null) {
    watch.unkept();
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
    const { statusCode: status = 0, rawHeaders: responseHead } = answer;
    kept.count(headLength(responseHead));
    answer.on('data', (chunk: Buffer) => kept.add('response', chunk));
    answer.on('error', () => undefined);
    answer.on('close', () => {
      if (!answer.complete) {
        if (!hasLeft && !incoming.socket.readableEnded) onFailure(`${method}: the server ended its answer half-way`);
        outgoing.destroy();
        return;
      }
      // The server has answered what it did not read to its end.
      if (!kept.isWhole || !incoming.readableEnded) return;
      isHandedOut = true;
      const handOut = () => {
        if (!kept.isWhole) {
          watch.unkept();
          return;
        }
        const [requestBody, responseBody] = [kept.body('request'), kept.body('response')];
        watch.passed({ ...request, requestHead, requestBody, status, responseHead, responseBody });
      };
      if (kept.isLarge) later(kept.gather().then(handOut));
      else handOut();
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
  // An answer that ended just now may still be on its way out of its stream.
  asked.on('close', () => setImmediate().then(() => isHandedOut || watch.unkept()));
  // An upgrade closes it without an error and without an answer.
  asked.on('close', () => outgoing.headersSent || incoming.socket.destroy());
  incoming.on('data', (chunk: Buffer) => kept.add('request', chunk));
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

/** Watches requests for somebody who wants all of every exchange. */
export function keepsAll(onExchange: (exchange: ProxiedExchange) => void): ProxyOptions['watch'] {
  const keep: PassingWatch = {
    keeps: () => true,
    passed: (exchange) => onExchange(readExchange(exchange)),
    unkept: () => undefined,
  };
  return () => keep;
}

/** Bytes of a body that is put together at once. */
const AT_ONCE = 1024 * 1024;

/** Bytes of memory that a piece of a body takes besides its own. */
const OF_PIECE = 128;

/** The two bodies of an exchange, as far as its watch lets them be kept. */
class KeptBodies {
  readonly #watch: PassingWatch;
  readonly #pieces: Record<'request' | 'response', Buffer[]> = { request: [], response: [] };
  #isWhole = true;

  constructor(watch: PassingWatch, head: number) {
    this.#watch = watch;
    this.count(head);
  }

  /** False once anything was not kept. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Counts what is kept elsewhere. */
  count(bytes: number): void {
    if (this.#isWhole && !this.#watch.keeps(bytes, this.#letGo)) this.#letGo();
  }

  add(of: 'request' | 'response', piece: Buffer): void {
    this.count(piece.length + OF_PIECE);
    if (this.#isWhole) this.#pieces[of].push(piece);
  }

  get isLarge(): boolean {
    return Math.max(lengthOf(this.#pieces.request), lengthOf(this.#pieces.response)) > AT_ONCE;
  }

  /** Puts the bodies together piece by piece: at once, 64 MiB would keep other clients waiting for some 50 ms. */
  async gather(): Promise<void> {
    for (const of of ['request', 'response'] as const) {
      const pieces = this.#pieces[of];
      const whole = Buffer.allocUnsafeSlow(lengthOf(pieces));
      let at = 0;
      for (const piece of pieces) {
        at += piece.copy(whole, at);
        await setImmediate();
      }
      if (this.#isWhole) this.#pieces[of] = [whole];
    }
  }

  body(of: 'request' | 'response'): Buffer {
    const [only, ...others] = this.#pieces[of];
    return only !== undefined && others.length === 0 ? only : Buffer.concat(this.#pieces[of]);
  }

  readonly #letGo = (): void => {
    this.#isWhole = false;
    this.#pieces.request = [];
    this.#pieces.response = [];
  };
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

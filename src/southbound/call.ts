import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import type { Socket } from 'node:net';

/** Where a server is called. */
export interface Target {
  /** `http://host:port`. */
  readonly origin: string;
  /** Where the API's paths begin, such as `/panel/api`. */
  readonly apiRoot: string;
  /** `{base}`, such as `/panel`; empty where a revision has none. */
  readonly base: string;
}

/** One request as it goes over the socket: the path is sent exactly as it stands. */
export interface Call {
  readonly method: string;
  readonly path: string;
  /** Sent as written; names may come in any case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Undefined: no body at all. */
  readonly body: Buffer | undefined;
  /** Instead of the caller's own, milliseconds. */
  readonly timeoutMilliseconds?: number;
  /** Told how many bytes of the answer's body have come. */
  readonly onProgress?: (bytes: number) => void;
  /** Given the body of a success as it comes, which is then none of the answer's. It does not reject. */
  readonly take?: (piece: Buffer) => Promise<void>;
}

/** What came back. Redirects are answers like any other: nobody follows them. */
export interface Answer {
  readonly status: number;
  /** By lower-case name; a repeated header's values joined with `, `. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** From when the request went to its connection to the first byte of the answer, milliseconds. */
  readonly firstByteMilliseconds: number;
}

/** Sends calls over connections that it keeps open. */
export interface Caller {
  /**
   * Rejects with `NoAnswer` when there is none: the server is down, closes half-way, is too slow; with another `Error` when
   * the call cannot be written. Nothing is ever sent a second time.
   */
  send(call: Call): Promise<Answer>;
  /** Ends every connection; what is under way rejects. */
  close(): void;
}

export interface CallerOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly origin: string;
  /** How long one exchange may take, to the last byte of its answer, in milliseconds. */
  readonly timeoutMilliseconds: number;
  /** How long a connection may be without a byte either way, in milliseconds; default as long as the exchange. */
  readonly silenceMilliseconds?: number;
  /** How many connections there may be at once; default 1, so that calls go one after the other. */
  readonly connections?: number;
  /** The Unix socket that is connected to instead of the origin. */
  readonly socketPath?: string;
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
  /** The most bytes that an answer's body may have; default 1 GiB. */
  readonly answerLimit?: number;
}

/** `unreachable`: no connection; `silent`: too slow; `broken`: the connection ended early, or what came is no HTTP. */
export type NoAnswerKind = 'unreachable' | 'silent' | 'broken';

/** There is no answer, or not a whole one. The message says why, for people. */
export class NoAnswer extends Error {
  readonly kind: NoAnswerKind;
  /** Whether the server may have got the request, or some of it. */
  readonly mayHaveArrived: boolean;

  constructor(kind: NoAnswerKind, message: string, mayHaveArrived: boolean) {
    super(message);
    this.name = 'NoAnswer';
    this.kind = kind;
    this.mayHaveArrived = mayHaveArrived;
  }
}

/**
 * Milliseconds after which a connection that nobody uses is closed. A server closes them too, as a rule after 5 s and more;
 * a write that meets such a close could neither be called done nor be sent again.
 */
const UNUSED = 4_000;

const ANSWER_LIMIT = 1024 * 1024 * 1024;

/** A caller over real sockets. Unlike `fetch` it rewrites no path and trims no header value. */
export function createCaller(options: CallerOptions): Caller {
  const { origin, timeoutMilliseconds, silenceMilliseconds = timeoutMilliseconds, connections = 1, ca } = options;
  const { hostname, port, protocol } = new URL(origin);
  const secure = protocol === 'https:';
  const settings = { keepAlive: true, maxSockets: connections, timeout: UNUSED };
  const agent = secure ? new SecureAgent({ ...settings, ...(ca === undefined ? {} : { ca }) }) : new Agent(settings);
  const peer: Peer = {
    open: secure ? httpsRequest : httpRequest,
    opened: secure ? 'secureConnect' : 'connect',
    options: {
      agent,
      ...(options.socketPath === undefined
        ? { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? (secure ? 443 : 80) : Number(port) }
        : { socketPath: options.socketPath }),
      timeout: silenceMilliseconds,
    },
    silence: silenceMilliseconds,
    answerLimit: options.answerLimit ?? ANSWER_LIMIT,
  };
  return {
    send: (call) => sendOnce(call, peer, call.timeoutMilliseconds ?? timeoutMilliseconds),
    close: () => agent.destroy(),
  };
}

interface Peer {
  readonly open: (options: RequestOptions, answered: (incoming: IncomingMessage) => void) => ClientRequest;
  /** The event by which a new connection says that it can be written to. */
  readonly opened: 'connect' | 'secureConnect';
  readonly options: RequestOptions;
  readonly silence: number;
  readonly answerLimit: number;
}

/** How far an exchange has come. */
interface Progress {
  connected: boolean;
  /** `performance.now()` of when the request went out. */
  sentAt: number;
  begun: boolean;
  /** Set when it was given up here: what ends it then says nothing of why. */
  slow: TooSlow | null;
}

function sendOnce(call: Call, peer: Peer, timeoutMilliseconds: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const progress: Progress = { connected: false, sentAt: performance.now(), begun: false, slow: null };
    const headers: Record<string, string> = Object.fromEntries(call.headers);
    if (call.body !== undefined) headers['content-length'] = String(call.body.length);
    const { method, path } = call;
    const outgoing = peer.open({ ...peer.options, method, path, headers }, (incoming) => {
      progress.begun = true;
      const firstByteMilliseconds = performance.now() - progress.sentAt;
      readAnswer(incoming, peer.answerLimit, call)
        .then((answer) => resolve({ ...answer, firstByteMilliseconds }))
        .catch(fail)
        .finally(() => clearTimeout(late));
    });
    const giveUp = (milliseconds: number) => {
      progress.slow = new TooSlow(milliseconds);
      outgoing.destroy(progress.slow);
    };
    const late = setTimeout(giveUp, timeoutMilliseconds, timeoutMilliseconds);
    const fail = (error: Error) => {
      clearTimeout(late);
      reject(noAnswer(error, progress));
    };
    outgoing.on('socket', (socket) => watchConnection(socket, peer.opened, progress));
    outgoing.on('timeout', () => giveUp(peer.silence));
    outgoing.on('error', fail);
    outgoing.end(call.body);
  });
}

function watchConnection(socket: Socket, opened: Peer['opened'], progress: Progress): void {
  const connected = () => {
    progress.connected = true;
    progress.sentAt = performance.now();
  };
  if (socket.connecting) socket.once(opened, connected);
  else connected();
}

class TooSlow extends Error {
  constructor(milliseconds: number) {
    super(`within ${milliseconds} ms`);
  }
}

/** An answer that is longer than anybody means to read. */
class TooLong extends Error {}

function noAnswer(error: Error, { connected, begun, slow }: Progress): NoAnswer {
  const what = begun ? 'an answer that ended half-way' : 'no answer';
  if (slow !== null)
    return new NoAnswer('silent', `${begun ? 'no whole answer' : 'no answer'} ${slow.message}`, connected);
  if (error instanceof TooLong) return new NoAnswer('broken', error.message, true);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const kind = connected ? 'broken' : 'unreachable';
  if (code === 'ECONNREFUSED') return new NoAnswer(kind, 'nobody listens there (ECONNREFUSED)', connected);
  if (code === 'ECONNRESET') return new NoAnswer(kind, `${what}: the connection was closed (ECONNRESET)`, connected);
  return new NoAnswer(kind, `${what}: ${error.message === '' ? code : error.message}`, connected);
}

async function readAnswer(
  incoming: IncomingMessage,
  limit: number,
  { take, onProgress }: Call,
): Promise<Omit<Answer, 'firstByteMilliseconds'>> {
  const status = incoming.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    if (take !== undefined && isSuccess(status)) await take(chunk);
    else chunks.push(chunk);
    length += chunk.length;
    if (length > limit) throw new TooLong(`an answer of more than ${limit} bytes`);
    onProgress?.(length);
  }
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(incoming.headersDistinct)) {
    if (value !== undefined) headers.set(name, value.join(', '));
  }
  return { status, headers, body: Buffer.concat(chunks) };
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

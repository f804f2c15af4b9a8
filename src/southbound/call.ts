import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';

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
}

/** What came back. */
export interface Answer {
  readonly status: number;
  /** By lower-case name; a repeated header's values joined with `, `. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** Sends calls one after the other over connections that it keeps open. */
export interface Caller {
  /** Rejects when there is no answer: the server is down, closes half-way, is too slow, or the call cannot be written. */
  send(call: Call): Promise<Answer>;
  close(): void;
}

export interface CallerOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly origin: string;
  /** How long one exchange may take, to the last byte of its answer, in milliseconds. */
  readonly timeoutMilliseconds: number;
}

/** A caller over real sockets. Unlike `fetch` it rewrites no path and trims no header value. */
export function createCaller({ origin, timeoutMilliseconds }: CallerOptions): Caller {
  const { hostname, port, protocol } = new URL(origin);
  const secure = protocol === 'https:';
  const settings = { keepAlive: true, maxSockets: 1 };
  const agent = secure ? new SecureAgent(settings) : new Agent(settings);
  const peer: Peer = {
    open: secure ? httpsRequest : httpRequest,
    options: {
      agent,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (secure ? 443 : 80) : Number(port),
    },
  };
  return {
    send: (call) => sendOnce(call, peer, timeoutMilliseconds),
    close: () => agent.destroy(),
  };
}

interface Peer {
  readonly open: (options: RequestOptions, answered: (incoming: IncomingMessage) => void) => ClientRequest;
  readonly options: RequestOptions;
}

function sendOnce(call: Call, peer: Peer, timeoutMilliseconds: number): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  const { promise, resolve, reject } = newPromise<Answer>();
  let begun = false;
  const headers: Record<string, string> = Object.fromEntries(call.headers);
  if (call.body !== undefined) headers['content-length'] = String(call.body.length);
  const fail = (error: Error) => reject(new Error(whyNoAnswer(error, signal, timeoutMilliseconds, begun)));
  const outgoing = peer.open({ ...peer.options, method: call.method, path: call.path, headers, signal }, (incoming) => {
    begun = true;
    readAnswer(incoming).then(resolve, fail);
  });
  outgoing.on('error', fail);
  outgoing.end(call.body);
  return promise;
}

interface Settled<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

function newPromise<T>(): Settled<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

function whyNoAnswer(error: Error, signal: AbortSignal, timeoutMilliseconds: number, begun: boolean): string {
  const what = begun ? 'an answer that ended half-way' : 'no answer';
  if (signal.aborted) return `${begun ? 'no whole answer' : 'no answer'} within ${timeoutMilliseconds} ms`;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ECONNREFUSED') return 'nobody listens there (ECONNREFUSED)';
  if (code === 'ECONNRESET') return `${what}: the connection was closed (ECONNRESET)`;
  return `${what}: ${error.message === '' ? code : error.message}`;
}

async function readAnswer(incoming: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(incoming.headersDistinct)) {
    if (value !== undefined) headers.set(name, value.join(', '));
  }
  return { status: incoming.statusCode ?? 0, headers, body: Buffer.concat(chunks) };
}

import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';

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
  /** `http://host:port`. */
  readonly origin: string;
  /** How long one exchange may take, in milliseconds. */
  readonly timeoutMilliseconds: number;
}

/** A caller over real sockets. Unlike `fetch` it rewrites no path and trims no header value. */
export function createCaller(options: CallerOptions): Caller {
  const { hostname, port } = new URL(options.origin);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const host = hostname.replace(/^\[|\]$/g, '');
  return {
    send: (call) => sendOnce(call, { agent, host, port: port === '' ? 80 : Number(port) }, options.timeoutMilliseconds),
    close: () => agent.destroy(),
  };
}

interface Peer {
  readonly agent: Agent;
  readonly host: string;
  readonly port: number;
}

function sendOnce(call: Call, peer: Peer, timeoutMilliseconds: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = Object.fromEntries(call.headers);
    if (call.body !== undefined) headers['content-length'] = String(call.body.length);
    const outgoing = httpRequest(
      { ...peer, method: call.method, path: call.path, headers, signal: AbortSignal.timeout(timeoutMilliseconds) },
      (incoming) => {
        readAnswer(incoming).then(resolve, reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(call.body);
  });
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

import { once } from 'node:events';
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-ports.js';
import { bytesOf } from './scripted-server.js';

/**
 * What goes wrong with one request.
 * `refused`: the connection is closed and the server never sees it. `done and lost`: the server has done it, and the connection is
 * closed without an answer. `cut off`: the answer ends in its middle. `answered`: somebody else answers. `late`: the answer
 * comes so many milliseconds later than the server gave it. `held`: the request reaches the server when `until` resolves.
 */
export type Fault =
  | { readonly kind: 'refused' | 'done and lost' | 'cut off' }
  | { readonly kind: 'late'; readonly milliseconds: number }
  | { readonly kind: 'held'; readonly until: Promise<unknown> }
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly type?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** Says what goes wrong with a request; null for nothing. */
export type Faults = (request: { readonly method: string; readonly path: string }) => Fault | null;

/** A proxy in front of a server, over which things go wrong. */
export interface FaultyProxy {
  readonly origin: string;
  /** From here on; requests under way keep theirs. */
  goesWrong(faults: Faults): void;
  /** Every request so far, as `METHOD path`. */
  readonly requests: readonly string[];
  /** Nobody listens any more, and every connection is closed. */
  stop(): Promise<void>;
  /** Listens again on the same port, perhaps in front of another server. */
  start(origin?: string): Promise<void>;
  close(): Promise<void>;
}

/** What a proxy listens with instead of plain HTTP. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export async function startFaultyProxy(upstream: string, certificate?: Certificate): Promise<FaultyProxy> {
  let faults: Faults = () => null;
  let behind = upstream;
  const requests: string[] = [];
  const agent = new Agent({ keepAlive: true });
  const listener: RequestListener = (request, response) => {
    const { method = '', url: path = '' } = request;
    requests.push(`${method} ${path}`);
    pass(request, response, faults({ method, path }), { origin: behind, agent }).catch(() => response.destroy());
  };
  // Nobody else may get it while nobody listens there.
  const port = await freePort();
  let server = await listening(listener, port, certificate);
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    origin: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests,
    goesWrong(next) {
      faults = next;
    },
    stop,
    async start(origin) {
      behind = origin ?? behind;
      server = await listening(listener, port, certificate);
    },
    async close() {
      if (server.listening) await stop();
      agent.destroy();
    },
  };
}

async function listening(listener: RequestListener, port: number, certificate?: Certificate): Promise<Server> {
  const server = certificate === undefined ? createServer(listener) : createSecureServer(certificate, listener);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

interface Behind {
  readonly origin: string;
  readonly agent: Agent;
}

async function pass(request: IncomingMessage, response: ServerResponse, fault: Fault | null, behind: Behind) {
  const body = await bytesOf(request);
  if (fault?.kind === 'refused') return void request.socket.destroy();
  if (fault?.kind === 'answered') {
    response.writeHead(fault.status, { 'content-type': fault.type ?? 'text/html', ...fault.headers });
    return void response.end(fault.body ?? '<!doctype html><title>another page</title>');
  }
  if (fault?.kind === 'held') await fault.until;
  const answer = await forward(request, body, behind);
  if (fault?.kind === 'done and lost') return void request.socket.destroy();
  if (fault?.kind === 'late') await sleep(fault.milliseconds);
  response.writeHead(answer.status, answer.headers);
  if (fault?.kind !== 'cut off') return void response.end(answer.body);
  response.write(answer.body.subarray(0, Math.ceil(answer.body.length / 2)), () => request.socket.destroy());
}

async function forward(request: IncomingMessage, body: Buffer, { origin, agent }: Behind) {
  const { method, url, headers } = request;
  const outgoing = httpRequest(origin, { method, path: url, headers, agent });
  outgoing.end(body);
  const [answer]: [IncomingMessage] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await bytesOf(answer) };
}

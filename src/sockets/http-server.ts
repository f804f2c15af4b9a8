import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { type CreateServer, withFollowed } from './followed-connections.js';

/** Makes a plain server that ends unused connections when it closes, and bodies of strangers that stall. */
export const createPlain: CreateServer = withFollowed(createServer);

/** Returns what is wrong with the `Host` of a request (RFC 9112, 3.2), or null. */
export function hostProblem({ headers, httpVersion, rawHeaders }: IncomingMessage): string | null {
  if (headers.host === undefined) return httpVersion === '1.1' ? 'the request has no Host header' : null;
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count > 1 ? 'the request has more than one Host header' : null;
}

/** Wraps `create` so that its servers refuse requests with a wrong `Host` before the app sees them. */
export function withHostCheck(create: CreateServer = createPlain): CreateServer {
  return (options, listener) =>
    create({ ...options, requireHostHeader: false }, (request, response) => {
      const error = hostProblem(request);
      if (error === null) listener(request, response);
      else
        response
          .writeHead(400, { 'content-type': 'application/json', connection: 'close' })
          .end(JSON.stringify({ error }));
    });
}

/** Milliseconds that the headers of a request may take, and between two looks for those that took longer. */
const HEADERS_TIMEOUT = 15_000;
const CONNECTION_CHECKS = 5_000;

/**
 * Milliseconds that an unused connection is kept: longer than proxies keep theirs, so that they close first, and longer
 * than the interval between reports or scrapes.
 */
const KEEP_ALIVE_TIMEOUT = 72_000;

/** The limits that differ between listeners. */
export interface ServerLimits {
  /** Milliseconds that a whole request may take. */
  readonly requestTimeout: number;
  /** In bytes; Node's default if absent. */
  readonly maxHeaderSize?: number;
}

/** Bodies are checked by the core's own schemas, so Fastify needs neither of its compilers, which take long to load. */
function noSchemas(): never {
  throw new Error('no route of Keyway has a schema of Fastify');
}

/** Returns the Fastify options of a listener: the same for every app except for its limits. */
export function listenerOptions(limits: ServerLimits, create: CreateServer = createPlain) {
  const options: ServerOptions = {
    ...limits,
    headersTimeout: HEADERS_TIMEOUT,
    connectionsCheckingInterval: CONNECTION_CHECKS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
  };
  return {
    serverFactory: (handler: RequestListener) => create(options, handler),
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    logger: false as const,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // A request that arrived before a stop is answered as usual, and its connection closed afterwards.
    return503OnClosing: false,
  };
}

/**
 * Lets a client that half-closes its connection after a request still get the answer (RFC 9293, 3.6). Otherwise Node
 * would end its own side at once; it still does when nothing is under way, and after the last answer.
 */
export function allowHalfClose(server: Server & { httpAllowHalfOpen?: boolean; allowHalfOpen?: boolean }): void {
  server.httpAllowHalfOpen = true;
  // Plain servers have the option; with TLS it belongs to the connection underneath.
  server.allowHalfOpen = true;
}

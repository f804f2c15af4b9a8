import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { type CreateServer, withFollowed } from './followed-connections.js';

/** A plain server, which ends what is unused when it closes, and bodies of strangers that do not come. */
export const createPlain: CreateServer = withFollowed(createServer);

/** Says why the `Host` of a request is wrong (RFC 9112, 3.2); null where it is not. */
export function hostProblem({ headers, httpVersion, rawHeaders }: IncomingMessage): string | null {
  if (headers.host === undefined) return httpVersion === '1.1' ? 'the request has no Host header' : null;
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count > 1 ? 'the request has more than one Host header' : null;
}

/** The same servers, refusing requests with a wrong `Host` before the app sees them. */
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
 * Milliseconds that an unused connection is kept: longer than proxies keep one, so that it is they who close it, and longer
 * than between two reports or scrapes.
 */
const KEEP_ALIVE_TIMEOUT = 72_000;

/** In what one listener differs from the others. */
export interface ServerLimits {
  /** Milliseconds that a whole request may take. */
  readonly requestTimeout: number;
  /** Bytes; default Node's. */
  readonly maxHeaderSize?: number;
}

/** Bodies are checked by the core's own schemas: Fastify needs neither of its compilers, which take long to load. */
function noSchemas(): never {
  throw new Error('no route of Keyway has a schema of Fastify');
}

/** Fastify options of a listener: the same for every app but for its limits. */
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
    // A request that had arrived when a stop began is answered as ever, and its connection closed behind it.
    return503OnClosing: false,
  };
}

/**
 * Has a client that ends its side after its request get the answer (RFC 9293, 3.6: a half-closed connection). Node ends its
 * own side at once otherwise, whatever is under way; so it goes on doing where nothing is, and after the last answer.
 */
export function allowHalfClose(server: Server & { httpAllowHalfOpen?: boolean; allowHalfOpen?: boolean }): void {
  server.httpAllowHalfOpen = true;
  // Plain servers have it; with TLS it is for the connection below.
  server.allowHalfOpen = true;
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server on loopback that answers by a script, for what no stand-in does. */
export interface ScriptedServer {
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  readonly port: number;
  /** Every request so far, as `METHOD path`. */
  readonly seen: string[];
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Starts one; the caller closes it. A script may write to the socket of a request instead of answering. */
export async function startScriptedServer(script: RequestListener, port = 0): Promise<ScriptedServer> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    script(request, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo; // It listens on a port.
  return {
    origin: `http://127.0.0.1:${address.port}`,
    port: address.port,
    seen,
    sockets,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        // Those that a script has taken over count as nobody's.
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Starts one that goes with the test. */
export async function scriptedServer(script: RequestListener): Promise<ScriptedServer> {
  const server = await startScriptedServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** The body of a request, whole. */
export async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  return (await bytesOf(request)).toString();
}

import { chmod, lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Where the feed listens. */
export type FeedAddress =
  | { readonly kind: 'port'; readonly host: string; readonly port: number }
  | { readonly kind: 'socket'; readonly path: string };

/** The owner and its group may connect: the data plane may run as another user. */
const SOCKET_MODE = 0o660;

/**
 * Listens; resolves to the address in words. A socket file that nobody listens on any more is replaced. Rejects with
 * Node's error (EADDRINUSE, EACCES, …).
 */
export async function listenFeed(app: FastifyInstance, address: FeedAddress): Promise<string> {
  if (address.kind === 'port') return app.listen({ host: address.host, port: address.port });
  await removeDeadSocket(address.path);
  await app.listen({ path: address.path });
  await chmod(address.path, SOCKET_MODE);
  return `unix:${address.path}`;
}

/** What a process that was killed has left. A file that is no socket stays, and listening fails. */
async function removeDeadSocket(path: string): Promise<void> {
  const isSocket = await lstat(path).then(
    (found) => found.isSocket(),
    () => false,
  );
  if (isSocket && !(await isAnswered(path))) await unlink(path);
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });
}

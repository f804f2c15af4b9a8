import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Door, Responder } from './udp.js';

const LIMITS = {
  connections: 512,
  perClient: 64,
  /** Questions of one connection that wait for their answers; more are read when some are answered. */
  waiting: 64,
  /** Answers that a client has not taken. */
  unsentBytes: 1 << 20,
  idleMs: 10_000,
};

/**
 * Listens over TCP: messages with their length before them, several at once on a connection, answered as the answers
 * come (RFC 7766 sections 6.2.1.1 and 8). Rejects with the system's error when it cannot bind.
 */
export async function openTcp(address: string, port: number, respond: Responder): Promise<Door> {
  const perClient = new Map<string, number>();
  const sockets = new Set<Socket>();
  // A client may end its side once it has asked; it is answered all the same.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const client = socket.remoteAddress ?? '';
    const open = (perClient.get(client) ?? 0) + 1;
    if (open > LIMITS.perClient || sockets.size >= LIMITS.connections) {
      socket.destroy();
      return;
    }
    perClient.set(client, open);
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      const left = (perClient.get(client) ?? 1) - 1;
      if (left === 0) perClient.delete(client);
      else perClient.set(client, left);
    });
    serve(socket, client, respond);
  });
  server.listen({ host: address, port, exclusive: true });
  await once(server, 'listening');
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    async close() {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

function serve(socket: Socket, address: string, respond: Responder): void {
  let pending: Buffer = Buffer.alloc(0);
  let waiting = 0;
  let ended = false;

  function finish(): void {
    if (ended && waiting === 0 && takeMessage() === null) socket.end();
  }

  /** The first complete message of what was received; null when there is none. */
  function takeMessage(): Buffer | null {
    if (pending.length < 2) return null;
    const end = 2 + pending.readUInt16BE(0);
    return pending.length < end ? null : pending.subarray(2, end);
  }

  async function answer(message: Buffer): Promise<void> {
    waiting += 1;
    const reply = await respond(message, { address, transport: 'tcp' });
    waiting -= 1;
    if (socket.destroyed) return;
    // What is no DNS over TCP is not worth a connection.
    if (reply === null) {
      socket.destroy();
      return;
    }
    const length = Buffer.alloc(2);
    length.writeUInt16BE(reply.length);
    socket.write(Buffer.concat([length, reply]));
    if (socket.writableLength > LIMITS.unsentBytes) socket.destroy();
    else readOn();
  }

  function readOn(): void {
    while (waiting < LIMITS.waiting && !socket.destroyed) {
      const message = takeMessage();
      if (message === null) break;
      pending = pending.subarray(message.length + 2);
      void answer(message);
    }
    if (waiting >= LIMITS.waiting) socket.pause();
    else socket.resume();
    finish();
  }

  socket.setTimeout(LIMITS.idleMs, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    readOn();
  });
  socket.on('end', () => {
    ended = true;
    finish();
  });
}

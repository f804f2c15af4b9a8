import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { callerNetwork, SHARE_NETWORK } from '../core/caller-network.js';
import { type BoundedConnection, createOpenConnections, type OpenConnections } from '../sockets/open-connections.js';
import type { Door, Responder } from './udp.js';

/** Limits of connections. Times are in milliseconds. */
export interface TcpLimits {
  /** The most connections, a quarter of them for a network (IPv6: /56); more close the longest idle one. */
  readonly connections: number;
  /** The most pending questions of one connection; more are read once some are answered. */
  readonly waiting: number;
  /** Bytes of unread answers beyond which no more questions are read until the client reads. */
  readonly unreadBytes: number;
  /** Bytes of unread answers beyond which the connection is closed, even if they were pending before. */
  readonly mostUnreadBytes: number;
  /** The time without a byte either way, or from the beginning of a question to its end. */
  readonly idle: number;
  /**
   * The time after which no more questions are read; pending ones are answered, and the connection closed (RFC 7766
   * section 6.2.3).
   */
  readonly lifetime: number;
}

export const TCP_LIMITS: TcpLimits = {
  connections: 256,
  waiting: 64,
  unreadBytes: 1 << 16,
  mostUnreadBytes: 1 << 20,
  idle: 10_000,
  lifetime: 120_000,
};

/** Milliseconds in which answers may still be sent after the end of a connection's lifetime. */
const LAST_ANSWERS_MS = 10_000;

interface Connection extends BoundedConnection {
  readonly close: () => void;
}

/**
 * Listens over TCP: messages with their length before them, several at once on a connection, answered in any order (RFC
 * 7766 sections 6.2.1.1 and 8). Rejects with the system's error if it cannot bind.
 */
export async function openTcp(
  address: string,
  port: number,
  respond: Responder,
  limits: TcpLimits = TCP_LIMITS,
): Promise<Door> {
  const open = createOpenConnections<Connection>(limits.connections);
  // A client that has ended its side after asking is still answered.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = serve(socket, respond, { limits, onQuestion: () => open.touch(connection) });
    makeRoom(open, connection.network);
    open.touch(connection);
    socket.once('close', () => open.remove(connection));
  });
  server.listen({ host: address, port, exclusive: true });
  await once(server, 'listening');
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    async close() {
      for (const { close } of open) close();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Closes a connection if another would be too many: the longest idle one, or if none is idle the one whose last
 * question is oldest.
 */
function makeRoom(open: OpenConnections<Connection>, network: string | null): void {
  const bound = open.passedBy(network);
  if (bound === null) return;
  const among = bound === 'share' ? network : null;
  const gone = open.idleLongest(among) ?? [...open].find((one) => among === null || one.network === among);
  if (gone === undefined) return;
  open.remove(gone);
  gone.close();
}

interface Serving {
  readonly limits: TcpLimits;
  /** Called when a whole question has come. */
  readonly onQuestion: () => void;
}

function serve(socket: Socket, respond: Responder, { limits, onQuestion }: Serving): Connection {
  const address = socket.remoteAddress ?? '';
  let pending: Buffer = Buffer.alloc(0);
  let waiting = 0;
  /** True once the client will ask nothing more. */
  let ended = false;
  /** Ends the connection if a question stays incomplete; a byte now and then does not count as activity. */
  let unfinished: NodeJS.Timeout | null = null;
  /** True after the connection's lifetime: data is read, to see its end, and ignored. */
  let expired = false;

  /** Returns the first complete message of the received data; null if there is none. */
  function takeMessage(): Buffer | null {
    if (pending.length < 2) return null;
    const end = 2 + pending.readUInt16BE(0);
    return pending.length < end ? null : pending.subarray(2, end);
  }

  function send(reply: Buffer | null): void {
    if (socket.destroyed) return;
    // A client that does not speak DNS over TCP is disconnected.
    if (reply === null) {
      socket.destroy();
      return;
    }
    const length = Buffer.alloc(2);
    length.writeUInt16BE(reply.length);
    socket.write(Buffer.concat([length, reply]));
    if (socket.writableLength > limits.mostUnreadBytes) socket.destroy();
  }

  async function sendLater(reply: Promise<Buffer | null>): Promise<void> {
    waiting += 1;
    send(await reply);
    waiting -= 1;
    readOn();
  }

  function stopWaiting(): void {
    if (unfinished !== null) clearTimeout(unfinished);
    unfinished = null;
  }

  const isFull = () => waiting >= limits.waiting || socket.writableLength > limits.unreadBytes;

  function readOn(): void {
    while (!isFull() && !socket.destroyed) {
      const message = takeMessage();
      if (message === null) break;
      pending = pending.subarray(message.length + 2);
      onQuestion();
      stopWaiting();
      const reply = respond(message, { address, transport: 'tcp' });
      if (reply instanceof Promise) void sendLater(reply);
      else send(reply);
    }
    if (socket.destroyed) return;
    if (pending.length > 0 && takeMessage() === null) unfinished ??= setTimeout(close, limits.idle).unref();
    if (isFull() && !expired) socket.pause();
    else socket.resume();
    if (waiting === 0 && (expired || (ended && takeMessage() === null))) socket.end();
  }

  const close = () => socket.destroy();
  const life = setTimeout(() => {
    expired = true;
    pending = Buffer.alloc(0);
    stopWaiting();
    readOn();
    setTimeout(close, LAST_ANSWERS_MS).unref();
  }, limits.lifetime);
  life.unref();

  socket.setTimeout(limits.idle, close);
  socket.on('error', close);
  socket.once('close', () => {
    clearTimeout(life);
    stopWaiting();
  });
  socket.on('drain', readOn);
  socket.on('data', (chunk) => {
    if (expired) return;
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    readOn();
  });
  socket.on('end', () => {
    ended = true;
    readOn();
  });
  return { network: callerNetwork(address, SHARE_NETWORK), isBusy: () => waiting > 0, close };
}

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';

/** Answers a message with bytes, bytes later, or nothing. It neither throws nor rejects. */
export type Responder = (packet: Buffer, client: Client) => Buffer | null | Promise<Buffer | null>;

/** The sender of a query. */
export interface Client {
  readonly address: string;
  readonly transport: 'udp' | 'tcp';
}

/** A bound socket. */
export interface Door {
  readonly port: number;
  close(): Promise<void>;
}

/** The buffer in bytes that is asked for; bursts wait in it while the event loop is busy. */
const RECEIVE_BYTES = 1 << 20;

/** Listens over UDP (RFC 1035 section 4.2.1). Rejects with the system's error if it cannot bind. */
export async function openUdp(address: string, port: number, respond: Responder): Promise<Door> {
  const socket = createSocket({
    type: isIP(address) === 6 ? 'udp6' : 'udp4',
    recvBufferSize: RECEIVE_BYTES,
    // Replies go to an IP address, so there is nothing to look up.
    lookup: (host, _options, callback) => callback(null, host, isIP(host)),
  });
  socket.on('message', (packet, client) => {
    const reply = respond(packet, { address: client.address, transport: 'udp' });
    if (reply instanceof Promise) void reply.then((bytes) => send(socket, bytes, client));
    else send(socket, reply, client);
  });
  // With this look-up the socket may be bound before the call returns.
  const listening = once(socket, 'listening');
  socket.bind({ address, port, exclusive: true });
  try {
    await listening;
  } catch (error) {
    socket.close();
    throw error;
  }
  // Later errors concern single datagrams that could not be delivered.
  socket.on('error', () => undefined);
  let closed: Promise<unknown> | null = null;
  return {
    port: socket.address().port,
    async close() {
      if (closed === null) {
        closed = once(socket, 'close');
        socket.close();
      }
      await closed;
    },
  };
}

/** Sends a reply. One that cannot be sent is lost, as datagrams may be; the client asks again. */
function send(socket: Socket, reply: Buffer | null, client: RemoteInfo): void {
  if (reply === null) return;
  try {
    socket.send(reply, client.port, client.address, () => undefined);
  } catch {
    // The socket was closed before the answer, or the datagram came from port 0.
  }
}

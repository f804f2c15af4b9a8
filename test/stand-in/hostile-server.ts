import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

/** What a server does with a connection once a request has come. */
export interface Misdeed {
  /** Bytes that it sends, piece after piece. */
  readonly pieces: readonly Buffer[];
  /** Between two pieces, ms; 0 for all at once. */
  readonly every: number;
  /** Sends the last piece again and again. */
  readonly endless?: boolean;
  readonly afterwards: 'keeps it open' | 'ends' | 'resets';
}

/** A server on a raw socket that says whatever it is told to. */
export interface HostileServer {
  readonly origin: string;
  /** Connections that are open. */
  readonly open: number;
  /** Bytes that it could send, ever. */
  readonly sent: number;
  close(): Promise<void>;
}

/** `misdeedOf` is given the request's head; null is answered by nothing. */
export async function startHostileServer(
  misdeedOf: (head: string) => Misdeed | null,
  port = 0,
): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let come = '';
    socket.on('data', (bytes) => {
      come += bytes.toString('latin1');
      const end = come.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = come.slice(0, end);
      // What follows is the body, or the next request: nobody looks at it.
      come = '';
      const misdeed = misdeedOf(head);
      if (misdeed !== null)
        play(socket, misdeed, (length) => {
          sent += length;
        });
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo; // It listens on a port.
  return {
    origin: `http://127.0.0.1:${address.port}`,
    get open() {
      return sockets.size;
    },
    get sent() {
      return sent;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function play(
  socket: Socket,
  { pieces, every, endless = false, afterwards }: Misdeed,
  wrote: (length: number) => void,
): void {
  let at = 0;
  const step = (): void => {
    if (socket.destroyed) return;
    const piece = pieces[endless ? Math.min(at, pieces.length - 1) : at];
    if (piece === undefined) {
      end();
      return;
    }
    at += 1;
    wrote(piece.length);
    const isTaken = socket.write(piece);
    if (every > 0) setTimeout(step, every);
    else if (isTaken) setImmediate(step);
    else socket.once('drain', step);
  };
  const end = (): void => {
    if (afterwards === 'ends') socket.end();
    else if (afterwards === 'resets') socket.resetAndDestroy();
  };
  step();
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

/** A success with this body, as a whole. */
export function wholeAnswer(body: string): Misdeed {
  const head = `${HEAD}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return { pieces: [Buffer.from(head + body)], every: 0, afterwards: 'keeps it open' };
}

/** The misdeeds that have a name; each is of an answer to any request. */
export const MISDEEDS = {
  /** Ends the request of Node's client without an answer. */
  switches: {
    pieces: [Buffer.from('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')],
    every: 0,
    afterwards: 'keeps it open',
  },
  /** One byte a second, so many times as fast. */
  drips: (times = 1): Misdeed => ({
    pieces: [Buffer.from(`${HEAD}Content-Length: 100000\r\n\r\n`), Buffer.from(' ')],
    every: 1_000 / times,
    endless: true,
    afterwards: 'keeps it open',
  }),
  /** A list of keys without an end. */
  endless: {
    pieces: [Buffer.from(`${HEAD}Connection: close\r\n\r\n{"ok":true,"data":[`), manyKeys()],
    every: 0,
    endless: true,
    afterwards: 'keeps it open',
  },
  resets: { pieces: [Buffer.from(`${HEAD}Content-Length: 100\r\n\r\n{"ok":`)], every: 0, afterwards: 'resets' },
} as const satisfies Record<string, Misdeed | ((times?: number) => Misdeed)>;

function manyKeys(): Buffer {
  const key = (index: number) => ({
    access_key: `endless-${index}`,
    name: `name ${index}`,
    bytes_up: 0,
    bytes_down: 0,
    connections: 0,
    limit_bytes: null,
    online: false,
  });
  return Buffer.from(Array.from({ length: 200 }, (_, index) => `${JSON.stringify(key(index))},`).join(''));
}

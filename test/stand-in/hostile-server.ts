import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { startScriptedServer } from './scripted-server.js';

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

/** A scripted server that writes whatever bytes it is told to. */
export interface HostileServer {
  readonly origin: string;
  /** Connections that are open. */
  readonly open: number;
  /** Bytes that it could send, ever. */
  readonly sent: number;
  close(): Promise<void>;
}

/** `misdeedOf` is given the request's head; null is answered by nothing. Bodies are read and thrown away. */
export async function startHostileServer(
  misdeedOf: (head: string) => Misdeed | null,
  port = 0,
): Promise<HostileServer> {
  let sent = 0;
  const server = await startScriptedServer((request) => {
    request.resume();
    const misdeed = misdeedOf(headOf(request));
    if (misdeed === null) return;
    play(request.socket, misdeed, (length) => {
      sent += length;
    });
  }, port);
  return {
    origin: server.origin,
    get open() {
      return server.sockets.size;
    },
    get sent() {
      return sent;
    },
    close: server.close,
  };
}

function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  const fields = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : []));
  return [`${method} ${url} HTTP/1.1`, ...fields].join('\r\n');
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

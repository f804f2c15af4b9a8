import { once } from 'node:events';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection on which a test says what it likes. */
export interface RawClient {
  readonly socket: Socket;
  /** What has come so far. */
  text(): string;
  /** Resolves when this has come; rejects when the connection closes before. */
  received(expected: RegExp): Promise<string>;
  /** Resolves to all that came, once the server has ended its side or reset the connection. */
  readonly ended: Promise<string>;
  isEnded(): boolean;
}

/** Connects; the client's side stays open when the server ends its own. */
export async function openRaw(to: NetConnectOpts): Promise<RawClient> {
  const client = rawClient(connect({ ...to, allowHalfOpen: true }));
  await once(client.socket, 'connect');
  return client;
}

/** The same on a socket that is there, such as one with TLS. */
export function rawClient(socket: Socket): RawClient {
  onTestFinished(() => void socket.destroy());
  let text = '';
  let over = false;
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  // A connection that is reset has ended, too.
  socket.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    const end = () => {
      over = true;
      resolve(text);
    };
    socket.once('end', end).once('close', end);
  });
  return {
    socket,
    text: () => text,
    ended,
    isEnded: () => over,
    received: (expected) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (expected.test(text)) resolve(text);
          else if (over) reject(new Error(`the connection ended after ${JSON.stringify(text)}`));
        };
        look();
        socket.on('data', look);
        void ended.then(look);
      }),
  };
}

/** A request as it stands on the wire. */
export function rawRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): string {
  const length: Readonly<Record<string, string>> =
    body === '' ? {} : { 'content-length': `${Buffer.byteLength(body)}` };
  const lines = Object.entries({ host: 'x', ...length, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

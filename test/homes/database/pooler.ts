import { createConnection, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * A pooler in transaction mode, at its worst: every transaction gets another connection to the database, and nothing of one
 * is left for the next. It speaks the protocol of PostgreSQL (documentation, 55.7) as far as it must.
 */
export async function poolerForTest(target: string): Promise<string> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();

  const pooler = createServer((client) => {
    open.add(client);
    client.setNoDelay(true);
    let startup: Buffer | null = null;
    let waiting = Buffer.alloc(0);
    let server: Socket | null = null;

    function begin(message: Buffer): Socket {
      const socket = createConnection(Number(port), hostname);
      open.add(socket);
      socket.setNoDelay(true);
      socket.write(message);
      let isGreeted = false;
      let bytes = Buffer.alloc(0);
      socket.on('data', (chunk) => {
        bytes = Buffer.concat([bytes, chunk]);
        for (;;) {
          if (bytes.length < 5 || bytes.length < 1 + bytes.readInt32BE(1)) return;
          const length = 1 + bytes.readInt32BE(1);
          const one = bytes.subarray(0, length);
          bytes = bytes.subarray(length);
          const isReady = one[0] === 0x5a;
          // The greeting of this connection is not the client's.
          if (isGreeted) client.write(one);
          if (isReady && !isGreeted) isGreeted = true;
          else if (isReady && one[5] === 0x49) {
            server = null;
            socket.end(Buffer.from([0x58, 0, 0, 0, 4]));
            return;
          }
        }
      });
      socket.on('error', () => client.destroy());
      return socket;
    }

    client.on('data', (chunk) => {
      waiting = Buffer.concat([waiting, chunk]);
      if (startup === null) {
        if (waiting.length < 4 || waiting.length < waiting.readInt32BE(0)) return;
        startup = Buffer.from(waiting.subarray(0, waiting.readInt32BE(0)));
        waiting = waiting.subarray(startup.length);
        client.write(GREETING);
      }
      while (waiting.length >= 5 && waiting.length >= 1 + waiting.readInt32BE(1)) {
        const length = 1 + waiting.readInt32BE(1);
        const one = waiting.subarray(0, length);
        waiting = waiting.subarray(length);
        if (one[0] === 0x58) {
          client.end();
          return;
        }
        server ??= begin(startup);
        server.write(one);
      }
    });
    client.on('error', () => server?.destroy());
    client.on('close', () => server?.destroy());
  });
  await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => pooler.close(resolve));
  });
  const address = pooler.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  const url = new URL(target);
  url.port = `${address.port}`;
  return url.href;
}

/** AuthenticationOk, BackendKeyData of a process that is none, ReadyForQuery. */
const GREETING = Buffer.from([
  ...[0x52, 0, 0, 0, 8, 0, 0, 0, 0],
  ...[0x4b, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1],
  ...[0x5a, 0, 0, 0, 5, 0x49],
]);

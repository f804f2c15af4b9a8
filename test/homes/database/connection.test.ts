import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openConnections } from '../../../src/homes/database/connection.js';

/** A message of the protocol: its letter, its length with itself, and what it holds (PostgreSQL documentation, 54.7). */
function message(letter: string, ...parts: readonly (number | string)[]): Buffer {
  const held = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([0, 0, 0, part]))),
  );
  return Buffer.concat([Buffer.from(letter), Buffer.from([0, 0, 0, held.length + 4]), held]);
}

/** Asks for a password as PostgreSQL does by default (RFC 5802). */
async function serverThatAsksForAPassword(): Promise<string> {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(message('R', 10, 'SCRAM-SHA-256\0\0'));
      socket.once('data', (asked: Buffer) => {
        const [, nonce = ''] = /r=([^,]*)$/.exec(asked.toString('latin1')) ?? [];
        socket.write(message('R', 11, `r=${nonce}more,s=c2FsdA==,i=4096`));
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `postgres://keyway@127.0.0.1:${(server.address() as AddressInfo).port}/keyway`;
}

it('says where a password belongs when the database asks for one and there is none', async () => {
  const connections = openConnections({ url: await serverThatAsksForAPassword(), most: 1 });
  onTestFinished(() => connections.close());
  await expect(connections.run('select 1', 1_000)).rejects.toMatchObject({
    reached: 'not sent',
    message: expect.stringContaining('it asks for a password: give it in KEYWAY_DATABASE_URL'),
  });
});

import { randomFillSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { sendBody } from '../../src/northbound/answers.js';
import { scriptedServer } from '../stand-in/scripted-server.js';
import { gatewayForTest, listen } from './gateway.js';

const options = { mounts: [{ revision: 'current' }] };

async function gatewayWithKeys(count: number) {
  const app = await gatewayForTest(options);
  for (let index = 0; index < count; index += 1) {
    app.keyway.local?.keys.create({ accessKey: `key-${index}`, name: 'n'.repeat(200), limitBytes: null });
  }
  return { app, port: await listen(app) };
}

it('a list of several megabytes arrives whole, also on a connection that goes on', async () => {
  const { port } = await gatewayWithKeys(10_000);
  for (let round = 0; round < 2; round += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/panel/api/users`, {
      headers: { 'accept-encoding': 'identity' },
    });
    const body = (await answer.json()) as { data: unknown[] };
    expect([body.data.length, answer.status]).toEqual([10_000, 200]);
  }
});

it('HEAD of a large list has its length and no body', async () => {
  const { port } = await gatewayWithKeys(5000);
  const answer = await fetch(`http://127.0.0.1:${port}/panel/api/users`, {
    method: 'HEAD',
    headers: { 'accept-encoding': 'identity' },
  });
  expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(1_000_000);
  expect(await answer.text()).toBe('');
});

it('a client that goes away in the middle of a list leaves no connection behind', async () => {
  const { app, port } = await gatewayWithKeys(10_000);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /panel/api/users HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  const open = () => new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
  await vi.waitFor(async () => expect(await open()).toBe(0), { timeout: 20_000 });
});

const MIB = 1 << 20;
/** More than the system takes for a client that does not read. */
const LARGE = 40 * MIB;

/** A server of one large body, and of a small one at any other path than `/large`. */
async function bodies(onLarge: (response: ServerResponse) => void = () => undefined) {
  const body = randomFillSync(Buffer.allocUnsafe(LARGE));
  const responses: ServerResponse[] = [];
  const { port } = await scriptedServer((request, response) => {
    if (request.url !== '/large') return sendBody(response, 'small', 5);
    responses.push(response);
    onLarge(response);
    response.writeHead(200, { 'content-length': LARGE });
    sendBody(response, body, LARGE);
  });
  return { body, port, response: () => responses[0] };
}

it('a client that reads slowly is never handed more than a slice ahead, keeps nobody waiting, and gets all of it', async () => {
  const { body, port, response } = await bodies();
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write('GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const read: Buffer[] = [];
  let length = 0;
  /** Reads on until so many more bytes are here, and no further. */
  const readMore = (bytes: number) =>
    new Promise<void>((resolve) => {
      const enough = Math.min(length + bytes, LARGE);
      const take = (chunk: Buffer) => {
        read.push(chunk);
        length += chunk.length;
        if (length < enough) return;
        socket.off('data', take).pause();
        resolve();
      };
      socket.on('data', take).resume();
    });
  for (let pause = 0; pause < 5; pause += 1) {
    await readMore(4 * MIB);
    // Turns enough to hand all of it over.
    for (let turn = 0; turn < 2 * (LARGE / MIB); turn += 1) await new Promise(setImmediate);
    expect(await (await fetch(`http://127.0.0.1:${port}/small`)).text()).toBe('small');
    expect(response()?.writableEnded).toBe(false);
    expect(response()?.writableLength).toBeLessThanOrEqual(MIB);
  }
  socket.on('data', (chunk: Buffer) => read.push(chunk)).resume();
  await new Promise((resolve) => socket.once('end', resolve));
  const whole = Buffer.concat(read);
  expect(whole.subarray(whole.indexOf('\r\n\r\n') + 4).equals(body)).toBe(true);
  expect(response()?.writableFinished).toBe(true);
});

it('between two slices of a large body the event loop turns, so that others are served', async () => {
  /** How many slices were handed over, at every turn. */
  const handed: number[] = [];
  const { body, port } = await bodies((response) => {
    const write = vi.spyOn(response, 'write');
    const look = () => {
      handed.push(write.mock.calls.length);
      if (!response.writableEnded) setImmediate(look);
    };
    setImmediate(look);
  });
  const answer = await fetch(`http://127.0.0.1:${port}/large`);
  expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true);
  // The client may have all of it before the last look.
  await expect.poll(() => handed.at(-1)).toBe(LARGE / MIB);
  const between = handed.map((count, turn) => count - (handed[turn - 1] ?? 0));
  expect(Math.max(...between)).toBe(1);
});

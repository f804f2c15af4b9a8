import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openTcp, TCP_LIMITS, type TcpLimits } from '../../src/dns/tcp.js';
import type { Responder } from '../../src/dns/udp.js';
import { cleanUp, later, until } from './harness.js';

afterEach(cleanUp);

const echo: Responder = (packet) => packet;

async function listening(respond: Responder, limits: Partial<TcpLimits> = {}): Promise<number> {
  const door = await openTcp('127.0.0.1', 0, respond, { ...TCP_LIMITS, ...limits });
  later(() => door.close());
  return door.port;
}

/** A connection from an address of this machine, with what comes on it and whether it has ended. */
async function client(port: number, localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  later(async () => socket.destroy());
  const state = { socket, received: 0, closed: false };
  socket.on('data', (chunk) => {
    state.received += chunk.length;
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    state.closed = true;
  });
  await once(socket, 'connect');
  return state;
}

const MESSAGE = Buffer.from([0, 4, 1, 2, 3, 4]);

/** Asks, and waits for the echo. */
async function ask(asking: { readonly socket: Socket; readonly received: number }): Promise<void> {
  const before = asking.received;
  asking.socket.write(MESSAGE);
  await until(() => asking.received >= before + MESSAGE.length, 'it is answered');
}

describe('a DNS connection over TCP', () => {
  it('is closed when its time is over, however much is asked on it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const port = await listening(echo, { lifetime: 1_000 });
    const busy = await client(port);
    const asking = setInterval(() => busy.socket.write(MESSAGE), 5);
    later(async () => clearInterval(asking));
    for (let answered = 0; answered < 5; answered += 1) await ask(busy);
    vi.advanceTimersByTime(1_000);
    await until(() => busy.closed, 'it is closed');
  });

  it('gets the answer that is on its way when its time is over, and nothing to what comes later', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const release: (() => void)[] = [];
    const port = await listening((packet) => new Promise<Buffer>((resolve) => release.push(() => resolve(packet))), {
      lifetime: 1_000,
    });
    const late = await client(port);
    late.socket.write(MESSAGE);
    await expect.poll(() => release.length).toBe(1);
    vi.advanceTimersByTime(1_000);
    late.socket.write(MESSAGE);
    release[0]?.();
    await expect.poll(() => late.closed).toBe(true);
    expect([late.received, release.length]).toEqual([MESSAGE.length, 1]);
  });

  it.each([
    ['when its time is over', { lifetime: 300 }],
    ['as if none came', { idle: 300 }],
  ])('on which bytes come one by one and no question is closed %s', async (_, limits) => {
    const port = await listening(echo, limits);
    const dripping = await client(port);
    const drip = setInterval(() => dripping.socket.write(Buffer.from([255])), 5);
    later(async () => clearInterval(drip));
    await until(() => dripping.closed, 'it is closed');
    expect(dripping.received).toBe(0);
  });

  it('whose client has ended its side gets all its answers, however late they come', async () => {
    const release: (() => void)[] = [];
    const port = await listening((packet) => new Promise<Buffer>((resolve) => release.push(() => resolve(packet))));
    const half = await client(port);
    half.socket.end(Buffer.concat(Array.from({ length: 100 }, () => MESSAGE)));
    await until(() => release.length === TCP_LIMITS.waiting, 'as many wait as may');
    for (let next = 0; next < 100; next++) {
      await until(() => release.length > next, 'the next question is read');
      release[next]?.();
    }
    await until(() => half.closed, 'it is closed');
    expect(half.received).toBe(100 * MESSAGE.length);
  });

  it('whose client asks on and takes no answer is asked no more of, and gets all when it takes them', async () => {
    const questions = 3000;
    let asked = 0;
    const large = Buffer.alloc(16_000);
    const port = await listening(
      () => {
        asked += 1;
        return large;
      },
      { idle: 60_000 },
    );
    const silent = await client(port);
    silent.socket.pause();
    silent.socket.write(Buffer.concat(Array.from({ length: questions }, () => MESSAGE)));
    let before = -1;
    await until(async () => {
      const stands = asked > 0 && asked === before;
      before = asked;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return stands;
    }, 'no more is asked of');
    expect(asked).toBeLessThan(questions);
    silent.socket.resume();
    await until(() => silent.received === questions * (large.length + 2), 'all answers have come');
  });
});

describe('DNS connections over TCP', () => {
  it('beyond the share of an address close the one of that address that is idle longest', async () => {
    const port = await listening(echo, { connections: 8 });
    const other = await client(port, '127.0.0.2');
    await ask(other);
    const [first, second] = [await client(port), await client(port)];
    await ask(first);
    await ask(second);
    await ask(first);
    const third = await client(port);
    await until(() => second.closed, 'the one idle longest is closed');
    await ask(third);
    await ask(first);
    await ask(other);
  });

  it('beyond all that there may be close the one that is idle longest, and none that waits for an answer', async () => {
    const release: (() => void)[] = [];
    const slow: Responder = (packet) =>
      packet[0] === 9 ? new Promise((resolve) => release.push(() => resolve(packet))) : packet;
    const port = await listening(slow, { connections: 3 });
    const waiting = await client(port, '127.0.0.2');
    waiting.socket.write(Buffer.from([0, 1, 9]));
    await until(() => release.length === 1, 'it waits for its answer');
    const [older, newer] = [await client(port, '127.0.0.3'), await client(port, '127.0.0.4')];
    await ask(older);
    await ask(newer);
    await ask(await client(port, '127.0.0.5'));
    await until(() => older.closed, 'the one idle longest is closed');
    release[0]?.();
    await until(() => waiting.received === 3, 'it has its answer');
    expect([waiting.closed, newer.closed]).toEqual([false, false]);
  });

  it('by default leave three quarters of them to others, whatever one address opens', async () => {
    const port = await listening(echo);
    const other = await client(port, '127.0.0.2');
    await ask(other);
    const many = await Promise.all(Array.from({ length: 100 }, () => client(port)));
    await until(
      () => many.filter(({ closed }) => closed).length === 100 - TCP_LIMITS.connections / 4,
      'some are closed',
    );
    await ask(other);
    expect(other.closed).toBe(false);
  });
});

import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../src/index.js';
import { openRaw, rawRequest } from '../raw-client.js';
import { gatewayForTest, listen, PASSWORD_HASH } from './gateway.js';

const AUDIT = '/panel/api/audit';
const JSON_TYPE = { 'content-type': 'application/json' };
const LISTENER = { token: 'right', username: 'admin', passwordHash: PASSWORD_HASH };
const MEBIBYTE = 1024 * 1024;

/** A gateway with a full audit list, whose clock goes on by itself alone when it is told to. */
async function full(options: Partial<GatewayOptions> = {}) {
  let now = 0;
  const clock = { now: () => 0, monotonic: () => now };
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener: LISTENER, clock, ...options });
  for (let n = 0; n < 100; n += 1)
    app.keyway.core.audit.add({ eventEn: 'x'.repeat(2_000), eventRu: 'y'.repeat(2_000), success: true });
  const ask = (remoteAddress: string, headers = {}, url = AUDIT) => app.inject({ url, headers, remoteAddress });
  /** Reads until it is refused; gives how many bytes came. */
  async function drained(remoteAddress: string, url = AUDIT, headers = {}) {
    for (let bytes = 0; ; ) {
      const answer = await ask(remoteAddress, headers, url);
      if (answer.statusCode !== 200) return { bytes, answer };
      bytes += answer.rawPayload.length;
      if (bytes > 8 * MEBIBYTE) throw new Error('nothing is refused');
    }
  }
  const passes = (milliseconds: number) => {
    now += milliseconds;
  };
  return { ask, drained, passes };
}

it('a network that reads the audit list without a credential is refused beyond a megabyte a second, and told until when', async () => {
  const { ask, drained, passes } = await full();
  const first = await drained('203.0.113.5');
  expect(first.answer.statusCode).toBe(429);
  expect(first.answer.json()).toEqual({ ok: false, error: 'too many requests without a credential: try again' });
  expect(first.answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  passes(Number(first.answer.headers['retry-after']) * 1000);
  expect((await ask('203.0.113.5')).statusCode).toBe(200);
  let sent = first.bytes;
  for (let second = 0; second < 15; second += 1) {
    passes(1_000);
    sent += (await drained('203.0.113.5')).bytes;
  }
  expect(sent / 15).toBeLessThan(1_000_000);
  expect((await ask('203.0.113.6')).statusCode).toBe(200);
});

it('counts a /56 of IPv6 as one network', async () => {
  const { ask, drained } = await full();
  await drained('2001:db8:1:201::1');
  expect((await ask('2001:db8:1:2ff::9')).statusCode).toBe(429);
  expect((await ask('2001:db8:1:300::1')).statusCode).toBe(200);
});

it('a caller with a credential, and a peer of this machine, read on', async () => {
  const { ask, drained } = await full();
  await drained('203.0.113.5');
  expect((await ask('203.0.113.5', { authorization: 'Bearer right' })).statusCode).toBe(200);
  expect((await ask('203.0.113.5', { authorization: 'Bearer wrong' })).statusCode).toBe(429);
  for (const peer of ['127.0.0.1', '::1']) await expect(drained(peer)).rejects.toThrow('nothing is refused');
});

it('a network behind a proxy of this machine is refused as any other, and none for what others read', async () => {
  const { ask, drained } = await full({ trustProxy: ['127.0.0.1'] });
  const by = (address: string) => ({ 'x-forwarded-for': address });
  expect((await drained('127.0.0.1', AUDIT, by('203.0.113.5'))).answer.statusCode).toBe(429);
  expect((await ask('127.0.0.1', by('203.0.113.6'))).statusCode).toBe(200);
});

it('a network that asks many times in one packet is sent no more than one that asks once at a time', async () => {
  const clock = { now: () => 0, monotonic: () => 0 };
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], trustProxy: ['127.0.0.1'], clock });
  const client = await openRaw({ port: await listen(app), host: '127.0.0.1' });
  const from = { 'x-forwarded-for': '203.0.113.5' };
  client.socket.write(rawRequest('GET', '/panel/', from).repeat(10_000));
  const answers = await client.ended;
  const count = (status: number) => answers.split(`HTTP/1.1 ${status} `).length - 1;
  expect(count(200)).toBeGreaterThan(0);
  // 2 MiB at once, and what was on its way when that was passed.
  expect(answers.length).toBeLessThan(2.5 * MEBIBYTE);
  expect(count(429)).toBe(1);
  expect(answers).toMatch(/HTTP\/1\.1 429 .*\r\nconnection: close\r\n/is);
});

it('static files count, too', async () => {
  const { ask, drained } = await full();
  const { answer } = await drained('203.0.113.5', '/panel/');
  expect(answer.statusCode).toBe(429);
  expect((await ask('203.0.113.5', { authorization: 'Bearer right' }, '/panel/api/server/status')).statusCode).toBe(
    200,
  );
});

it('the audit list is compressed where the client takes that', async () => {
  const { ask } = await full();
  const plain = await ask('127.0.0.1');
  const small = await ask('127.0.0.1', { 'accept-encoding': 'gzip' });
  expect(small.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(gunzipSync(small.rawPayload).equals(plain.rawPayload)).toBe(true);
  expect(small.rawPayload.length).toBeLessThan(plain.rawPayload.length / 10);
});

it('a login of more than 4 KiB is a 413', async () => {
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener: LISTENER });
  const payload = JSON.stringify({ username: 'admin', password: 'p'.repeat(4_096) });
  const answer = await app.inject({ method: 'POST', url: '/panel/api/login', headers: JSON_TYPE, payload });
  expect(answer.statusCode).toBe(413);
  expect(answer.json().error).toBe('request body too large: at most 4096 bytes are accepted');
});

it('a login that the guard keeps waiting is refused before its body has come', async () => {
  const loginGuard = { failures: 1, window: 60_000 };
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener: LISTENER, loginGuard });
  const payload = JSON.stringify({ username: 'admin', password: 'wrong' });
  await app.inject({ method: 'POST', url: '/panel/api/login', headers: JSON_TYPE, payload });
  const client = await openRaw({ port: await listen(app), host: '127.0.0.1' });
  client.socket.write(rawRequest('POST', '/panel/api/login', { ...JSON_TYPE, 'content-length': '50' }));
  expect(await client.received(/\}$/)).toMatch(/^HTTP\/1\.1 401 .*retry-after: \d+\r\n/s);
});

describe('a network that adds audit entries without a credential', () => {
  async function adding() {
    let now = 0;
    const loginGuard = { failures: 5, window: 60_000 };
    const clock = { now: () => 0, monotonic: () => now };
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener: LISTENER, clock, loginGuard });
    const payload = { eventEn: 'x', eventRu: 'y', success: true };
    const ask = async (method: 'POST' | 'DELETE', token?: string, remoteAddress = '203.0.113.5') => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const answer = await app.inject({ method, url: AUDIT, payload, headers, remoteAddress });
      return answer.statusCode;
    };
    const status = async (token: string, remoteAddress: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await app.inject({ url: '/panel/api/server/status', headers, remoteAddress })).statusCode;
    };
    /** Until it is refused; gives how many were taken. */
    async function drained(): Promise<number> {
      for (let entries = 0; entries < 1_000; entries += 1) if ((await ask('POST')) === 429) return entries;
      throw new Error('nothing is refused');
    }
    const passes = (milliseconds: number) => {
      now += milliseconds;
    };
    return { ask, status, drained, passes };
  }

  it('is refused beyond some 16 a second, and nobody else is', async () => {
    const { ask, drained, passes } = await adding();
    expect(await drained()).toBeGreaterThan(0);
    let entries = 0;
    for (let second = 0; second < 20; second += 1) {
      passes(1_000);
      entries += await drained();
    }
    expect(entries / 20).toBeGreaterThan(1);
    expect(entries / 20).toBeLessThan(40);
    expect(await ask('POST', undefined, '203.0.113.6')).toBe(200);
  });

  it('takes nothing of the rate from a caller with a right credential, who adds and clears entries on', async () => {
    const { ask, drained } = await adding();
    await drained();
    for (let entry = 0; entry < 100; entry += 1) expect(await ask('POST', 'right')).toBe(200);
    expect(await ask('DELETE', 'right')).toBe(200);
    expect([await ask('POST', 'wrong'), await ask('DELETE', 'wrong'), await ask('DELETE')]).toEqual([429, 429, 429]);
  });

  it('finds out no credential by it faster than the guard allows, and closes the guard for no header within the rate', async () => {
    const { ask, status, drained } = await adding();
    for (let guess = 0; guess < 30; guess += 1) expect(await ask('POST', `guess ${guess}`)).toBe(200);
    expect(await status('right', '203.0.113.5')).toBe(200);
    await drained();
    for (let guess = 0; guess < 20; guess += 1) expect(await ask('POST', `guess ${guess}`)).toBe(429);
    // It was let in with this one before, and with the other never, which would answer a guess.
    expect([await ask('POST', 'right'), await ask('POST', 'guess 21')]).toEqual([200, 429]);
    const other = await adding();
    await other.drained();
    for (let guess = 0; guess < 20; guess += 1) await other.ask('POST', `guess ${guess}`);
    expect([await other.ask('POST', 'right'), await other.status('right', '203.0.113.5')]).toEqual([429, 401]);
  });
});

import { writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { folderForTest } from '../folder-for-test.js';
import { openRaw } from '../raw-client.js';
import { CURRENT, EARLIEST, opsStage, REQUESTS, THREE, until } from './stage.js';

describe('requests', () => {
  it('are counted by mount, operation and status, with the time that they took', async () => {
    const { call, metrics } = await opsStage({ access_keys: ['alpha'] }, THREE);
    await call('GET', '/new/api/users/alpha');
    await call('GET', '/new/api/users/alpha');
    await call('HEAD', '/new/api/users');
    await call('GET', '/new/api/users/nobody');
    await call('GET', '/api/server/status');
    await call('GET', '/new/api/server/status', undefined, { authorization: 'wrong' });
    await call('POST', '/new/api/users', {}, { authorization: 'wrong' });
    await call('POST', '/new/api/users', '{"limit_bytes":-1}');
    await call('PUT', '/new/api/users/alpha/limit', ' '.repeat(2 << 20));
    const { families, value } = await metrics();
    const expected = [
      [CURRENT, 'getUser', '200', 2],
      [CURRENT, 'getUser', '400', 1],
      [CURRENT, 'listUsers', '200', 1],
      [CURRENT, 'getStatus', '401', 1],
      [CURRENT, 'createUser', '401', 1],
      [CURRENT, 'createUser', '400', 1],
      [CURRENT, 'setLimit', '413', 1],
      [EARLIEST, 'getStatus', '200', 1],
    ] as const;
    for (const [mount, operation, status, count] of expected) {
      const labels = { ...mount, operation, status };
      expect(value(REQUESTS, labels), JSON.stringify(labels)).toBe(count);
      expect(value('keyway_http_request_duration_seconds_count', labels)).toBe(count);
      expect(value('keyway_http_request_duration_seconds_sum', labels)).toBeGreaterThan(0);
      expect(value('keyway_http_request_duration_seconds_bucket', { ...labels, le: '+Inf' })).toBe(count);
    }
    expect(families.get(REQUESTS)?.samples).toHaveLength(expected.length);
  });

  it('for the panel, preflights and what nobody serves have names of their own', async () => {
    const { call, metrics } = await opsStage({}, THREE);
    await call('GET', '/new');
    await call('GET', '/new/');
    await call('GET', '/nowhere');
    await call('GET', '/%zz');
    await call('DELETE', '/new/api/server/status');
    await call('OPTIONS', '/new/api/users', undefined, { 'access-control-request-method': 'GET' });
    const { value } = await metrics();
    expect(value(REQUESTS, { ...CURRENT, operation: 'panel', status: '308' })).toBe(1);
    expect(value(REQUESTS, { ...CURRENT, operation: 'panel', status: '200' })).toBe(1);
    const other = (status: string) => value(REQUESTS, { mount: '', revision: '', operation: 'other', status });
    expect([other('404'), other('405'), other('200'), other('400')]).toEqual([1, 1, 1, 1]);
  });

  it('that ask for anything make no more series than there are operations', async () => {
    const { call, metrics } = await opsStage({}, THREE);
    const seriesAfter = async (round: string) => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
        for (let i = 0; i < 3; i += 1) {
          await call(method, `/${round}/${method}-${i}?x=${i}`);
          await call(method, `/new/api/users/${round}-${i}`);
          await call(method, `/old/api/${round}/${i}`);
        }
      }
      return (await metrics()).families.get(REQUESTS)?.samples.length ?? 0;
    };
    const count = await seriesAfter('first');
    expect(await seriesAfter('second')).toBe(count);
    expect(count).toBeLessThan(15);
  });

  it('that are given up before their answer count as none', async () => {
    const { gateway, metrics } = await opsStage({}, THREE);
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    await new Promise((done) => socket.once('connect', done));
    socket.write('GET /new/api/users HTTP/1.1\r\nHost: x\r\n');
    socket.destroy();
    await new Promise((done) => socket.once('close', done));
    expect((await metrics()).families.get(REQUESTS)?.samples).toEqual([]);
  });

  it('over TLS, and at the address of the subscriptions, are counted like all others', async () => {
    const folder = await folderForTest();
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    await writeFile(cert, CERTIFICATE);
    await writeFile(key, PRIVATE_KEY);
    const flags = ['--tls-cert', cert, '--tls-key', key, '--subscription-bind', '127.0.0.1:0'];
    const { gateway, metrics, said } = await opsStage({ access_keys: ['alpha'] }, [...THREE, ...flags]);
    expect(gateway.url).toMatch(/^https:/);
    for (const origin of [gateway.url, said('subscriptions')]) {
      expect(await getTls(`${origin}/new/api/subscribe/alpha`)).toBe(200);
    }
    expect(await getTls(`${gateway.url}/new/api/subscribe/nobody`)).toBe(404);
    const { value } = await metrics();
    const subscribed = (status: string) => value(REQUESTS, { ...CURRENT, operation: 'subscribe', status });
    expect([subscribed('200'), subscribed('404')]).toEqual([2, 1]);
  });
});

/** The status of what a server with the tests' certificate answers. */
function getTls(url: string): Promise<number | undefined> {
  return new Promise((done, failed) => {
    get(url, { ca: CERTIFICATE }, (response) => done(response.resume().statusCode)).on('error', failed);
  });
}

describe('logins and sessions', () => {
  it('are counted by mount and outcome', async () => {
    const { call, metrics } = await opsStage({}, [...THREE, '--login-guard', '2/5']);
    const outcomes = async () => {
      const { value } = await metrics();
      const counts = ['begun', 'refused', 'waiting'].map((outcome) =>
        value('keyway_logins_total', { ...CURRENT, outcome }),
      );
      return [...counts, value('keyway_sessions', CURRENT)];
    };
    expect(await outcomes()).toEqual([0, 0, 0, 0]);
    await call('POST', '/new/api/login', { username: 'admin', password: 'password' });
    expect(await outcomes()).toEqual([1, 0, 0, 1]);
    for (let i = 0; i < 3; i += 1) await call('POST', '/new/api/login', { username: 'admin', password: 'wrong' });
    expect(await outcomes()).toEqual([1, 2, 1, 1]);
    const { value } = await metrics();
    expect(value('keyway_sessions', { revision: 'dns' })).toBe(0);
    expect(value('keyway_sessions', { revision: 'earliest' })).toBe(undefined);
  });
});

describe('guessed tokens and connections', () => {
  it('are counted where they are refused unread, and by listener', async () => {
    const { call, metrics, gateway, feed } = await opsStage({}, ['--max-connections', '8']);
    for (let n = 0; n < 23; n += 1) await call('GET', '/panel/api/users', undefined, { authorization: `wrong-${n}` });
    const { hostname, port } = new URL(gateway.url);
    const open = [];
    for (let n = 0; n < 3; n += 1) open.push(await openRaw({ host: hostname, port: Number(port) }));
    await fetch(`${feed}/v1/keys`, { headers: { authorization: 'Bearer wrong-0' } });
    await until(async () => (await metrics()).value('keyway_connections', { listener: 'api' }) === 2);
    const { value } = await metrics();
    expect(value('keyway_unread_tokens_total')).toBe(4);
    const reasons = { listener: 'api', reason: 'share' };
    expect(value('keyway_connections_closed_total', reasons)).toBeGreaterThanOrEqual(1);
    expect(value('keyway_connections_refused_total', reasons)).toBe(0);
    expect(value('keyway_connections', { listener: 'feed' })).toBe(1);
    expect(value('keyway_connections', { listener: 'ops' })).toBeGreaterThanOrEqual(1);
    expect(value('keyway_connections', { listener: 'subscriptions' })).toBe(undefined);
    for (const { socket } of open) socket.destroy();
  });
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHostCheck } from '../../src/northbound/allowed-hosts.js';
import { gatewayForTest, listen } from './gateway.js';

const NAME = 'panel.example.org';
const REFUSED = {
  ok: false,
  error: 'misdirected request: its host is not one of the names given with --allow-host',
};

/** A gateway that is open, and answers to the name alone. */
const gateway = (allowHosts: readonly string[] = [NAME]) =>
  gatewayForTest({ mounts: [{ revision: 'current' }], allowHosts });

/** What comes back for these lines of a head, as they are given, over a connection of their own. */
async function sent(port: number, ...head: readonly string[]) {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  socket.write(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n`);
  await once(socket, 'close');
  return { status: Number(text.slice(9, 12)), body: text.slice(text.indexOf('\r\n\r\n') + 4) };
}

describe('a gateway that names no host', () => {
  it('answers to every name', async () => {
    const app = await gateway([]);
    expect(createHostCheck([])).toBeNull();
    for (const host of ['rebound.example', NAME, 'localhost:1'])
      expect((await app.inject({ url: '/panel/api/users', headers: { host } })).statusCode).toBe(200);
  });
});

describe('a gateway that names its host', () => {
  it('answers to that, to addresses and to this machine, whatever the port, and to no other', async () => {
    const port = await listen(await gateway());
    for (const [host, status] of [
      [NAME, 200],
      [`${NAME}:8443`, 200],
      [`${NAME}.`, 200],
      [`${NAME.toUpperCase()}.:80`, 200],
      ['127.0.0.1:9090', 200],
      ['192.0.2.7', 200],
      ['[::1]:9090', 200],
      ['[2001:db8::7]', 200],
      ['localhost:9090', 200],
      ['LocalHost', 200],
      ['keyway.localhost:9090', 200],
      ['rebound.example', 421],
      ['rebound.example:9090', 421],
      [`x.${NAME}`, 421],
      [`x${NAME}`, 421],
      [`${NAME}.rebound.example`, 421],
      [`${NAME}..`, 421],
      [`${NAME}@rebound.example`, 421],
      [`rebound.example@${NAME}`, 421],
      [`${NAME}:9090:x`, 421],
      ['127.0.0.1.rebound.example', 421],
      ['localhost.rebound.example', 421],
      ['xlocalhost', 421],
      ['[rebound.example]', 421],
      ['::1', 421],
      ['', 421],
    ]) {
      const answer = await sent(port, 'GET /panel/api/users HTTP/1.1', `Host: ${host}`);
      expect(answer.status, `${host}`).toBe(status);
      if (status === 421) expect(JSON.parse(answer.body)).toEqual(REFUSED);
    }
  });

  it.each(['Panel.Example.org', `${NAME}.`])('is called %s in its settings and means the same', async (name) => {
    const app = await gateway([name]);
    expect((await app.inject({ url: '/panel/', headers: { host: NAME } })).statusCode).toBe(200);
  });

  it('judges a whole URL by its authority, whatever Host says', async () => {
    const port = await listen(await gateway());
    const named = `GET http://${NAME}:80/panel/api/users HTTP/1.1`;
    expect((await sent(port, named, 'Host: rebound.example')).status).toBe(200);
    for (const scheme of ['http', 'HTTPS']) {
      const foreign = `GET ${scheme}://rebound.example/panel/api/users HTTP/1.1`;
      expect((await sent(port, foreign, `Host: ${NAME}`)).status, scheme).toBe(421);
    }
  });

  it('refuses a request without Host, and one of several that is foreign', async () => {
    const port = await listen(await gateway());
    expect((await sent(port, 'GET /panel/api/users HTTP/1.0')).status).toBe(421);
    const first = 'GET /panel/api/users HTTP/1.1';
    expect((await sent(port, first, `Host: ${NAME}`, 'Host: rebound.example')).status).toBe(400);
  });

  it('does not read X-Forwarded-Host', async () => {
    const app = await gateway();
    const status = async (host: string, forwarded: string) =>
      (await app.inject({ url: '/panel/', headers: { host, 'x-forwarded-host': forwarded } })).statusCode;
    expect(await status(NAME, 'rebound.example')).toBe(200);
    expect(await status('rebound.example', NAME)).toBe(421);
  });

  it('refuses everything that another host is asked for, and does none of it', async () => {
    const app = await gateway();
    const headers = { host: 'rebound.example', 'content-type': 'application/json' };
    const preflight = { ...headers, origin: 'http://rebound.example', 'access-control-request-method': 'PUT' };
    for (const url of [
      '/panel',
      '/panel/',
      '/panel/nothing.js',
      '/panel/api/users',
      '/panel/api/nothing',
      '/nothing',
    ]) {
      for (const method of ['GET', 'HEAD', 'DELETE'] as const)
        expect((await app.inject({ method, url, headers })).statusCode, `${method} ${url}`).toBe(421);
      expect((await app.inject({ method: 'OPTIONS', url, headers: preflight })).statusCode, url).toBe(421);
    }
    const create = { method: 'POST', url: '/panel/api/users', payload: '{"access_key":"a"}' } as const;
    const refused = await app.inject({ ...create, headers });
    expect([refused.statusCode, refused.json()]).toEqual([421, REFUSED]);
    expect((await app.inject({ url: '/panel/api/users' })).json()).toEqual({ ok: true, data: [] });
    expect((await app.inject({ ...create, headers: { ...headers, host: NAME } })).statusCode).toBe(200);
  });

  it('has its subscriptions alone answer to that name alone, too', async () => {
    const app = await gateway();
    await app.keyway.core.createUser({ accessKey: 'a', name: null, limitBytes: null });
    const alone = app.keyway.subscriptions({});
    onTestFinished(() => alone.close());
    const status = async (host: string) =>
      (await alone.inject({ url: '/panel/api/subscribe/a', headers: { host } })).statusCode;
    expect([await status(NAME), await status('rebound.example')]).toEqual([200, 421]);
  });
});

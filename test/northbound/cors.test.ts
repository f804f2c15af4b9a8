import { expect, it } from 'vitest';
import { gatewayForTest } from './gateway.js';

const options = { mounts: [{ revision: 'current' }], listener: { token: 'T' } };

it('a preflight from another origin is granted the method and the headers that it asks for, Authorization by name', async () => {
  const app = await gatewayForTest(options);
  const answer = await app.inject({
    method: 'OPTIONS',
    url: '/panel/api/users/a',
    headers: {
      origin: 'https://panel.example',
      'access-control-request-method': 'DELETE',
      'access-control-request-headers': 'authorization,content-type',
    },
  });
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'DELETE',
    'access-control-allow-headers': 'authorization,content-type',
    allow: 'GET,HEAD,PUT,DELETE',
    vary: 'access-control-request-method, access-control-request-headers',
  });
});

it('OPTIONS without an Origin is answered like a preflight, and on an unknown path with 404', async () => {
  const app = await gatewayForTest(options);
  const known = await app.inject({ method: 'OPTIONS', url: '/panel/api/users' });
  expect([known.statusCode, known.headers.allow, known.body]).toEqual([200, 'GET,HEAD,POST', '']);
  const unknown = await app.inject({ method: 'OPTIONS', url: '/panel/api/nothing' });
  expect([unknown.statusCode, unknown.headers.vary, unknown.json().error]).toEqual([404, undefined, 'not found']);
});

it('a requested header that is no list of tokens is not echoed', async () => {
  const app = await gatewayForTest(options);
  const answer = await app.inject({
    method: 'OPTIONS',
    url: '/panel/api/users',
    headers: { 'access-control-request-headers': 'a<script>' },
  });
  expect(answer.headers['access-control-allow-headers']).toBe('*');
});

it.each([
  ['/panel/api/users', 401],
  ['/panel/api/nothing', 404],
  ['/panel/api/subscribe/missing', 404],
  ['/panel/', 200],
])('%s answers %d with access-control-allow-origin', async (url, status) => {
  const app = await gatewayForTest(options);
  const answer = await app.inject({ url });
  expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([status, '*']);
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createGateway } from '../../src/gateway/create-gateway.js';
import { folderForTest } from '../folder-for-test.js';

/** Writes a server's file with these outbound rules. */
async function fileWith(rules: readonly object[]): Promise<string> {
  const folder = await folderForTest();
  const configPath = join(folder, 'server.json');
  await writeFile(
    configPath,
    JSON.stringify({ mode: 'server', api: { token: 't' }, outbound: { enabled: true, rules }, access_keys: [] }),
  );
  return configPath;
}

it('a write of rules through a line whose rules have no protocol keeps that of rules which are otherwise the same', async () => {
  const rule = (suffix: string, protocol: string | null, action = 'proxy') => ({
    domain_suffix: [suffix],
    ip_cidr: [],
    protocol,
    action,
  });
  const rules = [rule('.a', 'tcp'), rule('.a', 'udp'), rule('.b', 'udp')];
  const configPath = await fileWith(rules);
  const mounts = ['0.2.84', 'current'].map((revision) => ({ revision, webpath: revision }));
  const app = await createGateway({ configPath, mounts });
  onTestFinished(() => app.close());
  const headers = { authorization: 'Bearer t' };
  const without = [...rules, rule('.c', null)].map(({ protocol: _, ...others }) => others).reverse();
  const url = (mount: string) => `/${mount}/api/router/rules`;
  const method = 'PUT';
  expect((await app.inject({ method, url: url('0.2.84'), headers, payload: without })).json()).toMatchObject({
    ok: true,
  });
  const { data } = (await app.inject({ url: url('current'), headers })).json();
  expect(data.map((one: ReturnType<typeof rule>) => [one.domain_suffix[0], one.protocol])).toEqual([
    ['.c', null],
    ['.b', 'udp'],
    ['.a', 'tcp'],
    ['.a', 'udp'],
  ]);
});

it.each([
  ['rules', 'PUT', '/router/rules', [{ domain_suffix: ['.mine'], ip_cidr: [], action: 'direct' }]],
  ['DNS settings', 'POST', '/dns/config', { enabled: true, doh_upstream: 'https://mine.example/q' }],
] as const)('a change of %s for those of an entity tag alone is refused once they are others', async (_, method, path, payload) => {
  const configPath = await fileWith([]);
  const app = await createGateway({ configPath, mounts: [{ revision: '0.2.84', webpath: 'p' }] });
  onTestFinished(() => app.close());
  const url = `/p/api${path}`;
  const headers = { authorization: 'Bearer t' };
  const { etag = '', 'access-control-expose-headers': exposed } = (await app.inject({ url, headers })).headers;
  expect(exposed).toBe('etag');
  const change = (condition: object) => app.inject({ method, url, headers: { ...headers, ...condition }, payload });
  expect((await change({ 'if-match': '"of-others"' })).statusCode).toBe(412);
  expect((await app.inject({ url, headers })).headers.etag).toBe(etag);
  expect((await change({ 'if-match': String(etag) })).statusCode).toBe(200);
  expect((await app.inject({ url, headers })).headers.etag).not.toBe(etag);
  expect((await change({ 'if-match': `W/${etag}` })).json()).toEqual({
    ok: false,
    error: 'the configuration is another one by now',
  });
  expect((await change({ 'if-match': '*' })).statusCode).toBe(200);
  expect((await change({})).statusCode).toBe(200);
});

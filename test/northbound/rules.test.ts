import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createGateway } from '../../src/gateway/create-gateway.js';

it('a write of rules through a line whose rules have no protocol keeps that of rules which are otherwise the same', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-rules-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const configPath = join(folder, 'server.json');
  const rule = (suffix: string, protocol: string | null, action = 'proxy') => ({
    domain_suffix: [suffix],
    ip_cidr: [],
    protocol,
    action,
  });
  const rules = [rule('.a', 'tcp'), rule('.a', 'udp'), rule('.b', 'udp')];
  await writeFile(
    configPath,
    JSON.stringify({ mode: 'server', api: { token: 't' }, outbound: { enabled: true, rules }, access_keys: [] }),
  );
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

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from './serve-here.js';

/** A file as a server of 0.4.6 writes and reads it, with an operator's comments. */
const FILE = `{
  "mode": "server",
  "config_version": 2, // do not touch
  "listen": ["0.0.0.0:50000", "[::]:50000"],
  "access_keys": [
    { "access_key": "key-a", "name": "alice", "limit_bytes": 1000 },
    "key-b" // the router
  ],
  "api": { "enabled": true, "bind": "127.0.0.1:9090", "token": "sample", "webpath": "new" },
  "domain": "vpn.example.com",
  "tls": { "enabled": true, "frontend": "nginx", "ws_path": "/s3cr3tpath", "cert": "acme" },
  "subscription": { "enabled": true, "update_interval_hours": 6 },
  "outbound": {
    "enabled": true, "protocol": "socks5", "address": "127.0.0.1", "port": 1080,
    "rules": [{ "domain_suffix": [".onion"], "action": "proxy", "send_from": "192.0.2.1" }]
  },
  "dns": { "enabled": false, "upstreams": ["tls://dns.example"], "user_rules": ["||ads.example^"] }
}
`;

it('a file of 0.4.6 is served as 0.4.6, current and earliest at once, and stays one that such a server starts from', async () => {
  const folder = await folderForTest();
  await writeFile(join(folder, 'server.json'), FILE);
  const revisions = ['0.4.6@new', 'current@old', 'earliest'].flatMap((revision) => ['--revision', revision]);
  const served = await serveHere(
    ['serve', '--config', 'server.json', '--bind', '127.0.0.1:0', '--subscriptions', ...revisions],
    { folder },
  );
  const url = await served.url;
  const call = async (path: string, method = 'GET', body?: unknown) => {
    const headers = { authorization: 'Bearer sample', accept: 'text/plain', 'content-type': 'application/json' };
    const payload = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${url}${path}`, { method, headers, ...payload });
    expect(answer.status, `${method} ${path}`).toBe(200);
    const { data } = (await answer.json()) as { data: unknown };
    return data;
  };
  const keysAt = async (api: string) =>
    ((await call(`${api}/users`)) as readonly { access_key: string }[]).map(({ access_key }) => access_key).toSorted();
  const everywhere = ['/new/api', '/old/api', '/api'];
  expect(await Promise.all(everywhere.map(keysAt))).toEqual(Array(3).fill(['key-a', 'key-b']));
  for (const api of everywhere)
    expect(await call(`${api}/subscribe/key-b?transport=udp`)).toContain('@vpn.example.com:50000');
  // Each of them changes what it knows.
  await call('/api/users', 'POST', { access_key: 'key-c' });
  await call('/old/api/users/key-a', 'PUT', { name: 'anna', limit_bytes: 1000 });
  const rules = (await call('/old/api/router/rules')) as readonly object[];
  await call('/old/api/router/rules', 'PUT', [{ domain_suffix: ['.i2p'], action: 'direct' }, ...rules]);
  await call('/new/api/users/key-b', 'DELETE');
  expect(await Promise.all(everywhere.map(keysAt))).toEqual(Array(3).fill(['key-a', 'key-c']));
  const config = (await call('/new/api/server/config')) as Readonly<Record<string, unknown>>;
  const { access_keys: _, outbound, ...others } = config;
  const { access_keys: __, outbound: before, ...original } = JSON.parse(FILE.replaceAll(/ \/\/.*/g, ''));
  expect(others).toEqual(original);
  expect(outbound).toMatchObject({ rules: [{ action: 'direct' }, before.rules[0]] });
  const text = await readFile(join(folder, 'server.json'), 'utf8');
  expect(text).toContain('"config_version": 2, // do not touch\n');
  expect(text).toContain('"dns": { "enabled": false, "upstreams": ["tls://dns.example"]');
  await served.stop();
  const checked = await runHere(['config', 'check', 'server.json', '--for', '0.4.6'], { folder });
  expect(checked).toMatchObject({ code: 0, complaints: '' });
  expect(checked.output).toContain('A server of 0.4.6 starts from it, and has all of its keys.');
});

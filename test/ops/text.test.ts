import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { FEED_TOKEN, opsStage, THREE, until } from './stage.js';

describe('the text', () => {
  it('follows the conventions: HELP and TYPE for each, counters end in _total, base units, few labels', async () => {
    const { call, metrics } = await opsStage({ access_keys: ['a'] }, THREE);
    await call('GET', '/new/api/users');
    const { families } = await metrics();
    const own = [...families].filter(([name]) => name.startsWith('keyway_'));
    expect(own.length).toBeGreaterThan(30);
    const labels = new Set<string>();
    for (const [name, { help, type, samples }] of own) {
      expect(help, name).toMatch(/\.$/);
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(name, name).not.toMatch(/milliseconds|_ms|kilobytes|_mb|count$/);
      for (const sample of samples) for (const label of Object.keys(sample.labels)) labels.add(label);
    }
    const known = [
      'mount',
      'revision',
      'operation',
      'status',
      'le',
      'version',
      'statistic',
      'kind',
      'reason',
      'outcome',
      'problem',
      'listener',
      'by',
      'program',
    ];
    expect([...labels].filter((label) => !known.includes(label))).toEqual([]);
  });

  it('has buckets that grow to the count', async () => {
    const { call, metrics } = await opsStage({ access_keys: ['a'] }, THREE);
    for (let i = 0; i < 5; i += 1) await call('GET', '/new/api/users');
    const { samples = [] } = (await metrics()).families.get('keyway_http_request_duration_seconds') ?? {};
    const buckets = samples.filter(({ name, labels }) => name.endsWith('_bucket') && labels.operation === 'listUsers');
    const values = buckets.map(({ value }) => value);
    expect(values).toEqual(values.toSorted((a, b) => a - b));
    expect(values.at(-1)).toBe(5);
    expect(buckets.at(-1)?.labels.le).toBe('+Inf');
  });

  it('and the other two answers hold no key, name, token, password, session or list address', async () => {
    const secrets = [
      'secret-key-1',
      'secret-key-2',
      'secret-key-3',
      'Secret Name',
      'secret-path',
      'listuser',
      'listpass',
    ];
    const dns = {
      enabled: true,
      local_port: 0,
      adblock_urls: ['http://listuser:listpass@127.0.0.1:1/secret-path?x=secret-key-3'],
    };
    const { call, metrics, report, ops, feed, configPath, gateway } = await opsStage(
      { access_keys: [{ access_key: 'secret-key-1', name: 'Secret Name', limit_bytes: 5 }], dns },
      THREE,
    );
    const login = await fetch(`${gateway.url}/new/api/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'admin', password: 'password' }),
    });
    const session = /"token":"([^"]+)"/.exec(await login.text())?.[1] ?? 'none';
    await call('POST', '/new/api/users', { access_key: 'secret-key-2', name: 'Secret Name' });
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      await call(method, '/new/api/users/secret-key-1', method === 'PUT' ? { name: 'Secret Name' } : undefined);
      await call(method, '/new/api/users/secret-key-3');
      await call(method, '/secret-path/secret-key-3');
      await call(method, '/new/api/subscribe/secret-key-1');
    }
    await call('GET', '/new/secret-path');
    await report('secret-key-3', ['secret-key-2', 10, 1], ['secret-key-3', 1, 1]);
    await fetch(`${feed}/secret-path`);
    await writeFile(configPath, '{"mode":"server","access_keys":["secret-key-1", secret-key-2 "secret-key-3"');
    const edited = { reason: 'edited', outcome: 'refused' };
    await until(async () => ((await metrics()).value('keyway_config_reloads_total', edited) ?? 0) > 0);
    await call('POST', '/new/api/users', { access_key: 'secret-key-1' });
    const texts = await Promise.all(
      ['/metrics', '/healthz', '/readyz'].map(async (path) => (await fetch(ops + path)).text()),
    );
    expect(texts[1]).toContain('configuration_unreadable');
    for (const secret of [...secrets, session, 'api-token-of-the-test', FEED_TOKEN, '5e884898', 'admin']) {
      for (const text of texts) expect(text.includes(secret), secret).toBe(false);
    }
  });
});

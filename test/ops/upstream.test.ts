import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { folderForTest } from '../folder-for-test.js';
import { parseExposition } from './exposition.js';
import { createLines, opsStage, startWith, TOKEN, until } from './stage.js';

/** A gateway in front of another one, with feed and ops listener of its own. */
async function front() {
  const server = await opsStage({ access_keys: ['a', { access_key: 'b', limit_bytes: 100 }] }, [
    '--revision',
    'current',
  ]);
  const { lines, log } = createLines();
  const gateway = await startWith(
    [
      ...['--upstream', new URL('/panel', server.gateway.url).href, '--upstream-token', TOKEN],
      ...['--data-dir', join(await folderForTest(), 'data'), '--bind', '127.0.0.1:0', '--ops-bind', '127.0.0.1:0'],
      ...['--feed-bind', '127.0.0.1:0', '--feed-token', 'feed-token', '--revision', 'earliest'],
    ],
    log,
  );
  if (gateway === null) throw new Error('nothing is served');
  onTestFinished(() => gateway.close());
  const said = (member: string) => String(lines.find(({ fields }) => member in fields)?.fields[member]);
  const get = async (url: string, token = TOKEN) => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    return { status: response.status, text: await response.text() };
  };
  return {
    server,
    gateway,
    lines,
    get,
    feed: (path: string, body?: object) =>
      fetch(`${said('feed')}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: 'Bearer feed-token', 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    health: async () => JSON.parse((await get(`${said('ops')}/healthz`)).text),
    metrics: async () => parseExposition((await get(`${said('ops')}/metrics`)).text),
  };
}

describe('a gateway in front of a running server', () => {
  it('shows its calls, how old its list is and what it wrote', async () => {
    const { gateway, metrics, get } = await front();
    expect((await get(`${gateway.url}/api/users`)).status).toBe(200);
    await fetch(`${gateway.url}/api/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: '{"access_key":"c"}',
    });
    const { value } = await metrics();
    expect(value('keyway_keys')).toBe(3);
    expect(value('keyway_upstream_calls_total', { operation: 'createUser', outcome: 'answered' })).toBe(1);
    expect(value('keyway_upstream_call_duration_seconds_count', { operation: 'createUser' })).toBe(1);
    expect(value('keyway_upstream_renewals_total', { outcome: 'taken' })).toBeGreaterThan(0);
    expect(value('keyway_upstream_list_age_seconds')).toBeLessThan(60);
    expect(value('keyway_upstream_unsettled_writes')).toBe(1);
    expect(value('keyway_upstream_lost_writes_total')).toBe(0);
  });

  it('is well and degraded while the server is away, and goes on with subscriptions and the feed', async () => {
    const { server, gateway, health, get, feed, metrics } = await front();
    expect(await health()).toEqual({ status: 'healthy', problems: [] });
    await server.gateway.close();
    const list = await get(`${gateway.url}/api/users`);
    await until(async () => (await get(`${gateway.url}/api/users`)).status === 502);
    expect([200, 502]).toContain(list.status);
    expect(await health()).toMatchObject({ status: 'degraded', problems: [{ problem: 'upstream_away' }] });
    expect((await metrics()).value('keyway_health_problem', { problem: 'upstream_away' })).toBe(1);
    expect((await fetch(`${gateway.url}/api/users/a/subscribe`)).status).not.toBe(502);
    expect(await (await feed('/v1/keys')).json()).toMatchObject({ complete: true, keys: [{}, {}] });
    expect(await (await feed('/v1/admit', { access_key: 'a' })).json()).toEqual({ allowed: true });
  });

  it('refuses reports of usage with a sentence', async () => {
    const { feed } = await front();
    const refused = await feed('/v1/usage', { entries: [{ access_key: 'a', bytes_up: 1, bytes_down: 1 }] });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: expect.stringContaining('counts by itself') });
  });
});

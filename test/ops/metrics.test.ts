import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import dnsPacket from 'dns-packet';
import { afterEach, describe, expect, it } from 'vitest';
import { askUdp } from '../dns/client.js';
import { cleanUp, later, startResolver } from '../dns/harness.js';
import { addressAnswer, run } from '../dns/servers.js';
import { configurationOf, FEED_TOKEN, opsStage, until } from './stage.js';

afterEach(cleanUp);

const THREE = ['--revision', 'earliest@first', '--revision', 'dns@old', '--revision', 'current@new'];
const CURRENT = { mount: '/new/api', revision: 'current' };
const EARLIEST = { mount: '/api', revision: 'earliest' };
const REQUESTS = 'keyway_http_requests_total';

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
    await call('DELETE', '/new/api/server/status');
    await call('OPTIONS', '/new/api/users', undefined, { 'access-control-request-method': 'GET' });
    const { value } = await metrics();
    expect(value(REQUESTS, { ...CURRENT, operation: 'panel', status: '308' })).toBe(1);
    expect(value(REQUESTS, { ...CURRENT, operation: 'panel', status: '200' })).toBe(1);
    const other = (status: string) => value(REQUESTS, { mount: '', revision: '', operation: 'other', status });
    expect([other('404'), other('405'), other('200')]).toEqual([1, 1, 1]);
  });

  it('that ask for anything make no more series than there are operations', async () => {
    const { call, metrics } = await opsStage({}, THREE);
    const seriesAfter = async (round: string) => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
        for (let i = 0; i < 10; i += 1) {
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
});

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

describe('keys', () => {
  it('are counted by state, and online by the rule of each revision', async () => {
    const { call, metrics, report } = await opsStage(
      { access_keys: ['a', 'b', { access_key: 'c', limit_bytes: 100 }] },
      THREE,
    );
    await call('POST', '/new/api/users/bulk', { count: 2 });
    await report('r1', ['a', 10, 1], ['c', 100, 0]);
    const { value } = await metrics();
    expect(value('keyway_keys')).toBe(5);
    expect(value('keyway_keys_with_traffic')).toBe(2);
    expect(value('keyway_keys_over_limit')).toBe(1);
    expect(value('keyway_keys_online', CURRENT)).toBe(1);
    expect(value('keyway_keys_online', EARLIEST)).toBe(3);
  });
});

describe('the configuration file', () => {
  it('shows its writes, their size and time, and contents from outside', async () => {
    const { call, metrics, configPath } = await opsStage({}, THREE);
    await call('POST', '/new/api/users/bulk', { count: 20 });
    await call('PUT', '/new/api/server/config', configurationOf({ access_keys: ['x'] }));
    await writeFile(configPath, configurationOf({ access_keys: ['y'] }));
    const reloads = async (reason: string, outcome: string) =>
      (await metrics()).value('keyway_config_reloads_total', { reason, outcome });
    await until(async () => (await reloads('edited', 'applied')) === 1);
    await writeFile(configPath, 'no configuration');
    await until(async () => (await reloads('edited', 'refused')) === 1);
    const { value } = await metrics();
    expect(await reloads('replaced', 'applied')).toBe(1);
    expect(value('keyway_config_write_changes_sum')).toBe(20);
    expect(value('keyway_config_write_changes_bucket', { le: '10' })).toBe(0);
    expect(value('keyway_config_write_changes_bucket', { le: '50' })).toBe(1);
    for (const kind of ['changes', 'whole']) {
      expect(value('keyway_config_write_duration_seconds_count', { kind })).toBe(1);
      expect(value('keyway_config_write_duration_seconds_sum', { kind })).toBeGreaterThan(0);
      expect(value('keyway_config_write_failures_total', { kind })).toBe(0);
    }
  });

  it('that cannot be written shows failures and what waits', async () => {
    const { call, metrics, configPath } = await opsStage({}, THREE);
    await rm(configPath);
    expect((await call('POST', '/new/api/users', { access_key: 'lost' })).status).not.toBe(200);
    const { value } = await metrics();
    expect(value('keyway_config_write_failures_total', { kind: 'changes' })).toBe(1);
    expect(value('keyway_config_pending_changes')).toBe(1);
    expect(value('keyway_health_problem', { problem: 'configuration_unwritable' })).toBe(1);
  });
});

describe('the feed and the counters', () => {
  it('show reports, entries, unknown keys, refusals and what was written', async () => {
    const { feed, metrics, report } = await opsStage({ access_keys: ['a', 'b'] }, THREE);
    await report('r1', ['a', 1, 0], ['b', 2, 0], ['stranger', 3, 0]);
    await report('r1', ['a', 1, 0]);
    await fetch(`${feed}/v1/keys`, { headers: { authorization: 'Bearer wrong' } });
    const { value } = await metrics();
    expect(value('keyway_feed_reports_total', { outcome: 'counted' })).toBe(1);
    expect(value('keyway_feed_reports_total', { outcome: 'repeated' })).toBe(1);
    expect(value('keyway_feed_entries_total')).toBe(2);
    expect(value('keyway_feed_unknown_keys_total')).toBe(1);
    expect(value('keyway_feed_refused_requests_total')).toBe(1);
    expect(value('keyway_feed_not_durable_total')).toBe(0);
    expect(value('keyway_counters_batches_total', { outcome: 'written' })).toBeGreaterThan(0);
    expect(value('keyway_counters_batches_total', { outcome: 'failed' })).toBe(0);
    expect(value('keyway_counters_written_bytes_total')).toBeGreaterThan(0);
    expect(value('keyway_counters_write_seconds_total')).toBeGreaterThan(0);
  });

  it('are not among the metrics where there is no feed', async () => {
    const { metrics } = await opsStage({}, ['--no-resolver']);
    const names = [...(await metrics()).families.keys()];
    expect(names.filter((name) => name.startsWith('keyway_dns'))).toEqual([]);
    expect(names.filter((name) => name.startsWith('keyway_feed'))).not.toEqual([]);
  });
});

/** A DNS upstream over plain HTTP. */
async function runUpstream() {
  const server = await run(
    createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(Buffer.from(chunk));
      response.setHeader('content-type', 'application/dns-message');
      response.end(addressAnswer(dnsPacket.decode(Buffer.concat(chunks))));
    }),
  );
  later(() => server.close());
  return server;
}

async function freeDnsPort(): Promise<number> {
  const { port, resolver } = await startResolver({});
  const free = port();
  await resolver.close();
  return free;
}

describe('the DNS server', () => {
  it('shows queries, blocked ones, cache hits, upstream errors, its lists and their last refresh', async () => {
    const upstream = await runUpstream();
    const list = await run(
      createServer((_request, response) => response.end('||ads.example^\n||bad.example^\n@@||ok.bad.example^\n')),
    );
    later(() => list.close());
    const port = await freeDnsPort();
    const dns = {
      enabled: true,
      local_port: port,
      doh_upstream: `http://127.0.0.1:${upstream.port}/dns-query`,
      adblock_urls: [`http://127.0.0.1:${list.port}/secret-list`, 'http://127.0.0.1:1/gone'],
    };
    const { metrics } = await opsStage({ dns }, THREE);
    await until(async () => ((await metrics()).value('keyway_dns_last_refresh_timestamp_seconds') ?? 0) > 0);
    for (const name of ['x.ads.example', 'www.example', 'www.example']) await askUdp(port, { name });
    await upstream.close();
    await askUdp(port, { name: 'other.example' });
    const { value } = await metrics();
    expect(value('keyway_dns_listening')).toBe(1);
    expect(value('keyway_dns_queries_total')).toBe(4);
    expect(value('keyway_dns_blocked_queries_total')).toBe(1);
    expect(value('keyway_dns_cache_hits_total')).toBe(1);
    expect(value('keyway_dns_upstream_errors_total')).toBeGreaterThan(0);
    expect(value('keyway_dns_cached_answers')).toBeGreaterThan(0);
    expect(value('keyway_dns_list_names', { list: '1' })).toBe(2);
    expect(value('keyway_dns_list_exceptions', { list: '1' })).toBe(1);
    expect(value('keyway_dns_list_failed', { list: '1' })).toBe(0);
    expect(value('keyway_dns_list_failed', { list: '2' })).toBe(1);
    const now = Date.now() / 1000;
    expect(Math.abs((value('keyway_dns_list_fetched_timestamp_seconds', { list: '1' }) ?? 0) - now)).toBeLessThan(600);
    expect(Math.abs((value('keyway_dns_last_refresh_timestamp_seconds') ?? 0) - now)).toBeLessThan(600);
    expect(value('keyway_dns_list_fetched_timestamp_seconds', { list: '2' })).toBe(undefined);
  });
});

describe('the process', () => {
  it('shows which Keyway it is, its event loop and its memory', async () => {
    const { metrics } = await opsStage({});
    const { families, value } = await metrics();
    expect(value('keyway_build_info', { version: '9.8.7' })).toBe(1);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(0);
    for (const statistic of ['p50', 'p99', 'max']) {
      expect(value('keyway_event_loop_delay_seconds', { statistic })).toBeGreaterThanOrEqual(0);
    }
    expect([...families.keys()].filter((name) => name.startsWith('nodejs_eventloop_lag'))).toEqual([]);
  });

  it('that is kept from its event loop shows for how long', async () => {
    const { metrics } = await opsStage({});
    await metrics();
    const longest = async () => (await metrics()).value('keyway_event_loop_delay_seconds', { statistic: 'max' }) ?? 0;
    // The first waking after the gathering began tells of nothing yet.
    await new Promise((done) => setTimeout(done, 100));
    const end = performance.now() + 300;
    while (performance.now() < end);
    await until(async () => (await longest()) > 0.2);
  });
});

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
    await until(
      async () =>
        (await metrics()).value('keyway_config_reloads_total', { reason: 'edited', outcome: 'refused' }) === 1,
    );
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

describe('a request that is given up', () => {
  it('before its answer counts as none', async () => {
    const { gateway, metrics } = await opsStage({}, THREE);
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    await new Promise((done) => socket.once('connect', done));
    socket.write('GET /new/api/users HTTP/1.1\r\nHost: x\r\n');
    socket.destroy();
    await new Promise((done) => socket.once('close', done));
    expect((await metrics()).families.get(REQUESTS)?.samples).toEqual([]);
  });
});

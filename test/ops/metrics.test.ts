import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import dnsPacket from 'dns-packet';
import { afterEach, describe, expect, it } from 'vitest';
import { askUdp } from '../dns/client.js';
import { cleanUp, later } from '../dns/harness.js';
import { addressAnswer, run } from '../dns/servers.js';
import { freePort } from '../free-ports.js';
import { CURRENT, configurationOf, EARLIEST, opsStage, THREE, until } from './stage.js';

afterEach(cleanUp);

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
    await writeFile(configPath, configurationOf({ access_keys: ['x', 'y'] }));
    const reloads = async (reason: string, outcome: string) =>
      (await metrics()).value('keyway_config_reloads_total', { reason, outcome }) ?? 0;
    // What writes a file may be met in the middle, which is refused, too.
    await until(async () => (await reloads('edited', 'applied')) > 0);
    const before = await reloads('edited', 'refused');
    await writeFile(configPath, 'no configuration');
    await until(async () => (await reloads('edited', 'refused')) > before);
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

describe('the DNS server', () => {
  it('shows queries, blocked ones, cache hits, upstream errors, its lists and their last refresh', async () => {
    const upstream = await runUpstream();
    const list = await run(
      createServer((_request, response) => response.end('||ads.example^\n||bad.example^\n@@||ok.bad.example^\n')),
    );
    later(() => list.close());
    const port = await freePort();
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
    await until(async () => {
      // The first waking after a reading tells of nothing; where even that one is late, the next round has another.
      await new Promise((done) => setTimeout(done, 100));
      const end = performance.now() + 300;
      while (performance.now() < end);
      return (await longest()) > 0.2;
    });
  });
});

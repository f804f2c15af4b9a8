import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createResolver } from '../../src/dns/resolver.js';
import { createGateway, type GatewayOptions } from '../../src/index.js';
import { freePort } from '../free-ports.js';
import { CERTIFICATE } from './certificate.js';
import { askUdp, dataOf } from './client.js';
import { cleanUp, later, outboundVia, startResolver, temporaryFolder, until } from './harness.js';
import { addressAnswer, run, runDoh, runPlain, runSocks } from './servers.js';

afterEach(cleanUp);

/** A log of which warnings and errors are kept. */
function warnings() {
  const lines: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[] = [];
  const keep = (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push({ fields, message });
  };
  return { lines, log: { debug() {}, info() {}, warn: keep, error: keep } };
}

/** The dns revision, or others, over a configuration file, with a resolver behind it, and their endpoints called over HTTP. */
async function startGateway(file: object, mounts: GatewayOptions['mounts'] = [{ revision: 'dns', webpath: 'panel' }]) {
  const folder = await temporaryFolder();
  const configPath = join(folder, 'server.json');
  await writeFile(configPath, JSON.stringify({ mode: 'server', access_keys: [], ...file }));
  const { lines, log } = warnings();
  const resolver = createResolver({
    copyFolder: join(folder, 'lists'),
    listFolder: null,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    log,
    ca: [CERTIFICATE],
    attemptTimeout: 20_000,
  });
  later(() => resolver.close());
  const app = await createGateway({
    mounts,
    configPath,
    resolver,
    pollMilliseconds: 20,
  });
  later(() => app.close());
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  resolver.start();
  await resolver.settled();
  const callAt = async (webpath: string, method: string, path: string, body?: unknown) => {
    const headers = { authorization: 'Bearer t', ...(body !== undefined && { 'content-type': 'application/json' }) };
    const response = await fetch(`${origin}/${webpath}/api${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const call = (method: string, path: string, body?: unknown) => callAt('panel', method, path, body);
  return { call, callAt, resolver, configPath, lines };
}

describe('the DNS endpoints', () => {
  it('control a server that answers custom, blocked, forwarded and cached names', async () => {
    const upstream = await runDoh((query) => addressAnswer(query));
    later(() => upstream.close());
    const list = await run(createServer((_request, response) => response.end('||ads.example^')));
    later(() => list.close());
    const port = await freePort();
    const { call, resolver } = await startGateway({ dns: { local_port: port } });
    const settings = {
      enabled: true,
      doh_upstream: upstream.url,
      adblock_urls: [`http://127.0.0.1:${list.port}/list`],
      custom_domains: { 'nas.home.example': '192.0.2.7' },
    };
    expect(await call('POST', '/dns/config', settings)).toEqual({ status: 200, body: { ok: true, data: true } });
    await until(() => resolver.stats().lastRefresh !== null, 'the list is loaded');
    expect((await call('GET', '/dns/config')).body).toEqual({ ok: true, data: settings });
    const names = ['nas.home.example', 'x.ads.example', 'www.example', 'www.example'];
    const replies = [];
    for (const name of names) replies.push(await askUdp(port, { name }));
    expect(replies.map((reply) => [reply.rcode, ...dataOf(reply)])).toEqual([
      ['NOERROR', '192.0.2.7'],
      ['NXDOMAIN'],
      ['NOERROR', '192.0.2.1'],
      ['NOERROR', '192.0.2.1'],
    ]);
    expect(upstream.requests).toHaveLength(1);
    const line = (domain: string, blocked: boolean) => ({
      timestamp: expect.any(Number),
      domain,
      client_ip: '127.0.0.1',
      blocked,
    });
    expect((await call('GET', '/dns/queries')).body).toEqual({
      ok: true,
      data: names.map((name) => line(name, name.endsWith('ads.example'))),
    });
    const before = resolver.stats().lastRefresh;
    expect((await call('POST', '/dns/blocklists/refresh')).body).toEqual({ ok: true, data: true });
    await until(() => resolver.stats().lastRefresh !== before, 'the list is refreshed');
  });

  it('refuse what means nothing, naming it, and change nothing', async () => {
    const { call } = await startGateway({});
    const before = await call('GET', '/dns/config');
    const answer = await call('POST', '/dns/config', { enabled: true, adblock_urls: ['/etc/hosts'] });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      ok: false,
      error: expect.stringContaining('adblock_urls[0]: expected an http'),
    });
    expect(await call('GET', '/dns/config')).toEqual(before);
  });

  it('take lists that are not read, keep them in the file, and say so in one line each', async () => {
    const { call, resolver, configPath, lines } = await startGateway({ dns: { local_port: await freePort() } });
    const urls = ['file:///etc/hosts', 'http://169.254.169.254/latest', 'http://[::ffff:a9fe:a9fe]/'];
    expect((await call('POST', '/dns/config', { enabled: true, adblock_urls: urls })).status).toBe(200);
    await until(() => resolver.stats().lastRefresh !== null, 'the lists are gone through');
    expect((await call('POST', '/dns/config', { enabled: true, adblock_urls: urls })).status).toBe(200);
    await resolver.settled();
    expect((await call('GET', '/dns/config')).body).toMatchObject({ data: { adblock_urls: urls } });
    expect(JSON.parse(await readFile(configPath, 'utf8'))).toMatchObject({ dns: { adblock_urls: urls } });
    expect(lines.map(({ message }) => message)).toEqual(urls.map(() => 'a blocklist is skipped'));
    expect(new Set(lines.map(({ fields }) => fields.list))).toEqual(new Set(urls));
    expect(resolver.stats().lists.map(({ names, skipped }) => [names, skipped])).toEqual(urls.map(() => [0, true]));
  });

  it('stay when the port is taken', async () => {
    const taken = await startResolver({});
    const { call, resolver } = await startGateway({ dns: { enabled: true, local_port: taken.port() } });
    expect(resolver.stats().listening).toBeNull();
    expect((await call('GET', '/dns/config')).status).toBe(200);
  });
});

describe('an edited file', () => {
  it('changes custom domains, the blocked answer and the way to the upstream for the next query', async () => {
    const upstream = await runDoh((query) => addressAnswer(query));
    later(() => upstream.close());
    const proxy = await runSocks();
    later(() => proxy.close());
    const port = await freePort();
    const dns = { enabled: true, local_port: port, doh_upstream: upstream.url };
    const { configPath } = await startGateway({ dns });
    expect((await askUdp(port, { name: 'a.example' })).rcode).toBe('NOERROR');
    const { address, rules, defaultAction } = outboundVia(proxy.port);
    const outbound = {
      enabled: true,
      protocol: 'socks5',
      address,
      port: proxy.port,
      default_action: defaultAction,
      rules,
    };
    const changed = { ...dns, custom_domains: { 'b.example': '192.0.2.9' } };
    await writeFile(configPath, JSON.stringify({ mode: 'server', access_keys: [], dns: changed, outbound }));
    await until(async () => dataOf(await askUdp(port, { name: 'b.example' }))[0] === '192.0.2.9', 'the file is read');
    expect((await askUdp(port, { name: 'c.example' })).rcode).toBe('NOERROR');
    expect(proxy.targets).toEqual([`127.0.0.1:${upstream.port}`]);
  });
});

describe('the DNS endpoints of 0.4.6', () => {
  it('control the same server, whose settings an older panel then changes without a loss', async () => {
    const upstream = await runPlain((query) => addressAnswer(query));
    later(() => upstream.close());
    const port = await freePort();
    const { callAt, resolver, configPath } = await startGateway(
      { api: { token: 't' }, dns: { local_port: port, doh_upstream: 'https://127.0.0.1:1/', note: 1 } },
      [
        { revision: '0.4.6', webpath: 'new' },
        { revision: '0.2.84', webpath: 'old' },
      ],
    );
    const settings = {
      enabled: true,
      upstreams: ['127.0.0.1:1', `127.0.0.1:${upstream.port}`],
      lists: [],
      user_rules: ['||ads.example^'],
      rewrites: [{ domain: 'nas.example', answer: '192.0.2.9' }],
      blocking_mode: 'refused',
      block_doh_bypass: false,
    };
    expect(await callAt('new', 'PUT', '/dns/settings', settings)).toEqual({
      status: 200,
      body: { ok: true, data: true },
    });
    await resolver.settled();
    expect((await callAt('new', 'GET', '/dns/settings')).body).toMatchObject({
      data: { ...settings, cache_size: 10_000 },
    });
    const rcodes = [];
    for (const name of ['nas.example', 'x.ads.example', 'www.example', 'www.example'])
      rcodes.push((await askUdp(port, { name })).rcode);
    expect(rcodes).toEqual(['NOERROR', 'REFUSED', 'NOERROR', 'NOERROR']);
    expect((await callAt('new', 'GET', '/dns/stats')).body).toMatchObject({
      data: { enabled: true, total: 4, blocked: 1, rewritten: 1, cached: 1, failed: 0 },
    });
    expect((await callAt('new', 'GET', '/dns/log?limit=3&q=example')).body).toMatchObject({
      data: [{ outcome: 'cached' }, { outcome: 'allowed', qtype: 'A' }, { outcome: 'blocked' }],
    });
    expect((await callAt('new', 'POST', '/dns/test', { domain: 'ads.example' })).body).toMatchObject({
      data: { outcome: 'blocked', rule: '||ads.example^' },
    });
    // The older panel sends its whole form back, with one own name more.
    const { body } = await callAt('old', 'GET', '/dns/config');
    const { data } = body as { data: { custom_domains: object; doh_upstream: string } };
    expect(data).toMatchObject({ doh_upstream: '127.0.0.1:1', custom_domains: { 'nas.example': '192.0.2.9' } });
    const customDomains = { ...data.custom_domains, 'tv.example': '192.0.2.10' };
    const changed = await callAt('old', 'POST', '/dns/config', { ...data, custom_domains: customDomains });
    expect(changed.status).toBe(200);
    expect((await callAt('new', 'GET', '/dns/settings')).body).toMatchObject({
      data: { ...settings, rewrites: [...settings.rewrites, { domain: 'tv.example', answer: '192.0.2.10' }] },
    });
    const { dns } = JSON.parse(await readFile(configPath, 'utf8'));
    expect(dns).toMatchObject({ note: 1, local_port: port, user_rules: ['||ads.example^'], blocking_mode: 'refused' });
    // Servers of 0.2.84 want it in their file.
    expect(dns.doh_upstream).toBe('127.0.0.1:1');
    const refused = await callAt('new', 'PUT', '/dns/settings', { ...settings, safe_search: true });
    expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining('dns.safe_search') } });
  });
});

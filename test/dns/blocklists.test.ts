import { readdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { askUdp, dataOf } from './client.js';
import { cleanUp, later, outboundVia, startResolver, type TestResolver, temporaryFolder, until } from './harness.js';
import { addressAnswer, run, runDoh, runSocks } from './servers.js';

afterEach(cleanUp);

type Serving = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server whose behaviour can be changed while it runs. */
async function listServer(first: Serving) {
  const state = { serve: first, requests: [] as IncomingMessage[] };
  const running = await run(
    createServer((request, response) => {
      state.requests.push(request);
      state.serve(request, response);
    }),
  );
  later(() => running.close());
  return { state, url: `http://127.0.0.1:${running.port}/list.txt`, close: running.close };
}

const sending =
  (content: string | Buffer, headers: Record<string, string> = {}): Serving =>
  (_request, response) => {
    response.writeHead(200, headers);
    response.end(content);
  };

async function refreshed({ resolver, lines }: TestResolver): Promise<void> {
  // Not by the time of the last refresh: two of them fit into one millisecond.
  const count = () => lines.filter(({ message }) => message === 'the blocklists are refreshed').length;
  const before = count();
  resolver.refreshBlocklists();
  await until(() => count() > before, 'the lists are refreshed');
}

async function loaded({ resolver }: TestResolver): Promise<void> {
  await until(() => resolver.stats().lastRefresh !== null, 'the lists are loaded');
}

async function upstream(): Promise<string> {
  const server = await runDoh((query) => addressAnswer(query));
  later(() => server.close());
  return server.url;
}

describe('a blocked name', () => {
  it('does not exist, with a SOA to keep that by; an exception and other names are forwarded', async () => {
    const { url } = await listServer(sending('||ads.example^\n@@||good.ads.example^\n'));
    const test = await startResolver({ adblockUrls: [url], dohUpstream: await upstream() });
    await loaded(test);
    const blocked = await askUdp(test.port(), { name: 'x.ads.example', udpBytes: 1232 });
    expect([blocked.rcode, blocked.authorities?.map(({ type, name }) => [type, name])]).toEqual([
      'NXDOMAIN',
      [['SOA', 'x.ads.example']],
    ]);
    expect((await askUdp(test.port(), { name: 'good.ads.example' })).rcode).toBe('NOERROR');
    expect((await askUdp(test.port(), { name: 'example' })).rcode).toBe('NOERROR');
    expect(test.resolver.queries().map(({ domain, blocked: was }) => [domain, was])).toEqual([
      ['x.ads.example', true],
      ['good.ads.example', false],
      ['example', false],
    ]);
    expect(test.resolver.stats()).toMatchObject({ blocked: 1, lists: [{ names: 1, exceptions: 1, error: null }] });
  });

  it('gets addresses that lead nowhere when the setting says so', async () => {
    const { url } = await listServer(sending('ads.example'));
    const test = await startResolver({ adblockUrls: [url], blockedAnswer: 'zero' });
    await loaded(test);
    expect(dataOf(await askUdp(test.port(), { name: 'ads.example' }))).toEqual(['0.0.0.0']);
    expect(dataOf(await askUdp(test.port(), { name: 'ads.example', type: 'AAAA' }), 'AAAA')).toEqual(['::']);
    const mail = await askUdp(test.port(), { name: 'ads.example', type: 'MX' });
    expect([mail.rcode, mail.authorities?.[0]?.type]).toEqual(['NOERROR', 'SOA']);
  });

  it('that is a custom domain gets its address', async () => {
    const { url } = await listServer(sending('ads.example'));
    const test = await startResolver({ adblockUrls: [url], customDomains: new Map([['ads.example', '192.0.2.7']]) });
    await loaded(test);
    expect(dataOf(await askUdp(test.port(), { name: 'ads.example' }))).toEqual(['192.0.2.7']);
  });
});

describe('a list', () => {
  it('that has not changed is not sent again', async () => {
    const { state, url } = await listServer((request, response) => {
      const known = request.headers['if-none-match'] === '"1"' && request.headers['if-modified-since'] !== undefined;
      response.writeHead(known ? 304 : 200, { etag: '"1"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' });
      response.end(known ? '' : 'ads.example');
    });
    const test = await startResolver({ adblockUrls: [url] });
    await loaded(test);
    await refreshed(test);
    expect(state.requests.map((request) => request.headers['if-none-match'])).toEqual([undefined, '"1"']);
    expect((await askUdp(test.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
  });

  it.each([
    ['transferred with gzip', gzipSync('ads.example\n'), { 'content-encoding': 'gzip' }],
    ['stored with gzip', gzipSync('ads.example\n'), { 'content-type': 'application/gzip' }],
  ])('%s is unpacked', async (_what, content, headers) => {
    const { url } = await listServer(sending(content, headers));
    const test = await startResolver({ adblockUrls: [url] });
    await loaded(test);
    expect((await askUdp(test.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
  });

  it.each<[string, Serving]>([
    ['that is a web page', sending('<!doctype html><title>ads.example</title>')],
    ['that is binary', sending(Buffer.from([1, 2, 0, 4]))],
    ['that is empty', sending('')],
    ['with comments alone', sending('# nothing\n')],
    ['with status 500', (_request, response) => response.writeHead(500).end('ads.example')],
    [
      'that breaks off',
      (_request, response) =>
        response.writeHead(200, { 'content-length': '99' }).write('new.example\n', () => response.destroy()),
    ],
    ['that is too large', sending('new.example\n'.repeat(20_000))],
    ['that unpacks to too much', sending(gzipSync('new.example\n'.repeat(20_000)))],
    ['with broken gzip', sending(gzipSync('new.example\n'.repeat(20)).subarray(0, 30), { 'content-encoding': 'gzip' })],
    ['in an unknown encoding', sending('new.example', { 'content-encoding': 'br' })],
    [
      'that redirects to a file',
      (_request, response) => response.writeHead(302, { location: 'file:///etc/hosts' }).end(),
    ],
    [
      'that redirects to a link-local address',
      (_request, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    ],
    ['that redirects for ever', (_request, response) => response.writeHead(302, { location: '/list.txt' }).end()],
    ['that drips without an end', (_request, response) => endless(response)],
    ['that sends nothing', () => undefined],
  ])('%s keeps the last good names, with one clear line', async (_what, serving) => {
    const { state, url } = await listServer(sending('ads.example'));
    const test = await startResolver({ adblockUrls: [url] }, { mostListBytes: 100_000, listTimeout: 1500 });
    await loaded(test);
    state.serve = serving;
    await refreshed(test);
    expect((await askUdp(test.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
    expect(test.lines.filter(({ level }) => level === 'warn' || level === 'error')).toHaveLength(1);
    const warned = test.lines.find(({ level }) => level === 'warn');
    expect(warned).toMatchObject({ fields: { list: url, kept: 1 } });
    expect(test.resolver.stats().lastRefreshError).toBe(warned?.fields.reason);
    expect((await readdir(test.folder)).filter((name) => name.includes('draft'))).toEqual([]);
  });

  it('blocks from the first answer on after a restart without a network', async () => {
    const { url, close } = await listServer(sending('ads.example'));
    const first = await startResolver({ adblockUrls: [url] });
    await loaded(first);
    await first.resolver.close();
    await close();
    const second = await startResolver({ adblockUrls: [url] }, { listFolder: first.folder });
    expect((await askUdp(second.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
    await loaded(second);
    expect((await askUdp(second.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
  });

  it('that is a file is read, and again when it has changed', async () => {
    const path = join(await temporaryFolder(), 'list.txt');
    await writeFile(path, 'ads.example\n');
    const test = await startResolver({ adblockUrls: [pathToFileURL(path).href], dohUpstream: await upstream() });
    await loaded(test);
    expect((await askUdp(test.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
    await writeFile(path, 'more.example\nother.example\n');
    await refreshed(test);
    expect((await askUdp(test.port(), { name: 'more.example' })).rcode).toBe('NXDOMAIN');
    expect((await askUdp(test.port(), { name: 'ads.example' })).rcode).toBe('NOERROR');
  });

  it('is fetched through the proxy when the outbound rules say so', async () => {
    const { url } = await listServer(sending('ads.example'));
    const proxy = await runSocks();
    later(() => proxy.close());
    const test = await startResolver({ adblockUrls: [url] }, { outbound: outboundVia(proxy.port) });
    await loaded(test);
    expect(proxy.targets).toEqual([new URL(url).host]);
    expect(test.resolver.stats().lists[0]?.names).toBe(1);
  });

  it('taken out of the settings blocks no more, at once for the next query', async () => {
    const { url } = await listServer(sending('ads.example'));
    const test = await startResolver({ adblockUrls: [url], dohUpstream: await upstream() });
    await loaded(test);
    await test.set({ adblockUrls: [] });
    expect((await askUdp(test.port(), { name: 'ads.example' })).rcode).toBe('NOERROR');
  });
});

describe('refreshes', () => {
  it('ordered at the same time are one', async () => {
    let release: () => void = () => undefined;
    const { state, url } = await listServer((_request, response) => {
      release = () => response.end('ads.example');
    });
    const test = await startResolver({ adblockUrls: [url] });
    for (let index = 0; index < 10; index++) test.resolver.refreshBlocklists();
    await test.resolver.settled();
    await until(() => state.requests.length > 0, 'it was asked');
    release();
    await loaded(test);
    expect(state.requests).toHaveLength(1);
  });

  it('for lists that are no longer wanted are given up', async () => {
    const stuck = await listServer(() => undefined);
    const good = await listServer(sending('ads.example'));
    const test = await startResolver({ adblockUrls: [stuck.url] });
    await until(() => stuck.state.requests.length > 0, 'it was asked');
    await test.set({ adblockUrls: [good.url] });
    await loaded(test);
    expect((await askUdp(test.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
    expect(test.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it('of 200,000 names leave the resolver answering, and lose no query', async () => {
    const content = Array.from({ length: 200_000 }, (_, index) => `0.0.0.0 h${index}.ads.example`).join('\n');
    const { url } = await listServer(sending(content));
    const test = await startResolver({ adblockUrls: [url], customDomains: new Map([['ok.example', '192.0.2.7']]) });
    let asked = 0;
    while (test.resolver.stats().lastRefresh === null) {
      expect(dataOf(await askUdp(test.port(), { name: 'ok.example' }))).toEqual(['192.0.2.7']);
      asked += 1;
    }
    expect(asked).toBeGreaterThan(10);
    expect(test.resolver.stats().lists[0]?.names).toBe(200_000);
  });
});

function endless(response: ServerResponse): void {
  response.writeHead(200);
  const timer = setInterval(() => response.write('new.example\n'), 50);
  response.on('close', () => clearInterval(timer));
}

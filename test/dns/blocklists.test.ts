import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DEFAULT_RESOLVER } from '../../src/core/dns-settings.js';
import { DEFAULT_DNS } from '../../src/core/model.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { resolverFor } from '../../src/serve/prepare.js';
import { settingsFromCommandLine } from '../../src/settings/read.js';
import { WHOLE } from '../whole.js';
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

const redirecting =
  (location: string): Serving =>
  (_request, response) =>
    response.writeHead(302, { location }).end();

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
  it('that has not changed is not sent again, nor after a restart, unless its copy is gone', async () => {
    const { state, url } = await listServer((request, response) => {
      const known = request.headers['if-none-match'] === '"1"' && request.headers['if-modified-since'] !== undefined;
      response.writeHead(known ? 304 : 200, { etag: '"1"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' });
      response.end(known ? '' : 'ads.example');
    });
    const first = await startResolver({ adblockUrls: [url] });
    await loaded(first);
    await refreshed(first);
    const second = await startResolver({ adblockUrls: [url] }, { copyFolder: first.folder });
    await loaded(second);
    await rm(first.folder, { recursive: true });
    await refreshed(second);
    const asked = state.requests.map((request) => request.headers['if-none-match']);
    expect(asked).toEqual([undefined, '"1"', '"1"', undefined]);
    expect((await askUdp(second.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
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
    ['that redirects to a file', redirecting('file:///etc/hosts')],
    ['that redirects to a link-local address', redirecting('http://169.254.169.254/')],
    ['that redirects to one in the form of IPv6', redirecting('http://[::ffff:169.254.169.254]/')],
    ['that redirects within loopback', redirecting('/list.txt')],
    ['that drips without an end', (_request, response) => endless(response, 5)],
    ['that sends nothing', () => void vi.advanceTimersByTime(5 * 60_000)],
  ])('%s keeps the last good names, with one clear line', async (_what, serving) => {
    // The good ones have all the time that they need, the others none once it is over.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { state, url } = await listServer(sending('ads.example'));
    const test = await startResolver({ adblockUrls: [url] }, { mostListBytes: 100_000 });
    await loaded(test);
    state.serve = serving;
    await refreshed(test);
    expect((await askUdp(test.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
    expect(test.lines.filter(({ level }) => level === 'warn' || level === 'error')).toHaveLength(1);
    const warned = test.lines.find(({ level }) => level === 'warn');
    expect(warned).toMatchObject({ fields: { list: url, kept: 1 } });
    expect(test.resolver.stats().lists).toMatchObject([{ error: warned?.fields.reason }]);
    expect((await readdir(test.folder)).filter((name) => name.includes('draft'))).toEqual([]);
  });

  it('blocks from the first answer on after a restart without a network', async () => {
    const { url, close } = await listServer(sending('ads.example'));
    const first = await startResolver({ adblockUrls: [url] });
    await loaded(first);
    await first.resolver.close();
    await close();
    const second = await startResolver({ adblockUrls: [url] }, { copyFolder: first.folder });
    expect((await askUdp(second.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
    await loaded(second);
    expect((await askUdp(second.port(), { name: 'ads.example' })).rcode).toBe('NXDOMAIN');
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

describe('a list at a file: URL', () => {
  /** A folder for lists with one in it, and a file beside the folder. */
  async function places() {
    const home = await temporaryFolder();
    const folder = join(home, 'lists');
    await mkdir(folder);
    const inside = join(folder, 'list.txt');
    const outside = join(home, 'outside.txt');
    await Promise.all([writeFile(inside, 'ads.example\n'), writeFile(outside, 'outside.example\n')]);
    return { home, folder, inside, outside };
  }
  const urlOf = (path: string) => pathToFileURL(path).href;
  const skipping = ({ lines }: TestResolver) => lines.filter(({ message }) => message === 'a blocklist is skipped');
  const isBlocked = async ({ port }: TestResolver, name: string) =>
    (await askUdp(port(), { name })).rcode === 'NXDOMAIN';
  const openFiles = async () => {
    const descriptors = await readdir('/proc/self/fd');
    return Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  };

  it('below the folder is read, and again when it has changed', async () => {
    const { folder, inside } = await places();
    const test = await startResolver(
      { adblockUrls: [urlOf(inside)], dohUpstream: await upstream() },
      { listFolder: folder },
    );
    await loaded(test);
    expect(await isBlocked(test, 'ads.example')).toBe(true);
    await writeFile(inside, 'more.example\nother.example\n');
    await refreshed(test);
    expect(await isBlocked(test, 'more.example')).toBe(true);
    expect(await isBlocked(test, 'ads.example')).toBe(false);
  });

  it.runIf(existsSync('/proc/self/fd'))('is closed when it is a web page, which its first piece says', async () => {
    const { folder, inside } = await places();
    await writeFile(inside, `<html>\n${'x'.repeat(1 << 20)}`);
    const test = await startResolver({ adblockUrls: [urlOf(inside)] }, { listFolder: folder });
    await loaded(test);
    await refreshed(test);
    expect(test.resolver.stats().lists).toMatchObject([{ error: 'it is a web page, no list' }]);
    await until(async () => !(await openFiles()).includes(inside), 'the list is closed');
  });

  it.runIf(existsSync('/proc/self/fd'))('is closed when the folder takes no copy of it', async () => {
    const { home, folder, inside } = await places();
    const copyFolder = join(home, 'no-folder');
    await writeFile(copyFolder, '');
    const test = await startResolver({ adblockUrls: [urlOf(inside)] }, { listFolder: folder, copyFolder });
    await loaded(test);
    expect(test.resolver.stats().lists).toMatchObject([{ error: expect.stringContaining('EEXIST') }]);
    await until(async () => !(await openFiles()).includes(inside), 'the list is closed');
  });

  it('is read below the folder that --list-folder names, which the DNS settings cannot', async () => {
    const { home, inside } = await places();
    const answer = await settingsFromCommandLine(['--list-folder', 'lists', '--data-dir', 'data'], {
      environment: {},
      folder: home,
      readFile: (path) => readFile(path),
    });
    if (!answer.ok) throw new Error(answer.problems.map(({ message }) => message).join());
    const resolver = await resolverFor(answer.settings, {
      clock: systemClock,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    });
    if (resolver === null) throw new Error('there is no resolver');
    later(() => resolver.close());
    resolver.configure({ ...DEFAULT_DNS, enabled: true, localPort: 0, adblockUrls: [urlOf(inside)] }, null);
    resolver.start();
    await until(() => resolver.stats().lastRefresh !== null, 'the list is loaded');
    expect(resolver.stats().lists[0]).toMatchObject({ names: 1, skipped: false });
  });

  it('is read where the folder, or a file in it, is a link that stays below it', async () => {
    const { home, folder, inside } = await places();
    const linked = join(home, 'linked');
    await symlink(folder, linked);
    await symlink(inside, join(folder, 'again.txt'));
    const test = await startResolver({ adblockUrls: [urlOf(join(linked, 'again.txt'))] }, { listFolder: linked });
    await loaded(test);
    expect(await isBlocked(test, 'ads.example')).toBe(true);
  });

  it('without a folder is skipped, and said once however often it is refreshed', async () => {
    const { inside } = await places();
    const test = await startResolver({ adblockUrls: [urlOf(inside)], dohUpstream: await upstream() });
    await loaded(test);
    await refreshed(test);
    await test.set({ adblockUrls: [urlOf(inside), 'http://169.254.169.254/'] });
    await refreshed(test);
    expect(skipping(test).map(({ fields }) => fields)).toEqual([
      { list: urlOf(inside), reason: expect.stringContaining('--list-folder') },
      { list: 'http://169.254.169.254/', reason: 'it is at a link-local address' },
    ]);
    expect(await isBlocked(test, 'ads.example')).toBe(false);
    expect(test.resolver.stats().lists[0]).toMatchObject({ names: 0, skipped: true });
  });

  it('that was read once blocks no more when Keyway is started without the folder, from the first answer on', async () => {
    const { folder, inside } = await places();
    const first = await startResolver({ adblockUrls: [urlOf(inside)] }, { listFolder: folder });
    await loaded(first);
    await first.resolver.close();
    // Its refresh never ends, so that the kept copies alone count.
    const stuck = await listServer(() => undefined);
    const second = await startResolver(
      { adblockUrls: [urlOf(inside), stuck.url], dohUpstream: await upstream() },
      { copyFolder: first.folder },
    );
    expect(await isBlocked(second, 'ads.example')).toBe(false);
    expect(skipping(second)).toHaveLength(1);
  });

  it.each<[string, (place: Awaited<ReturnType<typeof places>>) => Promise<string>]>([
    ['beside the folder', async ({ outside }) => urlOf(outside)],
    ['that climbs out of it', async ({ folder }) => `${urlOf(folder)}/../outside.txt`],
    ['that climbs out of it in another spelling', async ({ folder }) => `${urlOf(folder)}/%2E%2E/outside.txt`],
    ['that hides a slash', async ({ folder }) => `${urlOf(folder)}/..%2Foutside.txt`],
    ['in a folder whose name begins alike', async ({ folder }) => urlOf(`${folder}-more/list.txt`)],
    [
      'that is a link out of the folder',
      async ({ folder, outside }) => {
        await symlink(outside, join(folder, 'link.txt'));
        return urlOf(join(folder, 'link.txt'));
      },
    ],
    [
      'below a link out of the folder',
      async ({ folder, home }) => {
        await symlink(home, join(folder, 'up'));
        return urlOf(join(folder, 'up', 'outside.txt'));
      },
    ],
    ['that is the folder itself', async ({ folder }) => urlOf(folder)],
    ['of another machine', async ({ inside }) => `file://elsewhere${new URL(urlOf(inside)).pathname}`],
  ])('%s is skipped', async (_what, urlIn) => {
    const place = await places();
    const test = await startResolver({ adblockUrls: [await urlIn(place)] }, { listFolder: place.folder });
    await loaded(test);
    await refreshed(test);
    expect(test.resolver.stats().lists[0]).toMatchObject({ names: 0, skipped: true });
    expect(skipping(test)).toHaveLength(1);
  });

  it.each<[string, string, (path: string) => Promise<unknown>]>([
    ['a pipe that nobody writes to', 'regular file', (path) => promisify(execFile)('mkfifo', [path])],
    ['a folder', 'regular file', (path) => mkdir(path)],
    ['a file that is not there', 'ENOENT', async () => undefined],
    ['a link to what is not there', 'ENOENT', (path) => symlink(`${path}.gone`, path)],
    ['a file that is too large', 'larger than', (path) => writeFile(path, 'a.example\n'.repeat(20_000))],
  ])('that is %s keeps the last good names, and is said once', async (_what, reason, make) => {
    const { folder, inside } = await places();
    const test = await startResolver(
      { adblockUrls: [urlOf(inside)] },
      { listFolder: folder, mostListBytes: 100_000, listTimeout: 20_000 },
    );
    await loaded(test);
    await rm(inside);
    await make(inside);
    await refreshed(test);
    await refreshed(test);
    expect(await isBlocked(test, 'ads.example')).toBe(true);
    const warned = test.lines.filter(({ level }) => level === 'warn');
    expect(warned.map(({ fields }) => [fields.kept, fields.reason])).toEqual([[1, expect.stringContaining(reason)]]);
  });
});

describe('a list at an address', () => {
  it.each([
    ['http://169.254.169.254/l?token=x', 'http://169.254.169.254/l', 'it is at a link-local address'],
    ['http://0xA9FEA9FE/', 'http://169.254.169.254/', 'it is at a link-local address'],
    ['http://[::ffff:169.254.169.254]/', 'http://[::ffff:a9fe:a9fe]/', 'it is at a link-local address'],
    ['http://[fe80::1%25eth0]/l', 'http://[fe80::1]/l', 'it is at a link-local address'],
    ['http://[fd00:ec2::254]/', 'http://[fd00:ec2::254]/', "it is at a cloud's metadata address"],
    ['http://0/', 'http://0.0.0.0/', 'it is at the unspecified address'],
    ['http://[2001:db8::1%25eth0]/', 'http://[2001:db8::1]/', 'it is no http, https or file URL'],
    ['/etc/hosts', 'no URL', 'it is no http, https or file URL'],
  ])('such as %s is skipped, which one line says', async (url, list, reason) => {
    const test = await startResolver({ adblockUrls: [url] });
    await loaded(test);
    await refreshed(test);
    expect(test.lines.filter(({ level }) => level === 'warn')).toEqual([
      { level: 'warn', fields: { list, reason }, message: 'a blocklist is skipped' },
    ]);
    expect(test.resolver.stats().lists).toMatchObject([{ names: 0, error: reason, skipped: true }]);
  });
});

describe('a list that leads elsewhere', () => {
  const reasonOf = ({ resolver }: TestResolver) => resolver.stats().lists.at(-1)?.error ?? null;

  it.each([
    ['127.0.0.1', '127.0.0.1 is a loopback address'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1 is a loopback address'],
    ['0.0.0.0', '0.0.0.0 is the unspecified address'],
    ['here.test', 'here.test leads to a loopback address'],
  ])('to %s reaches nobody there, also where a connection is open', async (host, reason) => {
    const target = await listServer(sending('ads.example'));
    const { port } = new URL(target.url);
    const { url } = await listServer(redirecting(`http://${host}:${port}/from-redirect`));
    const test = await startResolver({
      adblockUrls: [target.url, url],
      customDomains: new Map([['here.test', '127.0.0.1']]),
    });
    await loaded(test);
    expect(reasonOf(test)).toBe(reason);
    expect(target.state.requests.map((request) => request.url)).toEqual(['/list.txt']);
  });

  it.each([
    ['169.254.169.254', 'cloud.test leads to a link-local address'],
    ['::ffff:a9fe:a9fe', 'cloud.test leads to a link-local address'],
    ['fd00:ec2::254', "cloud.test leads to a cloud's metadata address"],
    ['0.0.0.0', 'cloud.test leads to the unspecified address'],
  ])('by a name with the address %s is not asked', async (address, reason) => {
    const { port } = new URL((await listServer(sending('ads.example'))).url);
    const test = await startResolver({
      adblockUrls: [`http://cloud.test:${port}/list`],
      customDomains: new Map([['cloud.test', address]]),
    });
    await loaded(test);
    await refreshed(test);
    expect(reasonOf(test)).toBe(reason);
    expect(test.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  it('through a proxy goes where names lead there, never to a reserved address in a URL', async () => {
    const proxy = await runSocks();
    later(() => proxy.close());
    const target = await listServer(sending('ads.example'));
    const { port } = new URL(target.url);
    const good = await listServer(redirecting(`http://lists.test:${port}/`));
    const bad = await listServer(redirecting('http://169.254.169.254/'));
    const endless = await listServer(() => undefined);
    endless.state.serve = redirecting(`http://lists.test:${new URL(endless.url).port}/`);
    const test = await startResolver(
      { adblockUrls: [good.url, bad.url, endless.url] },
      { outbound: outboundVia(proxy.port) },
    );
    await loaded(test);
    expect(test.resolver.stats().lists.map(({ names, error }) => [names, error])).toEqual([
      [1, null],
      [0, '169.254.169.254 is a link-local address'],
      [0, 'it redirects more than 5 times'],
    ]);
    expect(proxy.targets).toContain(`lists.test:${port}`);
    expect(proxy.targets.some((to) => to.startsWith('169.254'))).toBe(false);
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

  it('that are given up lose nothing of a list that had come: the next refresh gets it again', async () => {
    const sendOrNotAgain = (name: string): Serving => {
      const etag = `"${name}"`;
      return (request, response) => {
        const isKnown = request.headers['if-none-match'] === etag;
        response.writeHead(isKnown ? 304 : 200, { etag }).end(isKnown ? '' : name);
      };
    };
    const quick = await listServer(sendOrNotAgain('old.example'));
    const slow = await listServer(sending('slow.example'));
    const test = await startResolver({ adblockUrls: [quick.url, slow.url], dohUpstream: await upstream() });
    await loaded(test);
    quick.state.serve = sendOrNotAgain('new.example');
    slow.state.serve = () => undefined;
    test.resolver.refreshBlocklists();
    const copies = async () =>
      Promise.all((await readdir(test.folder)).map((name) => readFile(join(test.folder, name), 'utf8')));
    await until(
      async () => (await copies()).some((copy) => copy.includes('"etag":"\\"new.example')),
      'its copy is kept',
    );
    await test.set({ adblockUrls: [quick.url] });
    await refreshed(test);
    expect((await askUdp(test.port(), { name: 'new.example' })).rcode).toBe('NXDOMAIN');
    expect((await askUdp(test.port(), { name: 'old.example' })).rcode).toBe('NOERROR');
  });

  it('under way when the settings take the newer form are begun again, since their lines then say something else', async () => {
    const held: ServerResponse[] = [];
    const { url } = await listServer((_request, response) => {
      response.writeHead(200).write('# title\n');
      if (held.length > 0) response.end('ads.example');
      held.push(response);
    });
    const test = await startResolver({ adblockUrls: [url] });
    const isRead = async () => {
      const drafts = (await readdir(test.folder)).filter((name) => name.endsWith('.draft'));
      return (await Promise.all(drafts.map((name) => readFile(join(test.folder, name))))).some(
        ({ length }) => length > 0,
      );
    };
    await until(isRead, 'its first line is read');
    const lists = [{ name: 'list', url, enabled: true }];
    await test.set({ resolver: { ...DEFAULT_RESOLVER, upstreams: [], lists } });
    held[0]?.end('ads.example');
    await loaded(test);
    expect(test.resolver.explain('ads.example')).toMatchObject({ outcome: 'blocked', source: 'list' });
  });

  if (WHOLE)
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

/** Sends a name every now and then; the time for a list is over with one of them. */
function endless(response: ServerResponse, last: number): void {
  response.writeHead(200);
  let sent = 0;
  const timer = setInterval(() => {
    response.write('new.example\n');
    sent += 1;
    if (sent === last) vi.advanceTimersByTime(5 * 60_000);
  }, 50);
  response.on('close', () => clearInterval(timer));
}

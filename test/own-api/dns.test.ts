import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createResolver } from '../../src/dns/resolver.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { askUdp } from '../dns/client.js';
import { cleanUp, later, until } from '../dns/harness.js';
import { run } from '../dns/servers.js';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { type OwnReply, ownStage } from './stage.js';

afterEach(cleanUp);

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** A gateway over a file with these DNS settings, and with a resolver. */
async function dnsStage(dns: object, { revision = 'current', isStarted = true } = {}) {
  const configPath = join(await folderForTest(), 'server.json');
  await writeFile(configPath, JSON.stringify({ mode: 'server', access_keys: [], dns }));
  const resolver = createResolver({ copyFolder: null, listFolder: null, clock: systemClock, log: SILENT });
  later(() => resolver.close());
  const stage = await ownStage({ configPath, resolver, mounts: [{ revision, webpath: 'panel' }] });
  if (isStarted) resolver.start();
  await resolver.settled();
  const inFile = async (): Promise<unknown> => JSON.parse(await readFile(configPath, 'utf8')).dns;
  return { ...stage, resolver, inFile };
}

/** Serves lists by their paths; every other one is missing. */
async function listServer(lists: Readonly<Record<string, string>>): Promise<string> {
  const server = createServer((request, response) => {
    const text = lists[request.url ?? ''];
    response.writeHead(text === undefined ? 404 : 200).end(text);
  });
  const { port, close } = await run(server);
  later(close);
  return `http://127.0.0.1:${port}`;
}

const dataOf = ({ body }: OwnReply) => (body as { readonly data: unknown }).data;

async function isFetched({ call }: Pick<Awaited<ReturnType<typeof dnsStage>>, 'call'>): Promise<void> {
  const state = async () => dataOf(await call('GET /dns')) as { refreshing: boolean; refreshed_at: string | null };
  await until(async () => {
    const { refreshing, refreshed_at } = await state();
    return !refreshing && refreshed_at !== null;
  }, 'the lists are fetched');
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

describe('the DNS server in the own interface', () => {
  it('is told with the names, age and error of each list, the questions of today, and the log by a search', async () => {
    const lists = await listServer({ '/ads': '0.0.0.0 ads.example\n0.0.0.0 more.example\n' });
    const port = await freePort();
    const stage = await dnsStage({
      enabled: true,
      local_port: port,
      adblock_urls: [`${lists}/ads`, `${lists}/gone`],
      custom_domains: { 'nas.example': '192.0.2.7' },
    });
    await isFetched(stage);
    for (const name of ['ads.example', 'nas.example', 'ads.example']) await askUdp(port, { name });
    const told = { kind: 'block', enabled: true };
    expect(dataOf(await stage.call('GET /dns'))).toEqual({
      ...{ running: true, reason: null, enabled: true, refreshing: false, refreshed_at: TIME },
      lists: [
        { ...told, name: `${lists}/ads`, url: `${lists}/ads`, names: 2n, fetched_at: TIME, error: null },
        {
          ...{ ...told, name: `${lists}/gone`, url: `${lists}/gone`, names: null, fetched_at: null },
          error: expect.stringContaining('404'),
        },
      ],
      today: { since: TIME, questions: 3n, blocked: 2n },
    });
    const entry = { time: TIME, client: '127.0.0.1', type: 'A', upstream: null, elapsed_ms: expect.any(BigInt) };
    const blocked = { ...entry, name: 'ads.example', outcome: 'blocked' };
    expect(dataOf(await stage.call('GET /dns/log?search=ADS'))).toMatchObject({
      ...{ running: true, reason: null },
      entries: [blocked, blocked],
    });
    expect(dataOf(await stage.call('GET /dns/log?limit=2'))).toMatchObject({
      entries: [blocked, { ...entry, name: 'nas.example', outcome: 'rewritten', rule: null, source: null }],
    });
  });

  it('fetches its lists again when it is asked, and says so from then on until that is over', async () => {
    const lists: Record<string, string> = { '/ads': 'ads.example\n' };
    const origin = await listServer(lists);
    const stage = await dnsStage({ enabled: true, local_port: await freePort(), adblock_urls: [`${origin}/ads`] });
    await isFetched(stage);
    lists['/ads'] = 'ads.example\nmore.example\nother.example\n';
    expect(dataOf(await stage.call('POST /dns/refresh'))).toMatchObject({ refreshing: true, lists: [{ names: 1n }] });
    await isFetched(stage);
    expect(dataOf(await stage.call('GET /dns'))).toMatchObject({ lists: [{ names: 3n }] });
  });

  it('has lists of the form of 0.4.6 switched off and on where they stand, and nothing else changed', async () => {
    const origin = await listServer({ '/ads': 'ads.example\n', '/good': 'good.example\n', '/new': 'new.example\n' });
    const lists = [
      { name: 'Ads', url: `${origin}/ads`, enabled: true },
      { name: 'Off', url: `${origin}/off`, enabled: false },
    ];
    const allowlists = [{ name: 'Good', url: `${origin}/good`, enabled: true }];
    const dns = { enabled: true, local_port: await freePort(), lists, allowlists, user_rules: ['||x.example^'] };
    const stage = await dnsStage(dns, { revision: '0.4.7' });
    await isFetched(stage);
    const off = { lists: [{ url: `${origin}/ads`, enabled: false }] };
    expect(dataOf(await stage.call('PATCH /dns', { body: off }))).toMatchObject({
      lists: [
        { name: 'Ads', kind: 'block', enabled: false, names: null, fetched_at: null },
        { name: 'Off', enabled: false },
        { name: 'Good', kind: 'allow', enabled: true, names: 1n },
      ],
    });
    expect(await stage.inFile()).toMatchObject({ ...dns, lists: [{ ...lists[0], enabled: false }, lists[1]] });
    const on = { url: `${origin}/new`, enabled: true };
    await stage.call('PATCH /dns', { body: { lists: [{ url: `${origin}/ads`, enabled: true }, on] } });
    expect(await stage.inFile()).toMatchObject({ ...dns, lists: [...lists, { name: on.url, ...on }] });
  });

  it('loses a list of the older form when that is switched off, and has it back when it is switched on', async () => {
    const origin = await listServer({ '/ads': 'ads.example\n', '/more': 'more.example\n' });
    const [ads, more] = [`${origin}/ads`, `${origin}/more`];
    const members = { doh_upstream: 'https://dns.example/q', custom_domains: {} };
    const dns = { enabled: true, local_port: await freePort(), adblock_urls: [ads, more], ...members };
    const stage = await dnsStage(dns);
    const off = await stage.call('PATCH /dns', { body: { lists: [{ url: ads, enabled: false }] } });
    const told = [
      { url: more, enabled: true },
      { url: ads, enabled: false, names: null },
    ];
    expect(dataOf(off)).toMatchObject({ lists: told });
    expect(dataOf(await stage.call('GET /dns'))).toMatchObject({ lists: told });
    expect(await stage.inFile()).toEqual({ ...dns, adblock_urls: [more] });
    const back = await stage.call('PATCH /dns', { body: { lists: [{ url: ads, enabled: true }] } });
    const lists = [
      { url: more, enabled: true },
      { url: ads, enabled: true },
    ];
    expect(dataOf(back)).toMatchObject({ lists });
    expect(await stage.inFile()).toEqual({ ...dns, adblock_urls: [more, ads] });
    const patch = { headers: { 'content-type': 'application/merge-patch+json' }, body: { dns: { adblock_urls: [] } } };
    await stage.call('PATCH /configuration', patch);
    expect(dataOf(await stage.call('GET /dns'))).toMatchObject({ lists: [] });
  });

  it('is switched off and on, and the event says by whom', async () => {
    const stage = await dnsStage({ enabled: true, local_port: await freePort() });
    expect(dataOf(await stage.call('PATCH /dns', { body: { enabled: false } }))).toMatchObject({
      enabled: false,
      lists: [],
    });
    const reason = async () => (dataOf(await stage.call('GET /dns')) as { reason: string | null }).reason;
    expect(await reason()).toBe('off');
    await stage.call('PATCH /dns', { body: { enabled: true } });
    await expect.poll(reason).toBe(null);
    const events = async () => dataOf(await stage.call('GET /events'));
    await expect.poll(events).toMatchObject({
      events: expect.arrayContaining([
        expect.objectContaining({ type: 'configuration.changed', data: { reason: 'saved', by: 'static' } }),
      ]),
    });
  });

  it('waits for its port, and is none where it was not started', async () => {
    const taken = createSocket('udp4').bind(0, '127.0.0.1');
    await once(taken, 'listening');
    const waiting = await dnsStage({ enabled: true, local_port: taken.address().port });
    expect(dataOf(await waiting.call('GET /dns'))).toMatchObject({ running: false, reason: 'waiting' });
    taken.close();
    const idle = await dnsStage({ enabled: true }, { isStarted: false });
    const none = { running: false, reason: 'none' };
    expect(dataOf(await idle.call('GET /dns'))).toMatchObject({ ...none, enabled: true, today: null });
    expect(dataOf(await idle.call('GET /dns/log'))).toEqual({ ...none, entries: [] });
    expect(dataOf(await idle.call('POST /dns/refresh'))).toMatchObject({ ...none, refreshing: false });
  });

  it.each([
    [{ on: true }, 'on'],
    [{ enabled: 'yes' }, 'enabled'],
    [{ lists: [{ url: 'https://a.example/', enabled: true, name: 'A' }] }, 'name'],
    [
      {
        lists: [
          { url: 'https://a.example/', enabled: true },
          { url: '/etc/hosts', enabled: true },
        ],
      },
      'lists[1].url',
    ],
  ])('refuses %j by the member, and changes nothing', async (body, member) => {
    const stage = await dnsStage({ enabled: false }, { isStarted: false });
    expect(await stage.call('PATCH /dns', { body })).toMatchObject({
      status: 400,
      body: { ok: false, code: 'invalid_body', error: expect.stringContaining(member) },
    });
    expect(await stage.inFile()).toEqual({ enabled: false });
  });

  it('is not switched on without an upstream, which servers refuse', async () => {
    const dns = { enabled: false, upstreams: [], lists: [] };
    const stage = await dnsStage(dns, { revision: '0.4.7' });
    expect(await stage.call('PATCH /dns', { body: { enabled: true } })).toMatchObject({
      status: 400,
      body: { code: 'invalid_body', error: expect.stringContaining('dns.upstreams') },
    });
    expect(await stage.inFile()).toEqual(dns);
  });

  it('has a list switched off whose URL could not be read', async () => {
    const lists = [{ name: 'Wrong', url: 'adguard', enabled: true }];
    const stage = await dnsStage({ enabled: false, lists }, { revision: '0.4.7' });
    expect(await stage.call('PATCH /dns', { body: { lists: [{ url: 'adguard', enabled: false }] } })).toMatchObject({
      status: 200,
      body: { data: { lists: [{ name: 'Wrong', enabled: false }] } },
    });
  });
});

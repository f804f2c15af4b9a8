import { expect, it } from 'vitest';
import { isNewerDns, readDns } from '../../panel/api/wire.js';
import { dnsServerOf } from '../../panel/pages/dns/dns-server.js';
import { fileEditingOf } from '../../panel/pages/file/file-editing.js';
import type { DnsLogEntry, ResolverState } from '../../src/core/model.js';
import type { ResolverPort } from '../../src/core/ports.js';
import { createNoResolver } from '../../src/dns/no-resolver.js';
import { DNS_MEMBERS, RESOLVER_MEMBERS } from '../../src/document/dns-section.js';
import { gate } from './gate.js';
import { fileWithDns, SERVER_FILE } from './server-files.js';
import { type DeskOptions, openDesk, refusal, said, settle } from './without-browser.js';

const TIME = Date.parse('2026-11-30T10:00:00Z');
const LIST = 'https://lists.example/ads.txt';

const entry = (name: string, outcome: DnsLogEntry['outcome']): DnsLogEntry => ({
  ...{ time: TIME, client: '192.0.2.7', name, type: 'A', outcome },
  ...{ rule: null, source: null, upstream: null, elapsed: 0 },
});

/** A resolver that answers, with the lists of its settings, each of them read. */
function answering(members: Partial<ResolverState> = {}): ResolverPort & { readonly searched: string[] } {
  const none = createNoResolver();
  const searched: string[] = [];
  const log = [entry('new.example', 'failed'), entry('ads.example', 'blocked'), entry('old.example', 'cached')];
  return {
    ...none,
    searched,
    state: () => ({
      ...{ ...none.state(), idle: null, refreshedAt: TIME, today: { since: TIME, questions: 3, blocked: 1 } },
      lists: none.state().lists.map((list) => ({ ...list, ...(list.enabled && { names: 5, fetchedAt: TIME }) })),
      ...members,
    }),
    log(_limit, part) {
      searched.push(part);
      return log.filter(({ name }) => name.includes(part));
    },
  };
}

async function deskWith(resolver: ResolverPort, options: DeskOptions = {}, revision = 'dns') {
  const desk = await openDesk(revision, { resolver, ...options });
  const dns = dnsServerOf(desk.workspace);
  const seen = () => {
    const { server } = dns.state.get();
    if (server === null || server === false) throw new Error(`expected a DNS server, found ${server}`);
    return server;
  };
  return { ...desk, dns, seen };
}

it('nothing is known of the DNS server before it was told, and nothing is after a sign-out', async () => {
  const { dns, workspace } = await deskWith(answering());
  const nothing = { server: null, queries: null };
  expect(dns.state.get()).toEqual(nothing);
  await dns.load();
  expect(dns.state.get()).not.toEqual(nothing);
  workspace.session.signOut();
  expect(dns.state.get()).toEqual(nothing);
});

it('the DNS server is told with its lists, the questions of today, and its log, oldest first', async () => {
  const { dns, seen } = await deskWith(answering(), { file: fileWithDns({ adblock_urls: [LIST] }) });
  await dns.load();
  expect(seen()).toEqual({
    ...{ reason: null, refreshing: false, refreshedAt: TIME, today: { since: TIME, questions: 3, blocked: 1 } },
    lists: [{ name: LIST, url: LIST, allows: false, enabled: true, names: 5, fetchedAt: TIME, error: null }],
  });
  const query = { timestamp: TIME / 1000, client_ip: '192.0.2.7', blocked: false, failed: false };
  expect(dns.state.get().queries).toEqual([
    { ...query, domain: 'old.example' },
    { ...query, domain: 'ads.example', blocked: true },
    { ...query, domain: 'new.example', failed: true },
  ]);
});

it('DNS settings of a file have the form of 0.4.6 for the panel where they have it for Keyway', () => {
  const isNewer = (member: string, value: unknown) => isNewerDns(readDns({ [member]: value }));
  expect([...RESOLVER_MEMBERS, ...DNS_MEMBERS.values(), 'unknown'].filter((name) => isNewer(name, []))).toEqual([
    ...RESOLVER_MEMBERS,
  ]);
  expect(isNewer('upstreams', null)).toBe(false);
});

it('a DNS server that is off has no lists and no questions, and says why', async () => {
  const { dns, seen } = await deskWith(answering({ idle: 'off', refreshedAt: null, today: null }));
  await dns.load();
  expect(seen()).toEqual({ reason: 'off', refreshing: false, refreshedAt: null, lists: [], today: null });
});

it('what could not be asked says why, and what was known stays', async () => {
  const { dns, on, seen } = await deskWith(answering());
  await dns.load();
  on(/GET keyway.v1.dns$/, () => refusal(500, 'broken', 'internal_error'));
  await expect(dns.load()).rejects.toMatchObject({ status: 500 });
  expect(seen().reason).toBe(null);
});

it.each([
  ['Keyway does not resolve', createNoResolver(), {}],
  ['Keyway does not serve its own interface', answering(), { ownApi: false }],
])('the log and the refresh are those of the API where %s', async (_why, resolver, options) => {
  const query = { timestamp: 1_770_000_000, domain: 'ads.example', clientIp: '192.0.2.7', blocked: true };
  const { dns, sent } = await deskWith({ ...resolver, queries: () => [query] }, options);
  await dns.load();
  const told = { server: false, queries: [{ domain: 'ads.example', blocked: true }] };
  expect(dns.state.get()).toMatchObject(told);
  await dns.refresh();
  expect(said()).toEqual(['Refresh started.']);
  await dns.load();
  expect(dns.state.get()).toMatchObject(told);
  const paths = sent.map(({ path }) => path);
  expect(paths.filter((path) => path === 'api/dns/blocklists/refresh')).toHaveLength(1);
  expect(paths.filter((path) => path === 'keyway/v1/dns').length).toBeLessThanOrEqual(1);
});

it('nothing is told where neither Keyway nor the API has a DNS server', async () => {
  const { dns } = await deskWith(createNoResolver(), { file: SERVER_FILE }, '0.4.7');
  await dns.load();
  expect(dns.state.get()).toEqual({ server: false, queries: null });
});

it('a list that was switched is not called failed where what is there now cannot be read', async () => {
  const { dns, on, seen } = await deskWith(answering(), { file: fileWithDns({ lists: [{ url: LIST }] }) });
  await dns.load();
  on(/GET keyway.v1.dns/, () => refusal(500, 'broken', 'internal_error'));
  await dns.switchList(LIST, false);
  expect(seen().lists).toMatchObject([{ url: LIST, enabled: false }]);
});

it('a list that older settings forget when it is switched off stays in sight, and comes back', async () => {
  const other = 'https://lists.example/more.txt';
  const { dns, seen, fileText } = await deskWith(answering(), { file: fileWithDns({ adblock_urls: [LIST, other] }) });
  await dns.load();
  const switches = () => seen().lists.map(({ url, enabled, names }) => [url, enabled, names]);
  await dns.switchList(LIST, false);
  expect(switches()).toEqual([
    [other, true, 5],
    [LIST, false, null],
  ]);
  expect(JSON.parse(await fileText()).dns).toMatchObject({ adblock_urls: [other] });
  await dns.switchList(LIST, true);
  expect(switches()).toEqual([
    [other, true, 5],
    [LIST, true, 5],
  ]);
});

it('a list of 0.4.7 is switched by its file, whose edit on the page begins with that', async () => {
  const lists = [{ name: 'Ads', url: LIST, enabled: true }];
  const { dns, seen, fileText, workspace } = await deskWith(answering(), { file: fileWithDns({ lists }) }, '0.4.7');
  const file = fileEditingOf(workspace);
  await file.start();
  await dns.load();
  await dns.switchList(LIST, false);
  expect(seen().lists).toMatchObject([{ name: 'Ads', enabled: false }]);
  expect(JSON.parse(await fileText())).toMatchObject({ dns: { lists: [{ ...lists[0], enabled: false }] } });
  expect(JSON.stringify(file.state.get().draft?.base)).toContain('false');
});

it('an answer from before a switch does not take it back', async () => {
  const { dns, seen, on } = await deskWith(answering(), { file: fileWithDns({ adblock_urls: [LIST] }) });
  await dns.load();
  const answered = gate();
  const asked = on(/GET keyway.v1.dns$/, async (_call, next) => {
    const answer = await next();
    await answered.opened;
    return answer;
  });
  const loading = dns.load();
  await settle();
  asked();
  await dns.switchList(LIST, false);
  answered.open();
  await loading;
  expect(seen().lists).toMatchObject([{ url: LIST, enabled: false }]);
});

it('a list is shown as it is wanted at once, and as it was where the switch fails', async () => {
  const { dns, seen, on } = await deskWith(answering(), { file: fileWithDns({ adblock_urls: [LIST] }) });
  await dns.load();
  const before = seen();
  on(/PATCH keyway.v1.dns$/, () => refusal(500, 'broken', 'save_failed'));
  const switching = dns.switchList(LIST, false);
  expect(seen().lists).toMatchObject([{ url: LIST, enabled: false }]);
  await expect(switching).rejects.toMatchObject({ status: 500 });
  expect(seen()).toEqual(before);
});

it('lists that are switched one right after the other are all switched, and stay in sight as they are wanted', async () => {
  const other = 'https://lists.example/more.txt';
  const lists = [LIST, other].map((url) => ({ name: url, url, enabled: true }));
  const { dns, seen, fileText, on } = await deskWith(answering(), { file: fileWithDns({ lists }) }, '0.4.7');
  await dns.load();
  const answered = gate();
  on(/PATCH keyway.v1.dns$/, async (_call, next) => {
    await answered.opened;
    return next();
  });
  const switches = () => seen().lists.map(({ enabled }) => enabled);
  const first = dns.switchList(LIST, false).then(() => switches()[1]);
  const second = dns.switchList(other, false);
  expect(switches()).toEqual([false, false]);
  answered.open();
  expect(await first).toBe(false);
  await second;
  expect(switches()).toEqual([false, false]);
  expect(JSON.parse(await fileText()).dns.lists).toMatchObject([{ enabled: false }, { enabled: false }]);
});

it('the log is searched at the server, and the answer to an earlier search is dropped', async () => {
  const resolver = answering();
  const { dns, on } = await deskWith(resolver);
  await dns.load();
  const answered = gate();
  on(/GET keyway.v1.dns.log.search=a$/, async (_call, next) => {
    const answer = await next();
    await answered.opened;
    return answer;
  });
  dns.search('a');
  await settle();
  dns.search('ads');
  await settle();
  answered.open();
  await settle();
  expect(dns.state.get().queries?.map(({ domain }) => domain)).toEqual(['ads.example']);
  expect(resolver.searched).toEqual(['', 'a', 'ads']);
});

it('a refresh is under way as soon as it was asked for', async () => {
  let isRefreshing = false;
  const resolver = answering();
  const { dns, seen, sent } = await deskWith({
    ...resolver,
    state: () => ({ ...resolver.state(), isRefreshing }),
    refreshBlocklists() {
      isRefreshing = true;
    },
  });
  await dns.load();
  expect(seen().refreshing).toBe(false);
  await dns.refresh();
  expect(seen().refreshing).toBe(true);
  expect(sent.filter(({ path }) => path === 'keyway/v1/dns/refresh')).toHaveLength(1);
});

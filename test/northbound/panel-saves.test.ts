import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import type { Caller } from '../../src/client/call.js';
import { createRunningServer } from '../../src/client/running-server.js';
import { openUpstreamBackend } from '../../src/homes/upstream/backend.js';
import { createGateway } from '../../src/index.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { tries } from '../tries.js';
import { WHOLE } from '../whole.js';

/** A panel reads what its form shows, changes one thing of it and sends it back: nothing else becomes another. */

interface List {
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
}
interface Rewrite {
  readonly domain: string;
  readonly answer: string;
}
type Members = Readonly<Record<string, unknown>>;
type Row = Readonly<Record<string, unknown>> & { readonly action?: string; readonly outbound?: string };
interface ServerFile extends Members {
  readonly dns?: Members;
  readonly outbound?: { readonly rules: readonly Row[] };
  readonly routing?: { readonly rules: readonly Row[]; readonly default_outbound: string };
}

/** A panel's settings of the older forms. */
interface Shown {
  readonly enabled: boolean;
  readonly doh_upstream: string;
  readonly adblock_urls: readonly string[];
  readonly custom_domains: Readonly<Record<string, string>>;
}

const url = fc.constantFrom('https://lists.example/a', 'https://lists.example/b', 'https://lists.example/c');
const domain = fc.constantFrom('nas.example', '*.lab.example', 'old.example');
const address = fc.constantFrom('192.0.2.1', '192.0.2.2', '2001:db8::1');

const older = fc.record({
  enabled: fc.boolean(),
  doh_upstream: fc.constantFrom('https://1.1.1.1/dns-query', 'https://9.9.9.9/dns-query'),
  adblock_urls: fc.uniqueArray(url),
  custom_domains: fc.dictionary(domain, address, { maxKeys: 2 }),
  local_port: fc.constantFrom(53, 5353),
  intercept_all_port53: fc.boolean(),
  note: fc.constant('mine'),
});
const engine = fc.record({
  enabled: fc.boolean(),
  upstreams: fc.uniqueArray(fc.constantFrom('https://1.1.1.1/dns-query', 'tls://9.9.9.9', '8.8.8.8'), { minLength: 1 }),
  upstream_mode: fc.constantFrom('fallback', 'parallel'),
  cache_size: fc.nat(9),
  blocking_mode: fc.constantFrom('nxdomain', 'null_ip', 'refused'),
  lists: fc.array(fc.record({ name: fc.constantFrom('A', 'B'), url, enabled: fc.boolean() }), { maxLength: 4 }),
  user_rules: fc.constantFrom([], ['||ads.example^']),
  rewrites: fc.array(fc.record({ domain, answer: fc.oneof(address, fc.constant('alias.example')) }), { maxLength: 5 }),
  block_doh_bypass: fc.boolean(),
  note: fc.constant('mine'),
});

const action = fc.constantFrom('proxy', 'direct', 'block');
const rule = fc.record({
  domain_suffix: fc.constantFrom(['.a'], ['.b']),
  ip_cidr: fc.constant([]),
  protocol: fc.constantFrom('tcp', null),
  action,
  send_from: fc.constantFrom('192.0.2.8', '192.0.2.9', null),
  note: fc.nat(9),
});
const rules = fc.array(rule, { maxLength: 5 });

const OUTBOUND = { enabled: true, protocol: 'socks5', address: '127.0.0.1', port: 9050, default_action: 'direct' };
const API = { enabled: true, bind: '127.0.0.1:9090', token: 't' };
const flat = fc.record({ dns: fc.oneof(older, engine), rules }).map(
  ({ dns, rules: rows }): ServerFile => ({
    mode: 'server',
    listen: '0.0.0.0:50000',
    access_keys: ['a'],
    api: API,
    outbound: { ...OUTBOUND, rules: rows },
    dns,
  }),
);
const TAGS: Readonly<Record<string, string>> = { proxy: 'tor', direct: 'out', block: 'none' };
const nested = fc.record({ dns: older, rules }).map(
  ({ dns, rules: rows }): ServerFile => ({
    mode: 'server',
    inbounds: [
      { protocol: 'api', tag: 'api', listen: '127.0.0.1', port: 9090, token: 't' },
      { protocol: 'ostp', tag: 'in', listen: '0.0.0.0', port: 50000, users: ['a'] },
    ],
    outbounds: Object.entries(TAGS).map(([kind, tag]) =>
      kind === 'proxy' ? { protocol: 'socks5', tag, server: '127.0.0.1', port: 9050 } : { protocol: kind, tag },
    ),
    routing: {
      rules: rows.map(({ action: to, ...row }) => ({ ...row, outbound: TAGS[to] ?? 'out' })),
      default_outbound: 'out',
    },
    dns,
  }),
);

const PATH = '/etc/server.json';
const LISTENER = { token: 't', username: '', passwordHash: '' };

type App = Awaited<ReturnType<typeof createGateway>>;
type Call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) => Promise<unknown>;

/** Calls of a panel of the revision that the gateway serves. */
const callsOf = (app: App): Call => {
  const api = app.keyway.mounts[0]?.api ?? '';
  return async (method, path, body) => {
    const headers = { authorization: 'Bearer t', ...(body !== undefined && { 'content-type': 'application/json' }) };
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
    const answer = await app.inject({ method, url: `${api}${path}`, headers, ...payload });
    expect([answer.statusCode, answer.payload], `${method} ${path}`).toMatchObject([200, expect.anything()]);
    return answer.json().data;
  };
};

/** A server of a line that reads the file, played by a gateway in memory. */
async function behind(file: ServerFile, { id }: Revision) {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/etc', 0o700);
  await fileSystem.create(PATH, Buffer.from(JSON.stringify(file, null, 2)), 0o600);
  const options = {
    configPath: PATH,
    fileSystem,
    listener: LISTENER,
    pollMilliseconds: 0,
    countersWriteMilliseconds: 0,
  };
  const app = await createGateway({ ...options, mounts: [{ revision: id }] });
  const read = async (): Promise<ServerFile> => JSON.parse((await fileSystem.read(PATH, 1 << 20)).toString());
  return { app, read };
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Calls that reach a gateway without a socket. */
const callerTo = (app: App): Caller => ({
  async send({ method, path, headers, body, take }) {
    const answer = await app.inject({
      method: method as 'GET',
      url: path,
      headers: Object.fromEntries(headers),
      ...(body && { payload: body }),
    });
    const isTaken = take !== undefined && answer.statusCode === 200;
    if (isTaken) await take(answer.rawPayload);
    return {
      status: answer.statusCode,
      headers: new Map(Object.entries(answer.headers).map(([name, value]) => [name, String(value)])),
      body: isTaken ? Buffer.alloc(0) : answer.rawPayload,
      firstByteMilliseconds: 1,
    };
  },
  close() {},
});

/** A gateway of another revision in front of that server. */
async function inFront(server: App, { id }: Revision): Promise<App> {
  const [mount] = server.keyway.mounts;
  const backend = await openUpstreamBackend({
    server: createRunningServer({
      origin: 'http://server',
      webpath: mount?.base.slice(1) ?? '',
      revision: mount?.revision ?? null,
      credentials: { token: 't', operator: null },
      lines: { all: REVISIONS, resolve: resolveRevision },
      clock: systemClock,
      log: quiet,
      caller: callerTo(server),
    }),
    dataFolder: null,
    fileSystem: createMemoryFiles(),
    clock: systemClock,
    random: systemRandom,
    log: quiet,
  });
  return createGateway({ backend, mounts: [{ revision: id }], listener: LISTENER });
}

/** A change of what a panel shows; the numbers choose among what is there. */
const dnsEdit = fc.record({
  kind: fc.constantFrom('nothing', 'enabled', 'upstream', 'list gone', 'list', 'name gone', 'name', 'address'),
  at: fc.nat(9),
  url,
  domain,
  address,
  /** A page sends all that it shows, another one what it has changed. */
  isWhole: fc.boolean(),
});
type DnsEdit = typeof dnsEdit extends fc.Arbitrary<infer Each> ? Each : never;

const NEW_UPSTREAM = 'https://new.example/dns-query';

/** The settings that a page sends, and the member that it changed. */
function editedDns(shown: Shown, { kind, at, url: list, domain: named, address: to }: DnsEdit): Partial<Shown> {
  const names = Object.keys(shown.custom_domains);
  const name = names[at % Math.max(names.length, 1)];
  if (kind === 'enabled') return { enabled: !shown.enabled };
  if (kind === 'upstream') return { doh_upstream: NEW_UPSTREAM };
  if (kind === 'list')
    return { adblock_urls: [...shown.adblock_urls, ...(shown.adblock_urls.includes(list) ? [] : [list])] };
  if (kind === 'list gone') {
    const gone = shown.adblock_urls[at % Math.max(shown.adblock_urls.length, 1)];
    return { adblock_urls: shown.adblock_urls.filter((one) => one !== gone) };
  }
  if (kind === 'name gone')
    return { custom_domains: Object.fromEntries(Object.entries(shown.custom_domains).filter(([one]) => one !== name)) };
  if (kind === 'name' && !names.includes(named)) return { custom_domains: { ...shown.custom_domains, [named]: to } };
  if (kind === 'address' && name !== undefined) return { custom_domains: { ...shown.custom_domains, [name]: to } };
  return {};
}

/** The members of an engine's section after the same change, by what it means there. */
function expectedEngine(dns: Members, shown: Shown, change: Partial<Shown>): Members {
  const [lists, rewrites] = [dns.lists as readonly List[], dns.rewrites as readonly Rewrite[]];
  const { enabled, doh_upstream: upstream, adblock_urls: urls, custom_domains: domains } = change;
  const added = urls?.find((one) => !shown.adblock_urls.includes(one));
  const off = lists.findIndex((one) => one.url === added);
  const lastOf = (name: string) => rewrites.findLastIndex((one) => one.domain === name && isIP(one.answer) !== 0);
  return {
    ...dns,
    ...(enabled !== undefined && { enabled }),
    ...(upstream !== undefined && { upstreams: [upstream, ...(dns.upstreams as readonly string[]).slice(1)] }),
    ...(urls !== undefined && {
      lists: [
        ...lists
          .map((one, place) => (place === off ? { ...one, enabled: true } : one))
          .filter((one) => !one.enabled || urls.includes(one.url)),
        ...(added !== undefined && off < 0 ? [{ name: added, url: added, enabled: true }] : []),
      ],
    }),
    ...(domains !== undefined && {
      rewrites: [
        ...rewrites.flatMap((one, place) => {
          if (lastOf(one.domain) !== place) return [one];
          const answer = domains[one.domain];
          return answer === undefined ? [] : [{ ...one, answer }];
        }),
        ...Object.entries(domains).flatMap(([name, answer]) => (lastOf(name) < 0 ? [{ domain: name, answer }] : [])),
      ],
    }),
  };
}

/** The members of older forms that stand beside an engine's for servers that need them. */
const BESIDE = ['doh_upstream', 'adblock_urls', 'custom_domains'];
const without = (members: Members, names: readonly string[]) =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

/** Has a panel of the revision save DNS settings, and expects in the file what it changed and nothing else. */
async function expectDnsSaved(call: Call, read: () => Promise<ServerFile>, { capabilities }: Revision, edit: DnsEdit) {
  const before = await read();
  const dns = before.dns ?? {};
  const isEngine = 'upstreams' in dns;
  if (capabilities.dns === undefined) {
    // The page of an engine shows all that there is.
    await call('PUT', '/dns/settings', await call('GET', '/dns/settings'));
    if (isEngine) expect(without((await read()).dns ?? {}, BESIDE)).toMatchObject(without(dns, BESIDE));
    return;
  }
  const shown = (await call('GET', '/dns/config')) as Shown;
  const change = editedDns(shown, edit);
  await call('POST', '/dns/config', edit.isWhole ? { ...shown, ...change } : { enabled: shown.enabled, ...change });
  const after = await read();
  const told = JSON.stringify({ edit, before: dns, after: after.dns });
  expect(without(after, ['dns']), told).toEqual(without(before, ['dns']));
  if (isEngine)
    expect(without(after.dns ?? {}, BESIDE), told).toEqual(without(expectedEngine(dns, shown, change), BESIDE));
  else expect(after.dns, told).toEqual({ ...dns, ...change });
}

const ruleEdit = fc.record({
  kind: fc.constantFrom('nothing', 'action', 'gone', 'new'),
  at: fc.nat(9),
  action,
});
type RuleEdit = typeof ruleEdit extends fc.Arbitrary<infer Each> ? Each : never;

const rowsOf = (file: ServerFile) => file.outbound?.rules ?? file.routing?.rules ?? [];

/** Has a panel of the revision save rules, and expects in the file what it changed and nothing else. */
async function expectRulesSaved(call: Call, read: () => Promise<ServerFile>, { kind, at, action: to }: RuleEdit) {
  const before = await read();
  const shown = (await call('GET', '/router/rules')) as readonly Row[];
  const place = at % Math.max(shown.length, 1);
  const written = shown.flatMap((row, index) => {
    if (index !== place || kind === 'nothing' || kind === 'new') return [row];
    return kind === 'gone' ? [] : [{ ...row, action: to }];
  });
  const added = kind === 'new' ? [{ domain_suffix: ['.new'], ip_cidr: [], action: to }] : [];
  await call('PUT', '/router/rules', [...written, ...added]);
  const after = await read();
  const rows = rowsOf(after).slice(0, written.length);
  const told = JSON.stringify({ kind, place, to, shown, before: rowsOf(before), after: rowsOf(after) });
  expect(after.dns, told).toEqual(before.dns);
  expect(rowsOf(after).length, told).toBe(written.length + added.length);
  const named = before.routing === undefined ? { action: to } : { outbound: TAGS[to] };
  // Of rules that look the same to the panel any may be the one that went.
  const look = (index: number) => JSON.stringify(shown[index]);
  const gone = [...shown.keys()].filter((index) => look(index) === look(place));
  const may =
    kind === 'gone' && shown.length > 0
      ? gone.map((index) => rowsOf(before).toSpliced(index, 1))
      : [rowsOf(before).map((row, index) => (kind === 'action' && index === place ? { ...row, ...named } : row))];
  expect(may, told).toContainEqual(rows);
}

/** The revision of an id, so that a counterexample names it. */
function named(id: string): Revision {
  const revision = REVISIONS.find((one) => one.id === id);
  if (revision === undefined) throw new Error(id);
  return revision;
}

const PANELS = REVISIONS.filter(({ capabilities: { dns, dnsEngine, rules: ofRules } }) => dns ?? dnsEngine ?? ofRules);

async function expectSaved(app: App, read: () => Promise<ServerFile>, panel: Revision, dns: DnsEdit, rows: RuleEdit) {
  const call = callsOf(app);
  if (panel.capabilities.dns !== undefined || panel.capabilities.dnsEngine !== undefined)
    await expectDnsSaved(call, read, panel, dns);
  if (panel.capabilities.rules !== undefined) await expectRulesSaved(call, read, rows);
}

describe('what a panel saves', () => {
  it('is what it changed of DNS settings and rules and nothing else, over a file of whatever form', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(flat, nested),
        fc.constantFrom(...PANELS.map(({ id }) => id)),
        dnsEdit,
        ruleEdit,
        async (file, id, dns, rows) => {
          const panel = named(id);
          const { app, read } = await behind(file, panel);
          try {
            await expectSaved(app, read, panel, dns, rows);
          } finally {
            await app.close();
          }
        },
      ),
      { numRuns: tries(WHOLE ? 40 : 15) },
    );
  });

  it('is the same in front of a server whose form is as new as its own, or newer', async () => {
    const pairs = PANELS.flatMap((panel) =>
      REVISIONS.slice(REVISIONS.indexOf(panel)).map((line) => [panel.id, line.id] as const),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...pairs).chain(([panel, line]) =>
          fc.record({
            panel: fc.constant(panel),
            line: fc.constant(line),
            file: named(line).file.layout === 'inbounds' ? nested : flat,
          }),
        ),
        dnsEdit,
        ruleEdit,
        async ({ panel: id, line, file }, dns, rows) => {
          const panel = named(id);
          const { app, read } = await behind(file, named(line));
          const front = await inFront(app, panel);
          try {
            await expectSaved(front, read, panel, dns, rows);
          } finally {
            await front.close();
            await app.close();
          }
        },
      ),
      { numRuns: tries(WHOLE ? 20 : 8) },
    );
  });

  it('is made of what the server has by then, where others changed that since the panel looked', async () => {
    const [file = {}] = fc.sample(flat, { numRuns: 1, seed: 1 });
    const { app, read } = await behind({ ...file, dns: { upstreams: ['9.9.9.9'], lists: [] } }, named('0.4.6'));
    const front = await inFront(app, named('0.2.51'));
    const call = callsOf(front);
    expect(await call('GET', '/dns/config')).toMatchObject({ enabled: false, adblock_urls: [] });
    const lists = [{ name: 'A', url: 'https://lists.example/a', enabled: true }];
    const others = { upstreams: ['8.8.8.8'], lists, user_rules: ['||ads.example^'] };
    await callsOf(app)('PUT', '/dns/settings', others);
    await call('POST', '/dns/config', { enabled: true });
    expect((await read()).dns).toMatchObject({ enabled: true, ...others });
    await front.close();
    await app.close();
  });
});

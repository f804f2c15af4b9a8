import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { createCaller } from '../../../src/client/caller.js';
import { LOSSES, type Loss } from '../../../src/client/losses.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { CERTIFICATE, PRIVATE_KEY } from '../../dns/certificate.js';
import { folderForTest } from '../../folder-for-test.js';
import { type ServedHere, serveHere } from '../../serve/serve-here.js';
import { type FaultyProxy, startFaultyProxy } from '../../stand-in/faulty-proxy.js';
import { apiOf, CREDENTIALS, fileOf, ROOT_LIST_FILE } from '../../stand-in/files.js';
import type { StandIn, StandInOptions } from '../../stand-in/stand-in.js';
import { keysOf, LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';
import { someOf, WHOLE } from '../../whole.js';
import { LATER_LOSSES } from './later-losses.js';

/** `keyway serve --upstream` in front of a server that misbehaves, over a connection on which things go wrong. */
interface InFront {
  readonly standIn: StandIn;
  readonly proxy: FaultyProxy;
  readonly served: ServedHere;
  /** The front's own API, with the token that the server has. */
  readonly api: ReturnType<typeof apiOf>;
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** The body of an answer to a request whose path is sent as it is written: `fetch` takes `..` away. */
  raw(method: string, path: string, body?: string): Promise<string>;
  health(): Promise<Health>;
}

const AUTHORIZED = { authorization: `Bearer ${CREDENTIALS.token}` };

async function inFront(line: string, given: Partial<StandInOptions> = {}, text?: string): Promise<InFront> {
  const standIn = await standInOf(line, given, text);
  const proxy = await startFaultyProxy(standIn.origin);
  onTestFinished(() => proxy.close());
  const { token, username, password } = CREDENTIALS;
  const folder = await folderForTest();
  const argv = [
    ...['serve', '--upstream', proxy.origin + standIn.paths.base, '--bind', '127.0.0.1:0', '--ops-bind', '127.0.0.1:0'],
    ...['--data-dir', join(folder, 'data'), '--revision', 'current', '--token', token],
  ];
  const environment = {
    KEYWAY_UPSTREAM_TOKEN: token,
    KEYWAY_UPSTREAM_USERNAME: username,
    KEYWAY_UPSTREAM_PASSWORD: password,
  };
  const served = await serveHere(argv, { folder, environment });
  const url = await served.url;
  const { base = '/panel' } = standIn.paths.base === '' ? {} : standIn.paths;
  const root = `${new URL(url).origin}${base}/api`;
  const caller = createCaller({ origin: new URL(url).origin, timeoutMilliseconds: 20_000 });
  onTestFinished(() => caller.close());
  return {
    standIn,
    proxy,
    served,
    api: apiOf({ origin: new URL(url).origin, version: '', paths: { base, api: `${base}/api` } }),
    ask: (path, init = {}) => fetch(root + path, { ...init, headers: { ...AUTHORIZED, ...init.headers } }),
    async raw(method, path, body) {
      const headers = new Map(Object.entries({ ...AUTHORIZED, 'content-type': 'application/json' }));
      const call = { method, path: `${base}/api${path}`, headers, body: body === undefined ? body : Buffer.from(body) };
      return (await caller.send(call)).body.toString();
    },
    health: () => healthOf(served),
  };
}

interface Health {
  readonly status: string;
  readonly problems?: readonly { readonly problem: string }[];
}

async function healthOf(served: ServedHere): Promise<Health> {
  const { ops } = (await served.log()).find((record) => record.ops !== undefined) ?? {};
  return (await (await fetch(`${new URL(String(ops)).origin}/healthz`)).json()) as Health; // As the listener answers.
}

describe('a server that goes away and comes back', () => {
  it('is a 502 with Retry-After that says which and since when, degrades the health, and is one log line each', async () => {
    const front = await inFront('0.2.96');
    expect((await front.api('GET', '/users')).ok).toBe(true);
    await front.proxy.stop();
    const [read, write] = [await front.ask('/users/alpha'), await front.ask('/users/alpha', { method: 'DELETE' })];
    expect([read.status, write.status]).toEqual([502, 502]);
    expect(Number(read.headers.get('retry-after'))).toBeGreaterThan(0);
    const { error } = (await read.json()) as { readonly error: string };
    expect(error).toContain(new URL(front.proxy.origin).host);
    expect(error).toMatch(/since \d{4}-\d\d-\d\dT/);
    const link = await front.ask('/subscribe/alpha', { headers: { accept: 'text/plain' } });
    expect(await link.json()).toEqual({ ok: true, data: 'ostp://alpha@127.0.0.1:50000?type=udp' });
    expect(await front.health()).toMatchObject({ problems: [{ problem: 'upstream_away' }] });
    await front.proxy.start();
    expect((await front.api('GET', '/users/alpha')).ok).toBe(true);
    expect(keysOf(front.standIn)).toEqual(['alpha', 'beta']);
    const said = (await front.served.log()).map(({ msg }) => String(msg)).filter((msg) => /answer/.test(msg));
    expect(said).toEqual([expect.stringContaining('does not answer'), 'the server answers again']);
    expect(await front.health()).not.toHaveProperty('problems', expect.arrayContaining([expect.anything()]));
  });

  it('and was updated meanwhile is taken over as its new line, under the same mounts', async () => {
    const front = await inFront('0.2.60');
    expect((await front.api('POST', '/users/bulk', { count: 2 })).data).toHaveLength(2);
    await front.proxy.stop();
    await front.standIn.restart('0.2.96');
    await front.proxy.start();
    const hasMadeMany = () => front.proxy.requests.some((each) => each.endsWith('/users/bulk'));
    const asked = async () => {
      await front.api('GET', '/server/status');
      await front.api('POST', '/users/bulk', { count: 1 });
      return hasMadeMany();
    };
    expect(hasMadeMany()).toBe(false);
    await expect.poll(asked).toBe(true);
  });
});

describe('a connection on which things go wrong', () => {
  it.each([
    'refused',
    'done and lost',
    'cut off',
  ] as const)('%s: a create is made once, and answered by what is true', async (kind) => {
    const front = await inFront('0.2.96', LOSES_NOTHING);
    await front.api('GET', '/users');
    let creates = 0;
    front.proxy.goesWrong(({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/users')) return null;
      creates += 1;
      return creates === 1 ? { kind } : null;
    });
    const answer = await front.ask('/users', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"access_key":"made","name":"Made"}',
    });
    expect(creates).toBe(1);
    const isMade = keysOf(front.standIn).includes('made');
    expect(isMade).toBe(kind !== 'refused');
    expect(answer.status).toBe(isMade ? 200 : 502);
    const { data } = await front.api('GET', '/users');
    expect(JSON.stringify(data).includes('"made"')).toBe(isMade);
  });

  it.each([
    ['a proxy’s page', { kind: 'answered', status: 200 }],
    ['a redirect', { kind: 'answered', status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
    ['a cut list', { kind: 'answered', status: 200, type: 'application/json', body: '{"ok":true,"data":[' }],
    ['half an answer', { kind: 'cut off' }],
  ] as const)('%s is never taken for data', async (_what, fault) => {
    const front = await inFront('0.2.96');
    await front.api('GET', '/users');
    front.proxy.goesWrong(() => fault);
    const answers = [
      await front.ask('/users/alpha'),
      await front.ask('/router/rules'),
      await front.ask('/server/config'),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(502);
      expect(await answer.json()).toMatchObject({ ok: false });
    }
    front.proxy.goesWrong(() => null);
    await expect.poll(async () => (await front.api('GET', '/users')).data).toHaveLength(2);
  });

  it('refusals of the one session: others sign in again and again, Keyway once, reads go on', async () => {
    // It has run for a minute: within a second after its start nobody can tell a restart from somebody else.
    let started = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + started };
    const front = await inFront('0.2.48', { clock });
    started = 60_000;
    expect((await front.api('GET', '/users')).ok).toBe(true);
    const logins = () => front.proxy.requests.filter((each) => each.endsWith('/login')).length;
    const before = logins();
    const other = apiOf(front.standIn);
    for (let n = 0; n < 5; n += 1) {
      await other('GET', '/server/status');
      expect((await front.api('GET', '/users')).data).toHaveLength(2);
      await front.ask(`/users/${n}`);
    }
    expect(logins() - before).toBeLessThanOrEqual(1);
    const write = await front.ask('/users/alpha', { method: 'DELETE' });
    expect(write.status).toBe(502);
    expect(keysOf(front.standIn)).toEqual(['alpha', 'beta']);
  });

  it('an address without TLS, and a certificate that nobody vouches for, are named, until both are right', async () => {
    const standIn = await standInOf('0.2.96');
    const proxy = await startFaultyProxy(standIn.origin, { key: PRIVATE_KEY, cert: CERTIFICATE });
    onTestFinished(() => proxy.close());
    const folder = await folderForTest();
    await writeFile(join(folder, 'ca.pem'), CERTIFICATE);
    // The folder of the wrong address is that of the right one, since nothing was learned there.
    const data = ['--data-dir', join(folder, 'data'), '--bind', '127.0.0.1:0', '--ops-bind', '127.0.0.1:0'];
    const serve = async (protocol: string, more: readonly string[]) => {
      const address = `${proxy.origin.replace('https://127.0.0.1', `${protocol}://localhost`)}/panel`;
      const environment = { KEYWAY_UPSTREAM_TOKEN: CREDENTIALS.token };
      const served = await serveHere(['serve', '--upstream', address, ...data, ...more], { folder, environment });
      const url = await served.url;
      const answer = await fetch(`${new URL(url).origin}/panel/api/server/status`, { headers: AUTHORIZED });
      const told = [await healthOf(served), (await served.log()).map(({ reason }) => reason), await answer.json()];
      await served.stop();
      return { status: answer.status, told: told.map((each) => JSON.stringify(each)) };
    };
    for (const [protocol, words] of [
      ['http', 'if it speaks TLS there, give the address as https://'],
      ['https', 'give that certificate with --upstream-ca FILE'],
    ] as const)
      expect(await serve(protocol, [])).toEqual({ status: 502, told: Array(3).fill(expect.stringContaining(words)) });
    expect((await serve('https', ['--upstream-ca', 'ca.pem'])).status).toBe(200);
  });
});

/** Keys and names that somebody has. */
const AWKWARD = [
  'a b',
  'a/b',
  'ключ',
  'a%b',
  'a?b#c',
  'a+b',
  '..',
  '.',
  'a@b:c',
  '"q"',
  '\\',
  '__proto__',
  '😀',
  'x'.repeat(2000),
];

const SERVED = ['0.2.34', '0.2.35', '0.2.43', '0.2.48', '0.2.60', '0.2.86', '0.2.96', '0.3.21'];

describe.each(someOf(SERVED, 1))('in front of %s', (line) => {
  it('awkward keys, names and limits of 64 bits go through both sides and stay exact', async () => {
    const { raw, standIn } = await inFront(line, { reloadFactor: 0 });
    const limits = [18446744073709551615n, 9007199254740993n, 0n];
    for (const [n, key] of AWKWARD.entries()) {
      const limit = limits[n % limits.length];
      const text = JSON.stringify(key);
      const made = await raw('POST', '/users', `{"access_key":${text},"name":${text},"limit_bytes":${limit}}`);
      expect(made).toBe(`{"ok":true,"data":${text}}`);
      const shown = await raw('GET', pathOf(key));
      expect(shown).toContain(`"limit_bytes":${limit},`);
      expect(JSON.parse(shown).data).toMatchObject({ access_key: key, name: key });
      const held = standIn.keys().find(({ accessKey }) => accessKey === key);
      expect(held).toMatchObject({ name: key, limitBytes: limit });
    }
    expect(JSON.parse(await raw('GET', '/users')).data).toHaveLength(AWKWARD.length + 2);
    for (const key of AWKWARD) expect(await raw('DELETE', pathOf(key))).toBe('{"ok":true,"data":"User removed"}');
    expect(keysOf(standIn)).toEqual(['alpha', 'beta']);
  });
});

const pathOf = (key: string) => `/users/${encodeURIComponent(key)}`;

const BY_SERVER = LOSSES.filter(({ shownBy }) => shownBy === 'server');

/** Those that mounts of later revisions alone show are looked at in later-losses.long.test.ts. */
const isOfLater = ({ operation, member, sentence }: Loss) =>
  Object.entries(LATER_LOSSES).some(
    ([beginning, places]) => sentence.startsWith(beginning) && `${operation} ${member}` in places,
  );

it('the losses that servers themselves show are those that are named here', () => {
  const ofKeys = ['createUser', 'updateUser', 'setLimit'] as const;
  expect(BY_SERVER.filter((loss) => !isOfLater(loss)).map(({ operation, member }) => `${operation} ${member}`)).toEqual(
    [
      ...Array(3).fill('putRules action'),
      ...[...ofKeys, 'deleteUser'].map((operation) => `${operation} access_key`),
      'updateUser name',
      // Sessions of clients are nothing that a stand-in has.
      ...ofKeys.map((operation) => `${operation} limit_bytes`),
    ],
  );
});

const linesOf = (words: string) => {
  const loss = BY_SERVER.find(({ sentence }) => sentence.startsWith(words));
  return someOf(
    REVISIONS.filter((line) => loss?.of(line) === true),
    1,
  );
};

const ROUTED = ROOT_LIST_FILE.replace('"mode"', '"outbound": { "protocol": "socks5", "rules": [] }, "mode"');
const BLOCKS = { domain_suffix: ['.a'], ip_cidr: [], protocol: null, action: 'block' };

it.each(
  linesOf('Rules go into the configuration'),
)('rules of $id go into its configuration: they count from the next start on, block as proxy', async ({
  reportedVersion,
}) => {
  const { api, standIn } = await inFront(reportedVersion, {}, ROUTED);
  expect(await api('PUT', '/router/rules', [BLOCKS])).toEqual({ ok: true, data: true });
  expect((await api('GET', '/router/rules')).data).toEqual([BLOCKS]);
  expect(standIn.rules()).toEqual([]);
  await standIn.restart();
  expect(standIn.rules()).toMatchObject([{ domainSuffix: ['.a'], action: 'proxy' }]);
  expect(keysOf(standIn)).toEqual(['alpha', 'beta']);
});

it.each(linesOf('A rule with `block`'))('a rule of $id that blocks does so until the next start', async ({
  reportedVersion,
}) => {
  const { api, standIn } = await inFront(reportedVersion, {}, ROUTED);
  expect((await api('PUT', '/router/rules', [BLOCKS])).ok).toBe(true);
  expect(standIn.rules()).toMatchObject([{ action: 'block' }]);
  await standIn.restart();
  expect((await api('GET', '/router/rules')).data).toEqual([{ ...BLOCKS, action: 'proxy' }]);
});

it.each(linesOf('Rules take effect at once'))('rules of $id for which its file has no outbound end with it', async ({
  reportedVersion,
}) => {
  const { outbounds, ...file } = JSON.parse(fileOf(reportedVersion));
  const [proxy] = outbounds;
  const text = JSON.stringify({ ...file, outbounds: [proxy], routing: { rules: [] } });
  const { api, standIn } = await inFront(reportedVersion, {}, text);
  expect((await api('PUT', '/router/rules', [BLOCKS])).ok).toBe(true);
  expect((await api('GET', '/router/rules')).data).toEqual([BLOCKS]);
  await standIn.restart();
  expect((await api('GET', '/router/rules')).data).toEqual([]);
});

it.each(
  linesOf('The server stores nothing'),
)('a server of $id starts with the keys of its file, and gets changes made through Keyway again, without a name of its own', async ({
  reportedVersion,
}) => {
  const { api, standIn } = await inFront(reportedVersion, LOSES_NOTHING);
  await api('POST', '/users', { access_key: 'made', name: 'Made', limit_bytes: 5 });
  await api('DELETE', '/users/alpha');
  await api('PUT', '/users/beta', { name: 'Beta' });
  await standIn.restart();
  expect(keysOf(standIn)).toEqual(['alpha', 'beta']);
  await expect
    .poll(
      async () => {
        await api('GET', '/users');
        return keysOf(standIn);
      },
      { timeout: 60_000, interval: 500 },
    )
    .toEqual(['beta', 'made']);
  const names = standIn.keys().map(({ accessKey, name, limitBytes }) => [accessKey, name, limitBytes]);
  expect(names.toSorted()).toEqual([
    ['beta', null, null],
    ['made', 'Made', 5n],
  ]);
  expect((await api('GET', '/users/beta')).data).toMatchObject({ name: 'Beta' });
});

if (WHOLE)
  it('in front of a server with 20,000 keys, their list is whole and a key is found at once', async () => {
    const keys = Array.from({ length: 20_000 }, (_, n) => `key-${n}`);
    const text = JSON.stringify({ ...JSON.parse(fileOf('0.2.96')), access_keys: keys });
    const { api, standIn } = await inFront('0.2.96', { reloadFactor: 0 }, text);
    let list = await api('GET', '/users');
    // A busy machine may take longer for such a list than Keyway waits for a server's first byte.
    while (list.error?.startsWith('the server did not answer in time')) list = await api('GET', '/users');
    expect(list.error).toBeUndefined();
    expect(list.data).toHaveLength(20_000);
    standIn.count('key-5', { down: 7n });
    expect((await api('GET', '/users/key-5')).data).toMatchObject({ bytes_down: 7 });
    expect((await api('GET', '/users/nobody')).error).toBe('user not found');
  });

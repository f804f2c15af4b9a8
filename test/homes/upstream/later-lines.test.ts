import { describe, expect, onTestFinished, test } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { createGateway, type GatewayOptions } from '../../../src/index.js';
import type { Revision } from '../../../src/wire/traits/revision.js';
import { CREDENTIALS, ROOT_LIST_FILE } from '../../stand-in/files.js';
import type { StandIn, StandInOptions } from '../../stand-in/stand-in.js';
import { LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';
import { someOf } from '../../whole.js';

/** Keyway in front of servers from 0.4.0 on, as the stand-in plays them by what was read of them. */

const TEXT = ROOT_LIST_FILE.replace(
  '"mode"',
  `"domain": "vpn.example.com", "tls": { "enabled": true }, "outbound": { "enabled": true, "rules": [
    { "domain_suffix": [".a"], "ip_cidr": [], "protocol": null, "action": "direct", "send_from": "192.0.2.7" } ] }, "mode"`,
);

type Call = (method: 'GET' | 'PUT' | 'POST', path: string, body?: unknown, accept?: string) => Promise<Told>;

interface Told {
  readonly status: number;
  readonly ok: boolean;
  readonly data: unknown;
}

/** A front of one revision, in which somebody is signed in. */
async function front(standIn: StandIn, { id, root, capabilities }: Revision, token: string | null = CREDENTIALS.token) {
  const { username, password } = CREDENTIALS;
  const upstream = {
    url: standIn.origin + standIn.paths.base,
    ...(token === null ? { username, password } : { token }),
  };
  const listener = { token: 'front', username: 'me', passwordHash: PASSWORD_HASH };
  const options: GatewayOptions = { upstream, listener, mounts: [{ revision: id }], loginGuard: 'off' };
  const app = await createGateway(options);
  onTestFinished(() => app.close());
  const { api } = root.paths('');
  let authorization = 'Bearer front';
  const call: Call = async (method, path, body, accept = 'application/json') => {
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
    const headers = { authorization, accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const answer = await app.inject({ method, url: `${api}${path}`, headers, ...payload });
    return { status: answer.statusCode, ...answer.json() };
  };
  if (capabilities.login === true) {
    const { data } = await call('POST', '/login', { username: 'me', password: 'password' });
    authorization = `Bearer ${(data as { readonly token: string }).token}`;
  }
  return { call, app };
}

/** SHA-256 of `password`. */
const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

const LINES = ['0.4.0', '0.4.6', '0.4.7'];
const PAIRS = LINES.flatMap((line) => REVISIONS.map((revision) => ({ line, id: revision.id, revision })));

const serverOf = (line: string, options: Partial<StandInOptions> = {}, text = TEXT) =>
  standInOf(line, { ...LOSES_NOTHING, ...options }, text);

/** The numbers of a key as a mount tells them. */
const trafficOf = async (call: Call) => {
  await call('GET', '/users');
  return (await call('GET', '/users/alpha')).data;
};

test.each(someOf(PAIRS, 8))('a mount of $id in front of $line signs in, lists, links and changes keys', async ({
  line,
  revision,
}) => {
  // Servers of 0.4.0 know no TLS.
  const text = line === '0.4.0' ? TEXT.replace(/"domain".*"tls": \{[^}]*\}, /, '') : TEXT;
  const standIn = await serverOf(line, {}, text);
  const { call } = await front(standIn, revision);
  const { status, data } = await call('GET', '/users');
  expect([status, (data as readonly { readonly access_key: string }[]).map((key) => key.access_key).sort()]).toEqual([
    200,
    ['alpha', 'beta'],
  ]);
  expect(await call('GET', '/server/status')).toMatchObject({ status: 200, data: { total_users: 2 } });
  expect(await call('POST', '/users', { access_key: 'made', limit_bytes: 5 })).toMatchObject({ status: 200 });
  expect(standIn.keys().find(({ accessKey }) => accessKey === 'made')).toMatchObject({ limitBytes: 5n });
  const link = String((await call('GET', '/subscribe/alpha', undefined, 'text/plain')).data);
  if (line === '0.4.0') expect(link).toMatch(/^ostp:\/\/alpha@127\.0\.0\.1:50000/);
  // What a client of an older line reads is the address over UDP: it knows no TLS.
  else if (revision.subscribe.encode.by === 'one way')
    expect(link).toMatch(/^ostp:\/\/alpha@vpn\.example\.com:50000(\?type=udp)?$/);
  else expect(link).toMatch(/^ostp:\/\/alpha@vpn\.example\.com:443\?type=uot&tls=1$/);
});

describe.each(['0.4.6', '0.4.7'])('in front of %s', (line) => {
  const current = REVISIONS.find(({ id }) => id === 'current') ?? fail();

  test('counters go on after a restart, and after a crash from the last write', async () => {
    const standIn = await serverOf(line);
    const { call } = await front(standIn, current);
    standIn.count('alpha', { up: 5n, connections: 1n });
    expect(await trafficOf(call)).toMatchObject({ bytes_up: 5, connections: 1, online: true });
    await standIn.restart();
    expect(await trafficOf(call)).toMatchObject({ bytes_up: 5, connections: 0, online: false });
    standIn.count('alpha', { up: 5n });
    await standIn.crash();
    expect(await trafficOf(call)).toMatchObject({ bytes_up: 5 });
  });

  test('a panel that does not know send_from changes an action, in a file with comments, and neither goes', async () => {
    const standIn = await serverOf(line, {}, `// by hand\n${TEXT}`);
    const { call } = await front(standIn, current);
    const rules = (await call('GET', '/router/rules')).data as readonly object[];
    expect(rules).toEqual([{ domain_suffix: ['.a'], ip_cidr: [], protocol: null, action: 'direct' }]);
    const changed = rules.map((rule) => ({ ...rule, action: 'proxy' }));
    expect(await call('PUT', '/router/rules', changed)).toMatchObject({ status: 200 });
    expect(standIn.rules()).toMatchObject([{ action: 'proxy', sendFrom: '192.0.2.7' }]);
    await standIn.restart();
    expect(standIn.rules()).toMatchObject([{ action: 'proxy', sendFrom: '192.0.2.7' }]);
  });
});

test('a sign-in that 0.4.7 refuses is not tried again and again, so that its operator is not locked out', async () => {
  const standIn = await serverOf(
    '0.4.7',
    {},
    TEXT.replace(/"[0-9a-f]{64}"/, `"${'0'.repeat(64)}"`).replace('static-token-1', 'another'),
  );
  let refusals = 0;
  const { call } = await front(standIn, current(), null).catch(() => ({ call: null }));
  for (let n = 0; call !== null && n < 20; n += 1) refusals += (await call('GET', '/users')).ok ? 0 : 1;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ username: 'admin', password: 'wrong' });
  const answer = await fetch(`${standIn.origin}${standIn.paths.api}/login`, { method: 'POST', headers, body });
  expect([refusals === 0 || refusals === 20, answer.status]).toEqual([true, 401]);
});

test.each([
  '0.4.6',
  '0.4.7',
])('a mount of %s in front of a beta that lacks what 0.4.6 has answers its status, and no 502', async (id) => {
  const standIn = await serverOf('0.4.6', { lacking: ['endpoint', 'dns', 'counters'] });
  const revision = REVISIONS.find((each) => each.id === id) ?? fail();
  const { call } = await front(standIn, revision);
  expect(await call('GET', '/server/status')).toMatchObject({ status: 200, data: { total_users: 2 } });
  expect(await call('GET', '/users')).toMatchObject({ status: 200 });
  expect(await call('GET', '/subscribe/alpha', undefined, 'text/plain')).toMatchObject({ status: 200 });
});

function current(): Revision {
  return REVISIONS.find(({ id }) => id === 'current') ?? fail();
}

function fail(): never {
  throw new Error('there is no such revision');
}

import { describe, expect, it, onTestFinished } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { openUpstreamBackend } from '../../src/homes/upstream/backend.js';
import type { GatewayOptions } from '../../src/index.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { createFakeServer } from '../client/fake-server.js';
import { describeDatabase, freshDatabase } from '../homes/database/database.js';
import { silent } from '../homes/database/gateways.js';
import { gatewayForTest } from '../northbound/gateway.js';
import { createKey } from '../ports/key-changes.js';
import { createMemoryBackend } from '../ports/memory-backend.js';
import { apiOf, CREDENTIALS } from '../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../stand-in/test-stand-in.js';
import { DECOY, TOKEN_A, tokenOf, WORKED } from './stage.js';

/** A gateway that answers subscriptions on its own listener. */
async function served(options: Partial<GatewayOptions>) {
  const app = await gatewayForTest({ mounts: [{ revision: 'current' }], subscriptionTokens: true, ...options });
  const ask = async (path: string) => {
    const { statusCode, payload, headers } = await app.inject({ url: path });
    return { status: statusCode, text: payload, usage: headers['subscription-userinfo'] };
  };
  return { app, ask };
}

const DECOYED = { status: 404, text: DECOY.slice(DECOY.indexOf('<html>')), usage: undefined };

describe('subscriptions by token', () => {
  it('are answered without any configuration', async () => {
    const { app, ask } = await served({ announced: { host: 'vpn.example.com', port: 5000 } });
    await app.keyway.core.createUser({ accessKey: 'key-a', name: 'Anna' });
    expect(await ask(`/sub/${TOKEN_A}`)).toEqual({
      status: 200,
      text: 'ostp://key-a@vpn.example.com:5000?type=udp&name=OSTP%20%C2%B7%20Anna%20%C2%B7%20UDP\n',
      usage: 'upload=0; download=0; total=0; expire=0',
    });
  });

  it.each(['0.2.34', '0.2.48', '0.3.21'])('are answered for keys that live on a server of %s', async (line) => {
    const standIn = await standInOf(line);
    const { token, username, password } = CREDENTIALS;
    const way = line === '0.2.48' ? { username, password } : { token };
    const { ask } = await served({ upstream: { url: standIn.origin + standIn.paths.base, ...way } });
    expect(await ask(`/sub/${tokenOf('beta')}`)).toMatchObject({
      status: 200,
      text: expect.stringMatching(
        /^ostp:\/\/beta@127\.0\.0\.1:50000\?type=udp&name=OSTP%20%C2%B7%20(?:Beta%20%C2%B7%20)?UDP\n$/,
      ),
      usage: 'upload=0; download=0; total=1000; expire=0',
    });
    expect(await ask(`/sub/${tokenOf('gamma')}`)).toEqual(DECOYED);
  });

  it('are there for a key that was made on the server itself, once a list shows it', async () => {
    const standIn = await standInOf('0.2.96', LOSES_NOTHING);
    const { ask } = await served({ upstream: { url: standIn.origin + standIn.paths.base, token: CREDENTIALS.token } });
    expect(await ask(`/sub/${tokenOf('gamma')}`)).toEqual(DECOYED);
    await apiOf(standIn)('POST', '/users', { access_key: 'gamma' });
    await expect.poll(async () => (await ask(`/sub/${tokenOf('gamma')}`)).status).toBe(200);
  });

  it('have the prefix, the name and the interval that the configuration of a running server says', async () => {
    const configuration = { ...WORKED, access_keys: ['key-a'], subscription: { path: '/links', name: 'Home' } };
    const standIn = await standInOf(
      '0.2.96',
      {},
      JSON.stringify({ ...configuration, api: { enabled: true, token: 't' } }),
    );
    const { ask } = await served({ upstream: { url: standIn.origin + standIn.paths.base, token: 't' } });
    const { status, text } = await ask(`/links/${TOKEN_A}?format=json`);
    expect({ status, ...JSON.parse(text) }).toMatchObject({
      status: 200,
      name: 'Home',
      update_interval_hours: 12,
      links: [
        'ostp://key-a@vpn.example.com:443?type=uot&tls=1&path=%2Fs3cr3tpath&name=Home%20%C2%B7%20TLS',
        'ostp://key-a@vpn.example.com:50000?type=udp&name=Home%20%C2%B7%20UDP',
      ],
    });
    expect((await ask(`/sub/${TOKEN_A}`)).status).toBe(404);
  });

  it('are not said to be gone where whoever holds the state is away', async () => {
    const backend = createMemoryBackend({ hasLiveReads: true, isReplica: true });
    await createKey(backend, { accessKey: 'key-a', name: null, limitBytes: null });
    const { ask } = await served({ backend });
    backend.becomes('away');
    expect((await ask(`/sub/${TOKEN_A}`)).status).toBe(200);
    expect(await ask(`/sub/${tokenOf('other')}`)).toEqual({ status: 503, text: '', usage: undefined });
    expect(await ask('/sub/no-token')).toEqual(DECOYED);
  });
});

describeDatabase('subscriptions by token over a database', () => {
  it('are answered by every gateway, with what the configuration in it says', async () => {
    const url = await freshDatabase();
    const first = await served({ database: { url } });
    const second = await served({ database: { url } });
    await first.app.keyway.core.replaceConfig(Buffer.from(JSON.stringify(WORKED)));
    const link = 'ostp://key-a@vpn.example.com:50000?type=udp&name=vpn.example.com%20%C2%B7%20alice%20%C2%B7%20UDP\n';
    for (const { ask } of [first, second]) {
      await expect.poll(async () => (await ask(`/sub/${TOKEN_A}`)).text).toContain(link);
      expect((await ask(`/sub/${TOKEN_A}`)).usage).toBe('upload=0; download=0; total=1000; expire=0');
    }
    await first.app.keyway.core.createUser({ accessKey: 'key-c' });
    await expect.poll(async () => (await second.ask(`/sub/${tokenOf('key-c')}`)).status).toBe(200);
    await second.app.keyway.core.deleteUser('key-c');
    await expect.poll(async () => (await first.ask(`/sub/${tokenOf('key-c')}`)).status).toBe(404);
  });
});

describe('in front of a server', () => {
  /** A gateway in front of a server that has one key, its clock standing still. */
  async function inFront(configuration?: Readonly<Record<string, unknown>>, trouble: 'away' | 'there' = 'there') {
    const [revision] = REVISIONS.filter(({ id }) => id === 'current');
    if (revision === undefined) throw new Error('there is no such line');
    const time = { now: 0 };
    const monotonic = () => time.now;
    const clock = { now: () => 7, monotonic };
    const given = configuration === undefined ? {} : { configuration: JSON.stringify(configuration) };
    const server = createFakeServer({ revision, monotonic, sleep: () => Promise.resolve(), ...given });
    server.outside({ put: { accessKey: 'key-a', name: null, limitBytes: null } });
    server.becomes(trouble);
    const timers = { after: () => () => undefined, wait: () => Promise.resolve(), pause: () => Promise.resolve() };
    const files = createMemoryFiles();
    const ports = { clock, random: systemRandom, log: silent, timers };
    const backend = await openUpstreamBackend({ server, dataFolder: null, fileSystem: files, ...ports });
    onTestFinished(() => backend.close());
    return { server, time, ...(await served({ backend, clock })) };
  }

  const LINKS = { ...WORKED, access_keys: ['key-a'], subscription: { path: '/links' } };

  it('says of no subscription that it is gone while it is not known where they are', async () => {
    const { ask } = await inFront(LINKS, 'away');
    for (const prefix of ['/links', '/sub', '/a/b']) expect((await ask(`${prefix}/${TOKEN_A}`)).status).toBe(503);
    for (const path of ['/links/none', `/links/${TOKEN_A}/x`, '/']) expect((await ask(path)).status).toBe(404);
  });

  it('asks again after a while for a configuration that could not be read', async () => {
    const { ask, server, time } = await inFront(LINKS);
    server.becomes('away');
    expect((await ask(`/links/${TOKEN_A}`)).status).toBe(503);
    server.becomes('there');
    time.now += 5_000;
    expect((await ask(`/links/${TOKEN_A}`)).text).toContain('ostp://key-a@vpn.example.com:');
    expect((await ask(`/sub/${TOKEN_A}`)).status).toBe(404);
    server.becomes('away');
    expect((await ask(`/links/${TOKEN_A}`)).status).toBe(200);
  });

  it('goes by the defaults where the server has no configuration that can be read', async () => {
    const { ask, server } = await inFront();
    server.configuration = 'none';
    expect((await ask(`/sub/${TOKEN_A}`)).text).toContain('ostp://key-a@');
  });

  it('has unknown tokens wait for one list a second together, and takes nobody the session', async () => {
    const { ask, server, time } = await inFront();
    const lists = () => server.calls.filter((call) => call === 'list').length;
    expect((await ask(`/sub/${TOKEN_A}`)).status).toBe(200);
    const before = lists();
    const unknown = Array.from({ length: 50 }, (_, n) => `/sub/${tokenOf(`guess ${n}`)}`);
    for (const second of [1, 2, 3]) {
      time.now += 60_000;
      expect(new Set((await Promise.all(unknown.map(ask))).map(({ status }) => status))).toEqual(new Set([404]));
      for (const path of unknown.slice(0, 5)) await ask(path);
      expect(lists() - before).toBe(second);
      time.now += 999;
      await ask(unknown[0] ?? '');
      expect(lists() - before).toBe(second);
    }
    server.outside({ put: { accessKey: 'guess 7', name: null, limitBytes: null } });
    time.now += 60_000;
    expect((await Promise.all(unknown.map(ask))).map(({ status }) => status).filter((one) => one === 200)).toEqual([
      200,
    ]);
    server.becomes('away');
    time.now += 60_000;
    expect((await ask(unknown[0] ?? '')).status).toBe(503);
    expect((await ask(unknown[1] ?? '')).status).toBe(503);
    expect((await ask(unknown[7] ?? '')).status).toBe(200);
    expect(server.calls.filter((call) => call === 'get')).toEqual([]);
  });
});

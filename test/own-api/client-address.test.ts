import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isReachable, readClientHost } from '../../src/core/client-address.js';
import type { GatewayOptions } from '../../src/index.js';
import { folderForTest } from '../folder-for-test.js';
import { describeDatabase, freshDatabase } from '../homes/database/database.js';
import { listen } from '../northbound/gateway.js';
import { fileStage } from './homes.js';
import { type OwnStage, ownStage, TOKEN } from './stage.js';

const KEY = { accessKey: 'a', name: null, limitBytes: null };

/** The address that the share link of the key names. */
async function linked({ app }: OwnStage): Promise<string> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { body } = await app.inject({ url: '/panel/api/subscribe/a', headers: { ...headers, accept: 'text/plain' } });
  return /@([^?#"/]+)/.exec(body)?.[1] ?? body;
}

function testsOver(home: () => Promise<Partial<GatewayOptions>>): void {
  it('is what every link names at once, with its port, and after a restart, until it is set anew', async () => {
    const options = await home();
    const first = await ownStage(options);
    await first.app.keyway.core.createUser(KEY);
    const own = (await linked(first)).split(':').at(-1);
    expect(await first.call('PUT /address', { body: { host: 'vpn.Example.org', port: 4433 } })).toMatchObject({
      status: 200,
      body: { data: { host: 'vpn.example.org', port: 4433n } },
    });
    expect(await linked(first)).toBe('vpn.example.org:4433');
    await first.app.close();
    const second = await ownStage(options);
    await second.app.keyway.core.freshenKeys();
    expect(await linked(second)).toBe('vpn.example.org:4433');
    expect(await second.call('PUT /address', { body: { host: '2001:DB8::1' } })).toMatchObject({ status: 200 });
    expect((await linked(second)).toLowerCase()).toBe(`[2001:db8::1]:${own}`);
  });

  it('of a setting wins: 409 names it, and nothing is kept', async () => {
    const options = await home();
    const hosted = await ownStage({ ...options, announced: { host: '203.0.113.9' } });
    await hosted.app.keyway.core.createUser(KEY);
    const refused = await hosted.call('PUT /address', { body: { host: 'vpn.example.org' } });
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(JSON.stringify(refused.body)).toContain('--server-host says it: 203.0.113.9');
    await hosted.app.close();
    const ported = await ownStage({ ...options, announced: { port: 7 } });
    const port = await ported.call('PUT /address', { body: { host: 'vpn.example.org', port: 8 } });
    expect([port.status, JSON.stringify(port.body)]).toEqual([409, expect.stringContaining('--server-port')]);
    expect(await linked(ported)).not.toContain('vpn.example.org');
  });
}

describe('the address that clients are told', () => {
  describe('over a file', () => {
    testsOver(async () => {
      const configPath = join(await folderForTest(), 'server.json');
      await writeFile(configPath, '{ "mode": "server", "listen": "0.0.0.0:50001", "access_keys": [] }');
      return { configPath };
    });

    it('is beside the file, where "keyway start" keeps it and servers read it', async () => {
      const { configPath, call } = await fileStage();
      await call('PUT /address', { body: { host: 'vpn.example.org', port: 4433 } });
      expect(await readFile(join(dirname(configPath), '.ostp_public_ip'), 'utf8')).toBe('vpn.example.org\n');
    });

    it("is the configuration's domain where it has one: 409 names it", async () => {
      const { configPath, call, app } = await fileStage();
      await writeFile(configPath, '{ "mode": "server", "domain": "own.example.org", "access_keys": ["a"] }');
      await expect.poll(() => app.keyway.backend.settings().published.domain).toBe('own.example.org');
      const refused = await call('PUT /address', { body: { host: 'vpn.example.org' } });
      expect(refused.status).toBe(409);
      expect(JSON.stringify(refused.body)).toContain('in the configuration says it: own.example.org');
    });

    it('is neither a host that nobody reaches or that is none, nor a port that is none', async () => {
      const { call } = await fileStage();
      for (const [host, port, error] of [
        ['0.0.0.0', 1, 'can reach, not 0.0.0.0'],
        ['[::1]', 1, 'can reach, not [::1]'],
        ['localhost', 1, 'can reach, not localhost'],
        ['https://vpn.example.org', 1, 'expected a host name or an IP address'],
        ['vpn.example.org:1', 1, 'expected a host name or an IP address'],
        ['', 1, 'expected a host name or an IP address'],
        ...[0, 65_536, 1.5, 'x'].map((port) => [
          ...['vpn.example.org', port, 'port: expected a port from 1 to 65535, or null'],
        ]),
      ])
        expect(await call('PUT /address', { body: { host, port } }), `${host} ${port}`).toMatchObject({
          status: 400,
          body: { code: 'invalid_body', error: expect.stringContaining(String(error)) },
        });
    });
  });

  describeDatabase('over a database', () => testsOver(async () => ({ database: { url: await freshDatabase() } })));

  describe('in front of a server', () => {
    testsOver(async () => {
      const port = await listen((await fileStage()).app);
      return { upstream: { url: `http://127.0.0.1:${port}/panel`, token: TOKEN }, dataDir: await folderForTest() };
    });
  });
});

it.each([
  ['203.0.113.9', true],
  ['[2001:db8::1]', true],
  ['vpn', true],
  ['vpn.example.org', true],
  ['0.0.0.0', false],
  ['127.8.0.1', false],
  ['[::]', false],
  ['[::1]', false],
  ['[::ffff:127.0.0.1]', false],
  ['239.1.1.1', false],
  ['a.localhost', false],
  ['', false],
])('%s is reachable by clients elsewhere: %s', (host, isReached) => expect(isReachable(host)).toBe(isReached));

it.each([
  [' Vpn.Example.org ', 'vpn.example.org'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['::1', '[::1]'],
  ['[2001:db8::1]', '[2001:db8::1]'],
  ['fe80::1%eth0', null],
  ['a b', null],
  ['a_b', null],
  ['vpn.example.org.', 'vpn.example.org.'],
  ['vpn.example.org/panel', null],
  ['vpn.example\n.org', null],
  ['..', null],
  ['a..b', null],
  ['-a', null],
  [`${'a'.repeat(64)}.org`, null],
  ['abcdefgh.'.repeat(28), 'abcdefgh.'.repeat(28)],
  ['abcdefgh.'.repeat(29), null],
])('%j is the host %j', (text, host) => expect(readClientHost(text)).toBe(host));

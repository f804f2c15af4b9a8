import { existsSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { ROOT } from '../clone.js';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from './serve-here.js';

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
});

const SAMPLE = ['serve', '--config', 'server.jsonc', '--bind', '127.0.0.1:0'];
const TOKEN = { authorization: 'Bearer sample-static-token' };

async function keysAt(url: string): Promise<readonly string[]> {
  const response = await fetch(`${url}/panel/api/users`, { headers: TOKEN });
  const { data } = (await response.json()) as { data: readonly { access_key: string }[] };
  return data.map(({ access_key }) => access_key);
}

/** What the log says of a command that ends by itself, and its exit code. */
async function runs(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const served = await serveHere(argv, { folder, environment });
  const { code, output, complaints } = await served.ended;
  return { code, output, complaints, log: await served.log() };
}

const errorsOf = ({ log }: { readonly log: readonly Readonly<Record<string, unknown>>[] }) =>
  log.filter(({ level }) => level === 'error').map(({ msg }) => String(msg));

describe('keyway serve', () => {
  it('reads and writes through the file system that it is handed, and ends when it is asked to', async () => {
    const fileSystem = createMemoryFiles();
    await fileSystem.makeFolder('/etc/tunnel', 0o700);
    await fileSystem.create('/etc/tunnel/server.jsonc', await readFile(join(folder, 'server.jsonc')), 0o600);
    const served = await serveHere(SAMPLE, { folder: '/etc/tunnel', fileSystem });
    const url = await served.url;
    const created = await fetch(`${url}/panel/api/users`, {
      method: 'POST',
      headers: { ...TOKEN, 'content-type': 'application/json' },
      body: '{"access_key":"in-memory"}',
    });
    expect(created.status).toBe(200);
    expect(String(await fileSystem.read('/etc/tunnel/server.jsonc', 100_000))).toContain('in-memory');
    expect(await fileSystem.list('/etc/tunnel/server.jsonc.keyway')).not.toEqual([]);
    expect(await served.stop()).toMatchObject({ code: 0, complaints: '' });
    expect((await served.log()).at(-1)).toMatchObject({ msg: 'stopped' });
    await expect(fetch(url)).rejects.toThrow();
  });

  it('reads its settings file, under what the flags say', async () => {
    const settings = '{ "config": "server.jsonc", "bind": "127.0.0.1:0", /* all */ "log_level": "warn" }';
    await writeFile(join(folder, 'settings.jsonc'), settings);
    const served = await serveHere(['serve', '--settings', 'settings.jsonc', '--log-level', 'info'], { folder });
    expect(await keysAt(await served.url)).toHaveLength(3);
  });

  it('without its configuration file names keyway start, exit code 1', async () => {
    const ran = await runs(['serve']);
    expect(ran.code).toBe(1);
    expect(errorsOf(ran).join()).toContain(join(folder, 'keyway.jsonc'));
    expect(errorsOf(ran).join()).toContain('keyway start');
  });

  it('on an address in use names --bind and the server that may listen there, exit code 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const ran = await runs(['serve', '--config', 'server.jsonc', '--bind', `127.0.0.1:${port}`]);
    taken.close();
    expect(ran.code).toBe(1);
    expect(errorsOf(ran)).toEqual([expect.stringMatching(/EADDRINUSE.*server.*--bind/)]);
  });

  it('of a file whose listener is not enabled says so and exits 0; an explicit --bind serves all the same', async () => {
    const path = join(folder, 'server.jsonc');
    await writeFile(path, (await readFile(path, 'utf8')).replace('"enabled": true', '"enabled": false'));
    const { code, log } = await runs(['serve', '--config', 'server.jsonc']);
    expect(code).toBe(0);
    expect(log.at(-1)).toMatchObject({ level: 'info', msg: expect.stringContaining('is not enabled') });
    const served = await serveHere(SAMPLE, { folder });
    expect(await keysAt(await served.url)).toHaveLength(3);
  });

  it('ends before a mount of 0.4.6 that nobody could get into, exit code 2, whatever --allow-open says', async () => {
    const ran = await runs(['serve', '--no-config', '--bind', '127.0.0.1:0', '--revision', '0.4.6', '--allow-open']);
    expect(ran.code).toBe(2);
    expect(errorsOf(ran).join()).toMatch(
      /^0\.4\.6 at \/panel\/api is never open, .* set token, or username and password_hash$/,
    );
  });

  it.each([
    ['without a data folder', ['serve', '--no-config', '--token', 'a-token', '--bind', '127.0.0.1:0'], 1],
    ['with one', SAMPLE, 0],
    [
      'without its own interface',
      ['serve', '--no-config', '--token', 'a-token', '--bind', '127.0.0.1:0', '--no-own-api'],
      0,
    ],
  ] as const)('%s says whether named tokens end with it', async (_, argv, times) => {
    const served = await serveHere([...argv], { folder });
    await served.url;
    const said = (await served.log()).filter(({ msg }) => String(msg).startsWith('named tokens, batches and events'));
    expect(said).toHaveLength(times);
  });

  it.each([
    ['0.0.0.0:0', [], 1],
    ['0.0.0.0:0', ['--trust-proxy', '192.0.2.1'], 0],
    ['127.0.0.1:0', [], 0],
  ] as const)('on %s with %j says whether credentials go over the network in plain HTTP', async (bind, more, times) => {
    const served = await serveHere(['serve', '--no-config', '--token', 'a-token', '--bind', bind, ...more], { folder });
    await served.url;
    const said = (await served.log()).filter(({ msg }) => String(msg).includes('in plain HTTP'));
    expect(said).toHaveLength(times);
  });

  it('says that a version later than all known is served as the last line, and serves it', async () => {
    const served = await serveHere([...SAMPLE, '--revision', '99.0.0'], { folder });
    await served.url;
    expect(await served.log()).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining('99.0.0 is later than') }),
    );
  });

  it('reports all settings problems at once with exit code 2, and starts nothing', async () => {
    const environment = { KEYWAY_BIND: 'nowhere', KEYWAY_PASSWORD_HASH: 'hunter2' };
    const { code, output, complaints, log } = await runs(['serve', '--server-port', '0'], environment);
    expect({ code, output, log }).toEqual({ code: 2, output: '', log: [] });
    expect(complaints).toMatch(/^server-port \(flag --server-port\)/m);
    expect(complaints).toMatch(/^bind \(environment variable KEYWAY_BIND\)/m);
    expect(complaints).toMatch(/^password-hash \(environment variable KEYWAY_PASSWORD_HASH\)/m);
    expect(complaints).not.toContain('hunter2');
  });
});

describe('keyway start on a terminal', () => {
  const START = ['start', '--bind', '127.0.0.1:0'];
  const terminal = { terminal: true, ownAddresses: ['192.0.2.7', '2001:db8::7'] };
  const listenOf = async () => /"listen": "([^"]+)"/.exec(await readFile(join(folder, 'keyway.jsonc'), 'utf8'))?.[1];

  /** Its output once it has said where the panel is and what came of the question. */
  async function started(lines: readonly (string | null)[], argv: readonly string[] = START, end = /^Panel: .*\n/m) {
    const served = await serveHere(argv, { folder, ...terminal, lines });
    const url = await served.url;
    await expect.poll(served.text).toMatch(end);
    return { served, url, text: await served.text() };
  }

  it('says where the panel is, asks then for the address of clients, and keeps it beside the file', async () => {
    const { served, url, text } = await started(['nowhere at all', '192.0.2.7'], START, /^Wrote 192.*\n$/m);
    expect(await listenOf()).toBe('0.0.0.0:50000');
    const path = join(folder, '.ostp_public_ip');
    expect(await readFile(path, 'utf8')).toBe('192.0.2.7\n');
    expect(text).not.toContain('clients cannot reach');
    const [panel, kept] = text.trimEnd().split('\n').slice(-2);
    expect(panel).toMatch(new RegExp(`^Panel: ${url}/[0-9a-f]{16}/$`));
    expect(kept).toBe(`Wrote 192.0.2.7 into ${path}: share links name it from now on`);
    expect(text.split(/[0-9a-f]{16}/)).toHaveLength(2);
    const { asked, output } = await served.stop();
    expect(asked).toHaveLength(2);
    expect(output).toContain('This machine has 192.0.2.7, 2001:db8::7.');
    expect(output).toContain('Expected a host name');
  });

  it('names in links the address that was kept, at once and after a second start, which asks nothing', async () => {
    const { served, text } = await started(['vpn.example.org'], START, /^Wrote vpn.*\n$/m);
    const linkAt = async () => {
      const { code, output } = await runHere(['keys', 'link', 'First key'], { folder });
      expect(code).toBe(0);
      return output;
    };
    expect(await linkAt()).toContain('@vpn.example.org:50000');
    const [, panel = ''] = /^Panel: (.*)\/$/m.exec(text) ?? [];
    const [, token = ''] = /"token": "([^"]+)"/.exec(await readFile(join(folder, 'keyway.jsonc'), 'utf8')) ?? [];
    const users = await fetch(`${panel}/api/users`, { headers: { authorization: `Bearer ${token}` } });
    const { data } = await users.json();
    const link = await fetch(`${panel}/api/subscribe/${data[0].access_key}`, { headers: { accept: 'text/plain' } });
    expect(await link.text()).toContain('@vpn.example.org:50000');
    await served.stop();
    const again = await started([]);
    expect(again.text).not.toContain('clients cannot reach');
    expect((await again.served.stop()).asked).toEqual([]);
    expect(await linkAt()).toContain('@vpn.example.org:50000');
  });

  it('left open says the command that gives it, and a second start asks nothing', async () => {
    const { served, text } = await started([''], START, /--server-host ADDRESS/);
    expect(text).toContain(
      `give theirs with keyway serve --config ${join(folder, 'keyway.jsonc')} --server-host ADDRESS`,
    );
    expect(existsSync(join(folder, '.ostp_public_ip'))).toBe(false);
    await served.stop();
    const again = await started([]);
    expect((await again.served.stop()).asked).toEqual([]);
  });

  it('asks nothing with --yes', async () => {
    const { served } = await started([], [...START, '--yes'], /--server-host ADDRESS/);
    expect((await served.stop()).asked).toEqual([]);
  });

  it('broken off keeps the file that was written, and ends', async () => {
    const served = await serveHere(START, { folder, ...terminal, lines: [null] });
    expect((await served.ended).code).toBe(0);
    expect(await served.text()).toMatch(/^Panel: /m);
    expect(existsSync(join(folder, 'keyway.jsonc'))).toBe(true);
    expect(existsSync(join(folder, '.ostp_public_ip'))).toBe(false);
  });

  it('logs changes and refusals, and as --log-requests says all requests or none', async () => {
    const logged = async (more: readonly string[], options: object = {}) => {
      const served = await serveHere([...START, '--config', 'server.jsonc', ...more], { folder, ...options });
      const url = new URL(await served.url);
      for (const method of ['GET', 'POST'])
        await fetch(`${url.origin}/panel/api/users`, {
          method,
          headers: { authorization: 'Bearer sample-static-token' },
        });
      await fetch(`${url.origin}/panel/api/users`);
      await served.stop();
      const text = await served.text();
      return ['"method":"GET"[^\n]*"status":200', '"method":"POST"', '"status":401'].map((line) =>
        new RegExp(line).test(text),
      );
    };
    expect(await logged([])).toEqual([false, true, true]);
    for (const all of [['--log-requests'], ['--log-requests', 'all'], ['--log-requests=yes']])
      expect(await logged(all)).toEqual([true, true, true]);
    for (const none of ['none', 'no']) expect(await logged(['--log-requests', none])).toEqual([false, false, false]);
  });
});

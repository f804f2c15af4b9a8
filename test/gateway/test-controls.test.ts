import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createGateway, createSeededPorts, type GatewayOptions } from '../../src/index.js';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';
import { gatewayForTest, listen, PASSWORD_HASH } from '../northbound/gateway.js';
import { serveHere } from '../serve/serve-here.js';

const LISTENER = { token: 'a-token', username: 'admin', passwordHash: PASSWORD_HASH };
const STATE = {
  config: { access_keys: [{ access_key: 'key-1', name: 'Anna', limit_bytes: 1000 }] },
  counters: [{ access_key: 'key-1', bytes_up: 1, bytes_down: 2n ** 63n, connections: 1 }],
};

/** A gateway for tests on a socket, asked with its static token unless another one is given. */
async function tested(options: Partial<GatewayOptions> = {}) {
  const app = await gatewayForTest({
    mounts: [{ revision: '0.2.96', webpath: 'secret' }],
    listener: LISTENER,
    test: { state: STATE },
    ...options,
  });
  const root = `http://127.0.0.1:${await listen(app)}`;
  const ask = async (path = '/secret/api/users', token = 'a-token', init: RequestInit = {}) => {
    const answer = await fetch(root + path, { ...init, headers: { authorization: `Bearer ${token}` } });
    return { status: answer.status, text: await answer.text() };
  };
  const signIn = async (): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ username: 'admin', password: 'password' });
    const answer = await fetch(`${root}/secret/api/login`, { method: 'POST', headers, body });
    return (await answer.json()).data.token;
  };
  const { test } = app.keyway;
  if (test === null) throw new Error('expected the controls of a gateway for tests');
  return { app, root, ask, signIn, test };
}

describe('a gateway for tests', () => {
  it('begins in the state that it is given, with counters', async () => {
    const { ask } = await tested();
    const { text } = await ask();
    expect(text).toContain('"access_key":"key-1"');
    expect(text).toContain('"name":"Anna"');
    expect(text).toContain('"bytes_down":9223372036854775808');
    expect((await ask('/secret/api/server/config')).text).toContain('"mode":"server"');
  });

  it('takes the text of a file with its comments as the state', async () => {
    const config = '{ // mine\n  "mode": "server", "access_keys": ["key-2"] }';
    const { ask } = await tested({ test: { state: { config } } });
    expect((await ask()).text).toContain('"access_key":"key-2"');
  });

  it('makes the same keys and times for the same seed, and moves the time on when it is told to', async () => {
    const made = async () => {
      const ports = createSeededPorts('a');
      const { ask } = await tested({ ...ports, test: {} });
      const first = await ask('/secret/api/users/create', undefined, { method: 'POST' });
      return { ports, first, after: ports.clock.now() };
    };
    const [one, other] = [await made(), await made()];
    expect(one.first).toEqual(other.first);
    expect(one.after).toBe(Date.UTC(2026, 0, 1, 12));
    one.ports.clock.advance(60_000);
    expect(one.ports.clock.now()).toBe(Date.UTC(2026, 0, 1, 12, 1));
  });

  it('ends connections without an answer while it is away, and answers again afterwards', async () => {
    const { ask, test } = await tested();
    test.fault('away');
    await expect(ask()).rejects.toThrow('fetch failed');
    await expect(ask('/secret/api/users', 'a-token', { method: 'POST', body: 'x'.repeat(100_000) })).rejects.toThrow();
    test.fault('none');
    expect((await ask()).status).toBe(200);
  });

  it('answers 500 for as many requests as it is told to', async () => {
    const { ask, test } = await tested();
    test.fault('error*2');
    const answers = [await ask(), await ask(), await ask()];
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 200]);
    expect(answers[0]?.text).toBe('{"ok":false,"error":"internal error"}');
  });

  it('answers later by what it is told to be slow', async () => {
    const { ask, test } = await tested();
    test.fault('slow=150*1');
    const before = performance.now();
    expect((await ask()).status).toBe(200);
    expect(performance.now() - before).toBeGreaterThanOrEqual(149);
  });

  it('ends every session with signed-out, lets a new one in, and refuses the static token meanwhile', async () => {
    const { ask, signIn, test } = await tested();
    const session = await signIn();
    expect((await ask(undefined, session)).status).toBe(200);
    test.fault('signed-out');
    expect((await ask(undefined, session)).status).toBe(401);
    expect((await ask()).status).toBe(401);
    expect((await ask(undefined, await signIn())).status).toBe(200);
    test.fault('none');
    expect((await ask()).status).toBe(200);
  });

  it('replaces every key at once while it serves', async () => {
    const { ask, test } = await tested();
    await test.replaceState({
      config: { access_keys: ['key-9'] },
      counters: [{ access_key: 'key-9', bytes_up: 7, bytes_down: 0, connections: 0 }],
    });
    const { text } = await ask();
    expect(text).not.toContain('key-1');
    expect(text).toContain('"access_key":"key-9"');
    expect(text).toContain('"bytes_up":7');
  });

  it('is told faults and states on its socket as well', async () => {
    const { ask } = await tested();
    const put = (path: string, body = '') => ask(path, '', { method: 'PUT', body });
    expect(await put('/.keyway/fault/away')).toEqual({ status: 200, text: '{"ok":true,"data":null}' });
    await expect(ask()).rejects.toThrow('fetch failed');
    expect((await put('/.keyway/fault/none')).status).toBe(200);
    expect((await put('/.keyway/state', JSON.stringify({ config: { access_keys: ['key-3'] } }))).status).toBe(200);
    expect((await ask()).text).toContain('key-3');
    expect(await put('/.keyway/fault/gone')).toEqual({
      status: 400,
      text: expect.stringContaining('fault: expected none, away, error, signed-out or slow=MILLISECONDS'),
    });
    expect((await put('/.keyway/state', '{"conifg": {}}')).text).toContain('did you mean config?');
  });

  it.each(['configPath', 'dataDir'])('is refused beside %s', async (name) => {
    const options = { mounts: [{ revision: 'current' }], test: {}, [name]: '/nowhere/server.jsonc' };
    await expect(createGateway(options)).rejects.toThrow(`test: expected no ${name} with it`);
  });

  it.each([
    ['a fault that there is none of', { fault: 'gone' }, 'fault: expected none, away'],
    ['counters of a key that is not there', { state: { counters: [{ ...STATE.counters[0] }] } }, 'found "key-1"'],
    ['a state with a misspelt member', { state: { count: [] } }, 'count: expected one of config, counters'],
  ])('refuses %s', async (_, test, words) => {
    // What only a program without types can give.
    const options = { mounts: [{ revision: 'current' }], test } as GatewayOptions;
    await expect(createGateway(options)).rejects.toThrow(words);
  });

  it('has no way to faults without the option', async () => {
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }] });
    const root = `http://127.0.0.1:${await listen(app)}`;
    expect(app.keyway.test).toBeNull();
    expect((await fetch(`${root}/.keyway/fault/away`, { method: 'PUT' })).status).toBe(404);
  });
});

describe('keyway serve for tests', () => {
  it('begins with a state, a fault and a seed, and is told others while it serves', async () => {
    const folder = await folderForTest();
    await writeFile(join(folder, 'state.json'), '{ "config": { "access_keys": ["key-1"] } }');
    const argv = ['serve', '--no-config', '--revision', '0.2.34', '--bind', '127.0.0.1:0'];
    const served = await serveHere([...argv, '--test-state', 'state.json', '--fault', 'error', '--seed', 'a'], {
      folder,
    });
    const root = await served.url;
    expect((await fetch(`${root}/api/users`)).status).toBe(500);
    await fetch(`${root}/.keyway/fault/none`, { method: 'PUT' });
    expect(await (await fetch(`${root}/api/users`)).text()).toContain('key-1');
    await served.stop();
  });

  it.each([
    ['a configuration file', ['--config', 'server.jsonc']],
    ['the default configuration file', []],
    ['an upstream', ['--upstream', 'http://127.0.0.1:9/x']],
    ['a database', ['--database', 'postgres://127.0.0.1:9/x']],
    ['a data folder', ['--no-config', '--data-dir', 'data']],
  ])('refuses a fault, a state and a seed beside %s', async (_, beside) => {
    const folder = await folderForTest();
    const argv = ['serve', ...beside, '--fault', 'none', '--test-state', 'state.json', '--seed', 'a'];
    const { code, complaints } = await runHere(argv, { folder });
    expect(code).toBe(2);
    for (const flag of ['fault', 'test-state', 'seed'])
      expect(complaints).toContain(`${flag} (flag --${flag}): expected --no-config with it`);
  });

  it('refuses a fault of the environment beside a configuration file', async () => {
    const folder = await folderForTest();
    const { code, complaints } = await runHere(['serve'], { folder, environment: { KEYWAY_FAULT: 'away' } });
    expect({ code, complaints }).toEqual({
      code: 2,
      complaints: expect.stringContaining('fault (environment variable KEYWAY_FAULT): expected --no-config with it'),
    });
  });
});

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { folderForTest } from '../folder-for-test.js';
import { openRaw, type RawClient, rawRequest } from '../raw-client.js';
import { gatewayForTest, listen } from './gateway.js';

const TOKEN = { authorization: 'Bearer secret', 'content-type': 'application/json' };
const WAIT = { timeout: 20_000 };

type Line = Readonly<Record<string, unknown>>;

/** A gateway that logs; its answers to writes wait while the gate is shut. */
async function logged() {
  const lines: Line[] = [];
  const note = (fields: Line, message: string) => void (message === 'request' && lines.push(fields));
  const log: LogPort = { debug: note, info: note, warn: note, error: note };
  const folder = await folderForTest();
  const configPath = join(folder, 'server.json');
  await writeFile(configPath, JSON.stringify({ mode: 'server', access_keys: [], api: { token: 'secret' } }));
  let gate: Promise<void> = Promise.resolve();
  let open = () => {};
  const system = createFileSystem();
  const sync = (path: string) => gate.then(() => system.sync(path));
  const app = await gatewayForTest({
    mounts: [{ revision: 'current' }],
    requestLog: 'all',
    configPath,
    fileSystem: { ...system, sync },
    log,
  });
  const shut = () => {
    gate = new Promise((resolve) => {
      open = resolve;
    });
    onTestFinished(() => open());
  };
  return { app, lines, folder, shut, open: () => open() };
}

const create = (key: string) => rawRequest('POST', '/panel/api/users', TOKEN, JSON.stringify({ access_key: key }));

/** Resolves once the system has sent it. */
async function reset({ socket }: RawClient): Promise<void> {
  socket.resetAndDestroy();
  await once(socket, 'close');
}

it('an answered request is one line, with the address that called and without a word of who took the answer', async () => {
  const { app, lines } = await logged();
  const client = await openRaw({ port: await listen(app), host: '127.0.0.1', localAddress: '127.0.0.3' });
  client.socket.write(create('a'));
  await client.received(/"data":.*\}$/);
  await vi.waitFor(() => expect(lines).toHaveLength(1), WAIT);
  expect(lines[0]).toEqual({
    method: 'POST',
    path: '/panel/api/users',
    status: 200,
    milliseconds: expect.any(Number),
    address: '127.0.0.3',
  });
});

it('a client that resets after its request has a line for it, by its own address, that says that nobody took the answer', async () => {
  const { app, lines, shut, open } = await logged();
  const port = await listen(app);
  shut();
  const seen = new Promise<void>((resolve) => app.server.once('connection', () => resolve()));
  const client = await openRaw({ port, host: '127.0.0.1', localAddress: '127.0.0.4' });
  await seen;
  client.socket.write(create('reset'));
  await reset(client);
  open();
  await vi.waitFor(() => expect(lines).toHaveLength(1), WAIT);
  expect(lines[0]).toMatchObject({ path: '/panel/api/users', status: 200, address: '127.0.0.4', taken: false });
  expect(app.keyway.core.keys.size).toBe(1);
});

it('every request of 20 clients that reset at once has its line, none of them a Unix socket', async () => {
  const { app, lines, shut, open } = await logged();
  const port = await listen(app);
  shut();
  for (let n = 0; n < 20; n += 1) {
    const client = await openRaw({ port, host: '127.0.0.1' });
    client.socket.write(create(`k${n}`));
    await reset(client);
  }
  open();
  await vi.waitFor(() => expect(lines).toHaveLength(20), WAIT);
  expect(app.keyway.core.keys.size).toBe(20);
  for (const line of lines) expect(line).toMatchObject({ method: 'POST', path: '/panel/api/users', taken: false });
  // `unknown` where the reset came before the connection was seen: the system does not tell then.
  expect(lines.filter(({ address }) => address !== '127.0.0.1' && address !== 'unknown')).toEqual([]);
});

it('requests that wait behind one another when their client resets have a line each', async () => {
  const { app, lines, shut, open } = await logged();
  const port = await listen(app);
  shut();
  const client = await openRaw({ port, host: '127.0.0.1' });
  client.socket.write(Array.from({ length: 16 }, (_, n) => create(`p${n}`)).join(''));
  await reset(client);
  open();
  await vi.waitFor(() => expect(lines).toHaveLength(16), WAIT);
  expect(lines.filter(({ taken }) => taken !== false)).toEqual([]);
  expect(app.keyway.core.keys.size).toBe(16);
});

it('a request whose client resets in the middle of the body changes nothing and has its line, too', async () => {
  const { app, lines } = await logged();
  const client = await openRaw({ port: await listen(app), host: '127.0.0.1' });
  const asked = new Promise<void>((resolve) => app.server.once('request', () => resolve()));
  client.socket.write(rawRequest('POST', '/panel/api/users', { ...TOKEN, 'content-length': '100' }, '{"access'));
  await asked;
  client.socket.resetAndDestroy();
  await vi.waitFor(() => expect(lines).toHaveLength(1), WAIT);
  expect(lines[0]).toMatchObject({ status: 400, address: '127.0.0.1', taken: false });
  expect(app.keyway.core.keys.size).toBe(0);
});

it('a peer on a Unix socket is called so, reset or not', async () => {
  const { app, lines, folder } = await logged();
  const path = join(folder, 'api.sock');
  await app.listen({ path });
  const client = await openRaw({ path });
  client.socket.write(create('a'));
  await client.received(/"data":.*\}$/);
  client.socket.destroy();
  const gone = await openRaw({ path });
  gone.socket.write(create('b'));
  gone.socket.destroy();
  await vi.waitFor(() => expect(lines.length).toBeGreaterThanOrEqual(1), WAIT);
  expect(lines.filter(({ address }) => address !== 'unix')).toEqual([]);
});

it('an injected request is answered and taken', async () => {
  const { app, lines } = await logged();
  await app.inject({ url: '/panel/api/server/status', headers: TOKEN });
  await vi.waitFor(() => expect(lines).toHaveLength(1), WAIT);
  expect(lines[0]).toMatchObject({ status: 200, address: '127.0.0.1' });
  expect(lines[0]).not.toHaveProperty('taken');
});

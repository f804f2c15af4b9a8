import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { startKeyway } from '../commands/process.js';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { openRaw, rawRequest } from '../raw-client.js';

beforeAll(buildIfOlder, 300_000);

const TOKEN = { authorization: 'Bearer sample-static-token' };
const FEED = { authorization: 'Bearer feed', 'content-type': 'application/json' };
const KEY = 'fault-1';

/** A real Keyway in which requests with `X-Fault` throw as that header says. */
async function served(folder: string) {
  const [port, feedPort] = [await freePort(), await freePort()];
  const binds = ['--bind', `127.0.0.1:${port}`, '--feed-bind', `127.0.0.1:${feedPort}`, '--feed-token', 'feed'];
  const plant = pathToFileURL(join(import.meta.dirname, 'planted-faults.mjs')).href;
  const running = startKeyway(['serve', '--config', 'server.jsonc', '--no-resolver', '--protect-audit', ...binds], {
    folder,
    environment: { NODE_OPTIONS: `--import ${plant}` },
  });
  onTestFinished(async () => {
    running.child.kill('SIGKILL');
    await running.ended;
  });
  const { url } = await running.logged((record) => typeof record.url === 'string');
  const ask = async (method: string, path: string, headers = {}, body = '', to = port) => {
    const client = await openRaw({ port: to, host: '127.0.0.1' });
    client.socket.write(rawRequest(method, path, { connection: 'close', ...headers }, body));
    return client.ended;
  };
  const report = (bytes: number, headers = {}) =>
    ask(
      'POST',
      '/v1/usage?ack=memory',
      { ...FEED, ...headers },
      JSON.stringify({ entries: [{ access_key: KEY, bytes_up: bytes, bytes_down: 0, connections: 0 }] }),
      feedPort,
    );
  const errors = () => running.log().filter(({ level }) => level === 'error');
  return { ...running, url: String(url), ask, report, errors };
}

async function folderWithFile(): Promise<string> {
  const folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  return folder;
}

describe('an exception that nobody caught', () => {
  it('in the events of a connection, before any change began, ends that connection alone and is logged with its stack', async () => {
    const { ask, logged, child, ended, errors, url } = await served(await folderWithFile());
    expect(await ask('GET', '/panel/', { 'x-fault': 'event' })).toBe('');
    const record = await logged(({ level }) => level === 'error');
    expect(record).toMatchObject({
      msg: expect.stringContaining('in the events of a connection'),
      error: { message: 'planted in an event', stack: expect.stringContaining('planted-faults.mjs') },
    });
    expect(await ask('POST', '/panel/api/audit', { ...TOKEN, 'x-fault': 'body' }, '{}')).toBe('');
    // Behind others, of which it waits for the turn.
    const waiting = await openRaw({ port: Number(new URL(url).port), host: '127.0.0.1' });
    waiting.socket.write(rawRequest('GET', '/panel/').repeat(5) + rawRequest('GET', '/', { 'x-fault': 'routing' }));
    await waiting.ended;
    expect(await ask('GET', '/panel/api/server/status', TOKEN)).toMatch(/^HTTP\/1\.1 200 /);
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
    expect(errors().map(({ error }) => Object(error).message)).toEqual([
      'planted in an event',
      'planted in a body',
      'planted in the routing',
    ]);
  });

  it.each([
    ['in a timer', 'timer'],
    ['in the events of a connection behind a change', 'after'],
  ])('%s ends Keyway as SIGTERM does, with what was acknowledged from memory written, and exit code 1', async (_where, fault) => {
    const folder = await folderWithFile();
    const first = await served(folder);
    const created = JSON.stringify({ access_key: KEY });
    const json = { ...TOKEN, 'content-type': 'application/json' };
    expect(await first.ask('POST', '/panel/api/users', json, created)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await first.report(7)).toMatch(/^HTTP\/1\.1 200 .*"durable":false/s);
    void first.ask('PUT', `/panel/api/users/${KEY}`, { ...json, 'x-fault': fault }, '{"name":"changed"}');
    const { code } = await first.ended;
    expect(code).toBe(1);
    expect(first.errors()).toEqual([expect.objectContaining({ msg: expect.stringContaining('Keyway ends') })]);
    expect(first.log().at(-1)).toMatchObject({ msg: 'stopped' });
    const second = await served(folder);
    expect(await second.ask('GET', `/panel/api/users/${KEY}`, TOKEN)).toMatch(/"bytes_up":7\b/);
  });
});

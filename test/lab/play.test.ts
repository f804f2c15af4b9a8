import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Exchange, Scenario, Step } from '../../src/lab/format/scenario.js';
import { type Difference, givenFile, playScenario, type Stage } from '../../src/lab/play/play.js';

const ADDRESSES = { api: '127.0.0.1:9090', listen: '127.0.0.1:50000' };
const KEY = 'c9cb2f7c8e6a4a2f9c6d1f0e4b7a8d55';

const open: { server: Server; sockets: Set<Socket> }[] = [];

afterEach(async () => {
  for (const { server, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server that keeps what it was sent, byte for byte, and answers each request with the next of these texts. */
async function listen(answers: readonly string[]): Promise<{ origin: string; received: string[] }> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const left = [...answers];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      received.push(chunk.toString('utf8'));
      const answer = left.shift();
      if (answer === undefined) return;
      socket.write(answer);
      if (answer.includes('close')) socket.end();
    });
  });
  open.push({ server, sockets });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { origin: `http://127.0.0.1:${address.port}`, received };
}

function json(status: number, body: string): string {
  return `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function stageThatKeeps(calls: string[], file = '{}'): Stage {
  return {
    counters: async (list) => void calls.push(`counters ${list.map((each) => each.access_key).join()}`),
    handEdit: async (text) => void calls.push(`handEdit ${text}`),
    settle: async () => void calls.push('settle'),
    breakFile: async (reason) => void calls.push(`breakFile ${reason}`),
    configText: async () => file,
  };
}

function scenarioOf(exchanges: readonly Step[], rest: Partial<Scenario> = {}): Scenario {
  return { title: 't', revision: 'current', source: 'spec', given: {}, exchanges, ...rest };
}

function get(
  path: string,
  body: Exchange['response']['body'],
  headers: Readonly<Record<string, string>> = {},
): Exchange {
  return { operation: 'x', request: { method: 'GET', path, headers }, response: { status: 200, body: body ?? null } };
}

async function play(
  scenario: Scenario,
  origin: string,
  stage = stageThatKeeps([]),
  timeoutMilliseconds = 10_000,
): Promise<readonly Difference[]> {
  const target = { origin, apiRoot: '/panel/api', base: '/panel' };
  return playScenario(scenario, { target, stage, addresses: ADDRESSES, timeoutMilliseconds });
}

describe('a request', () => {
  test('goes out with its path and header values exactly as written', async () => {
    const { origin, received } = await listen([json(200, 'null'), json(200, 'null')]);
    const steps = [get('/users/..', null, { authorization: ' static-token-1' }), get('/users/%2e%2E/a//b?x#y', null)];
    expect(await play(scenarioOf(steps), origin)).toEqual([]);
    expect(received[0]).toContain('GET /panel/api/users/.. HTTP/1.1\r\n');
    expect(received[0]).toMatch(/authorization: {2}static-token-1\r\n/);
    expect(received[1]).toContain('GET /panel/api/users/%2e%2E/a//b?x#y HTTP/1.1\r\n');
  });

  test('stands below the root that it names', async () => {
    const { origin, received } = await listen([json(200, 'null'), json(200, 'null')]);
    const at = (root: 'base' | 'server'): Exchange => ({
      operation: 'panel',
      request: { method: 'GET', root, path: '/x' },
      response: { status: 200 },
    });
    await play(scenarioOf([at('base'), at('server')]), origin);
    expect(received.map((each) => each.split(' ')[1])).toEqual(['/panel/x', '/x']);
  });

  test('carries 64-bit numbers as they are, and a text body as its bytes', async () => {
    const { origin, received } = await listen([json(200, 'null'), json(200, 'null')]);
    const post = (request: Partial<Exchange['request']>): Exchange => ({
      operation: 'x',
      request: { method: 'POST', path: '/users', ...request },
      response: { status: 200, body: null },
    });
    await play(scenarioOf([post({ body: { limit_bytes: 18446744073709551615n } }), post({ text: '{ "a" :' })]), origin);
    expect(received[0]).toMatch(/content-length: 36\r\n.*\r\n\r\n\{"limit_bytes":18446744073709551615\}$/s);
    expect(received[1]).toMatch(/\r\n\r\n\{ "a" :$/);
  });
});

describe('placeholders', () => {
  test('told by one answer stand for the same value in later requests and answers', async () => {
    const { origin, received } = await listen([json(200, `"${KEY}"`), json(200, `["${KEY}"]`)]);
    const steps = [get('/users', '<key:1>'), get('/users/<key:1>', ['<key:1>'], { authorization: 'Bearer <key:1>' })];
    expect(await play(scenarioOf(steps), origin)).toEqual([]);
    expect(received[1]).toContain(`GET /panel/api/users/${KEY} `);
    expect(received[1]).toContain(`Bearer ${KEY}`);
  });

  test('without a value are one difference, and the request is not sent', async () => {
    const { origin, received } = await listen([]);
    const differences = await play(scenarioOf([get('/users/<key:7>', null)]), origin);
    expect(differences).toMatchObject([{ step: 1, where: 'request' }]);
    expect(received).toEqual([]);
  });
});

describe('an exchange without an answer', () => {
  test('a target that is down is one difference per exchange', async () => {
    const { origin } = await listen([]);
    const held = open.splice(0);
    for (const { server } of held) await new Promise((resolve) => server.close(resolve));
    const differences = await play(scenarioOf([get('/a', null), get('/b', null)]), origin);
    expect(differences.map(({ step, where }) => [step, where])).toEqual([
      [1, 'connection'],
      [2, 'connection'],
    ]);
  });

  test('a target that closes half-way is a difference', async () => {
    const half = 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{"ok"';
    const { origin } = await listen([half]);
    expect(await play(scenarioOf([get('/a', null)]), origin)).toMatchObject([{ step: 1, where: 'connection' }]);
  });

  test('a target that never answers is a difference once the time is up', async () => {
    const { origin } = await listen([]);
    const differences = await play(scenarioOf([get('/a', null)]), origin, stageThatKeeps([]), 50);
    expect(differences).toMatchObject([{ step: 1, where: 'connection' }]);
  });
});

test('steps besides exchanges reach the stage in order, addresses filled in', async () => {
  const calls: string[] = [];
  const steps: Step[] = [
    { counters: [{ access_key: 'a', bytes_up: 1n, bytes_down: 2n, connections: 3n }] },
    { handEdit: '{"bind":"@API@","port":"@UDPPORT@"}' },
    { settle: true },
    { breakFile: 'the file is gone' },
  ];
  const { origin } = await listen([]);
  expect(await play(scenarioOf(steps), origin, stageThatKeeps(calls))).toEqual([]);
  expect(calls).toEqual([
    'counters a',
    'handEdit {"bind":"127.0.0.1:9090","port":50000}',
    'settle',
    'breakFile the file is gone',
  ]);
});

test('the file afterwards differs by its JSON path', async () => {
  const { origin } = await listen([]);
  // biome-ignore lint/suspicious/noThenProperty: the format's own name
  const scenario = scenarioOf([], { then: { config: { access_keys: ['a'], bind: '@API@' } } });
  const file = '{ "access_keys": ["b"], "bind": "127.0.0.1:9090" }';
  expect(await play(scenario, origin, stageThatKeeps([], file))).toEqual([
    { step: 'then', where: 'file /access_keys/0', expected: 'a', actual: 'b' },
  ]);
});

test('the given file is text with its addresses, or none', () => {
  expect(givenFile(scenarioOf([], { given: { configText: ['{', '"port": "@APIPORT@" }'] } }), ADDRESSES)).toBe(
    '{\n"port": 9090 }',
  );
  expect(givenFile(scenarioOf([], { given: { config: { api: { bind: '@API@' }, n: 1n } } }), ADDRESSES)).toBe(
    '{\n  "api": {\n    "bind": "127.0.0.1:9090"\n  },\n  "n": 1\n}\n',
  );
  expect(givenFile(scenarioOf([]), ADDRESSES)).toBeUndefined();
});

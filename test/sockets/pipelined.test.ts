import { copyFile, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectSecure, TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { type Running, startKeyway } from '../commands/process.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { folderForTest } from '../folder-for-test.js';
import { freePort } from '../free-ports.js';
import { openRaw, rawClient, rawRequest } from '../raw-client.js';
import { tries } from '../tries.js';
import { someOf } from '../whole.js';

beforeAll(buildIfOlder, 300_000);

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'QUERY',
  'TRACE',
  'PROPFIND',
  'CONNECT',
  'PRI',
];
const TARGETS = [
  '/',
  '/panel/',
  '/panel/api/server/status',
  '/panel/api/users',
  '/panel/api/audit',
  '/panel/api/login',
];
const OTHERS = [
  '/panel/api/subscribe/k',
  '/v1/keys',
  '/v1/usage',
  '/metrics',
  '/healthz',
  '*',
  'a:1',
  'http://x/metrics',
  '/%zz',
];
const HEADERS = [
  'Host: x',
  'Host: y',
  'Connection: close',
  'Connection: Upgrade\r\nUpgrade: websocket',
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c',
  'Expect: 100-continue',
  'Expect: something',
  'Authorization: Bearer sample-static-token',
  'Content-Type: application/json',
  'Content-Length: 0',
  'Content-Length: 7',
  'Transfer-Encoding: chunked',
];
const BODIES = ['', '{}', '{"a":1}', '2\r\n{}\r\n0\r\n\r\n', 'zz\r\n', '0\r\n\r\n'];

const written = (method: string, target: string, headers: readonly string[], version = '1.1', body = '') =>
  `${method} ${target} HTTP/${version}\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n${body}`;

const aTarget = fc.constantFrom(...TARGETS, ...OTHERS);
/** What a parser takes, so that what is pipelined behind it is looked at, too. */
const aSoundRequest = fc.oneof(
  fc
    .tuple(fc.constantFrom('GET', 'HEAD', 'DELETE', 'OPTIONS'), aTarget)
    .map(([method, target]) => written(method, target, ['Host: x'])),
  fc.tuple(aTarget, fc.constantFrom(...HEADERS)).map(([target, header]) => written('GET', target, ['Host: x', header])),
  fc.constantFrom('a', 'a:1', '/panel/api/users').map((target) => written('CONNECT', target, [])),
  aTarget.map((target) =>
    written('POST', target, ['Host: x', 'Content-Type: application/json', 'Content-Length: 7'], '1.1', '{"a":1}'),
  ),
);
const anOddRequest = fc
  .tuple(
    fc.constantFrom(...METHODS),
    aTarget,
    fc.subarray(HEADERS, { maxLength: 4 }),
    fc.constantFrom('1.1', '1.0', '2.0'),
    fc.constantFrom(...BODIES),
  )
  .map((parts) => written(...parts));
const aPiece = fc.oneof(
  { weight: 8, arbitrary: aSoundRequest },
  { weight: 3, arbitrary: anOddRequest },
  { weight: 1, arbitrary: fc.tuple(anOddRequest, fc.nat(60)).map(([text, length]) => text.slice(0, length)) },
  { weight: 1, arbitrary: fc.constantFrom('\r\n', '\0\u0016\u0003\u0001', 'no HTTP at all\r\n\r\n') },
);
const aConversation = fc.record({
  pieces: fc.array(aPiece, { minLength: 1, maxLength: 6 }),
  /** Otherwise in one packet. */
  apart: fc.boolean(),
  ending: fc.constantFrom('end', 'destroy', 'reset', 'end'),
});

type Conversation = typeof aConversation extends fc.Arbitrary<infer T> ? T : never;

/** One listener: how it is reached. */
type Reach = () => Promise<Socket>;

interface Stage {
  readonly argv: readonly string[];
  readonly listeners: Readonly<Record<string, Reach>>;
}

const plainAt = (port: number) => async () => (await openRaw({ port, host: '127.0.0.1' })).socket;
const socketAt = (path: string) => async () => (await openRaw({ path })).socket;
const secureAt = (port: number) => (): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const to = { port, host: '127.0.0.1', allowHalfOpen: true, ca: CERTIFICATE, servername: 'doh.test' };
    const socket = connectSecure(to, () => resolve(rawClient(socket).socket));
    socket.once('error', reject);
  });

const STAGES: Readonly<Record<string, (folder: string) => Promise<Stage>>> = {
  async 'plain listeners'() {
    const [api = 0, subscriptions = 0, feed = 0, ops = 0] = await ports(4);
    return {
      argv: [
        ...['--bind', `127.0.0.1:${api}`, '--subscription-bind', `127.0.0.1:${subscriptions}`],
        ...['--feed-bind', `127.0.0.1:${feed}`, '--feed-token', 'feed', '--ops-bind', `127.0.0.1:${ops}`],
      ],
      listeners: {
        api: plainAt(api),
        subscriptions: plainAt(subscriptions),
        feed: plainAt(feed),
        ops: plainAt(ops),
      },
    };
  },
  async 'listeners with TLS'() {
    const [api = 0, subscriptions = 0] = await ports(2);
    return {
      argv: [
        ...['--bind', `127.0.0.1:${api}`, '--subscription-bind', `127.0.0.1:${subscriptions}`],
        ...['--tls-cert', 'cert.pem', '--tls-key', 'key.pem'],
      ],
      listeners: { api: secureAt(api), subscriptions: secureAt(subscriptions) },
    };
  },
  async 'listeners on Unix sockets'(folder) {
    const [api, subscriptions, feed] = ['api', 'subscriptions', 'feed'].map((name) => join(folder, `${name}.sock`));
    return {
      argv: ['--bind', `unix:${api}`, '--subscription-bind', `unix:${subscriptions}`, '--feed-bind', `unix:${feed}`],
      listeners: {
        api: socketAt(api ?? ''),
        subscriptions: socketAt(subscriptions ?? ''),
        feed: socketAt(feed ?? ''),
      },
    };
  },
};

const ports = (count: number) => Promise.all(Array.from({ length: count }, freePort));

/** Milliseconds after which the client ends a connection that the server keeps. */
const PATIENCE = 60;

/** Others cannot be reset. */
const isPlainTcp = (socket: Socket) => socket.remoteAddress !== undefined && !(socket instanceof TLSSocket);

async function converse(socket: Socket, { pieces, apart, ending }: Conversation) {
  const closed = new Promise((resolve) => socket.once('close', resolve));
  if (apart) {
    for (const piece of pieces) {
      socket.write(piece);
      await nextTurn();
    }
  } else await new Promise((resolve) => socket.write(pieces.join(''), resolve));
  if (ending === 'end') {
    socket.end();
    const late = setTimeout(() => socket.destroy(), PATIENCE);
    await closed;
    clearTimeout(late);
  } else if (ending === 'reset' && isPlainTcp(socket)) socket.resetAndDestroy();
  else socket.destroy();
}

it.each(
  someOf(Object.keys(STAGES), 1),
)('whatever strangers pipeline to %s, every one goes on answering, and nothing in Keyway throws', async (name) => {
  const folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  await writeFile(join(folder, 'cert.pem'), CERTIFICATE);
  await writeFile(join(folder, 'key.pem'), PRIVATE_KEY);
  let running: Running | null = null;
  onTestFinished(async () => {
    running?.child.kill('SIGKILL');
    await running?.ended;
  });
  const stage = await STAGES[name]?.(folder);
  if (stage === undefined) throw new Error(name);
  /** A case that ended the process is looked for again on a new one. */
  async function alive(argv: readonly string[]): Promise<Running> {
    if (running !== null && running.child.exitCode === null) return running;
    running = startKeyway(['serve', '--config', 'server.jsonc', '--no-resolver', ...argv], { folder });
    await running.logged((record) => typeof record.url === 'string');
    return running;
  }
  const errors = (one: Running) => one.log().filter(({ level }) => level === 'error');
  for (const [listener, reach] of Object.entries(stage.listeners)) {
    await fc.assert(
      fc.asyncProperty(aConversation, async (conversation) => {
        const server = await alive(stage.argv);
        const before = errors(server).length;
        await converse(await reach(), conversation);
        const probe = await reach();
        const text = new Promise<string>((resolve) =>
          probe.once('data', (first) => resolve(String(first))).once('close', () => resolve('')),
        );
        probe.write(rawRequest('GET', '/nothing', { connection: 'close' }));
        expect(await text, listener).toMatch(/^HTTP\/1\.1 40[14] /);
        expect(errors(server).slice(before)).toEqual([]);
      }),
      { numRuns: tries(10), seed: 25 },
    );
  }
  const last = await alive(stage.argv);
  last.child.kill('SIGTERM');
  expect((await last.ended).code).toBe(0);
  expect(errors(last)).toEqual([]);
});

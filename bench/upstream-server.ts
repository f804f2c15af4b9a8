/**
 * The running server that a gateway stands in front of: it answers as comparison (b) does, a list mapped, sorted and turned into JSON
 * for every request, and everything else at once. Between two lists the counters of one key in ten become others. The key that has
 * most traffic is not a client: its `bytes_up` says when the list was made, in milliseconds since the epoch.
 *
 * With a second argument a list costs so many milliseconds of processor time instead: it is unsorted, as real servers' are, made of
 * parts that are kept, and the rest of the time is spent on nothing.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { sampleCounters, sampleKey, sampleKeyName } from './sample-keys.js';
import { announcePort, endWithParent } from './server-side.js';

interface User {
  name: string | null;
  limit_bytes: number | null;
  bytes_up: number;
  bytes_down: number;
  connections: number;
}

const KEYS = Number(process.argv[2] ?? '100000');
const COST = Number(process.argv[3] ?? '0');
/** Above what any sample key has. */
const MOST = Number.MAX_SAFE_INTEGER;

const users = new Map<string, User>([['made-at', userOf({}, 0)]]);
for (let index = 0; index < KEYS; index += 1) users.set(sampleKeyName(index), userOf(sampleKey(index), index));
const started = performance.now();
let lists = 0;

function userOf({ name, limit_bytes }: { name?: string; limit_bytes?: number }, index: number): User {
  const { bytesUp, bytesDown, connections } = sampleCounters(index, 0);
  return {
    name: name ?? null,
    limit_bytes: limit_bytes ?? null,
    bytes_up: bytesUp,
    bytes_down: bytesDown,
    connections,
  };
}

function snapshot([access_key, { name, bytes_up, bytes_down, connections, limit_bytes }]: [string, User]) {
  return { access_key, name, bytes_up, bytes_down, connections, limit_bytes, online: connections > 0, last_seen: null };
}

function* changed(): Generator<[string, User]> {
  lists += 1;
  for (let index = lists % 10; index < KEYS; index += 10) {
    const { bytesUp, bytesDown, connections } = sampleCounters(index, lists);
    const name = sampleKeyName(index);
    const user = users.get(name);
    if (user !== undefined)
      yield [name, Object.assign(user, { bytes_up: bytesUp, bytes_down: bytesDown, connections })];
  }
  const madeAt = { name: null, limit_bytes: null, bytes_up: Date.now(), bytes_down: MOST, connections: 0 };
  users.set('made-at', madeAt);
  yield ['made-at', madeAt];
}

function list() {
  for (const _ of changed());
  return [...users].map(snapshot).sort((a, b) => b.bytes_down - a.bytes_down);
}

const parts = new Map<string, string>();
if (COST > 0) for (const each of users) parts.set(each[0], JSON.stringify(snapshot(each)));

function listAtCost(): Buffer {
  const before = process.cpuUsage();
  for (const each of changed()) parts.set(each[0], JSON.stringify(snapshot(each)));
  const bytes = Buffer.from(`{"ok":true,"data":[${[...parts.values()].join(',')}]}`);
  for (let spent = 0; spent < COST * 1000; ) {
    const { user, system } = process.cpuUsage(before);
    spent = user + system;
  }
  return bytes;
}

const STATUS = { version: '0.3.6', active_users: KEYS, total_users: KEYS + 1 };
const CONFIG = { mode: 'server', listen: '203.0.113.7:50000', access_keys: [] };

async function answer(method: string, path: string, request: IncomingMessage): Promise<unknown> {
  if (path === '/server/status') return { ...STATUS, uptime_seconds: Math.floor((performance.now() - started) / 1000) };
  if (path === '/server/config') return method === 'GET' ? CONFIG : true;
  if (path === '/router/rules') return [];
  if (path === '/users/bulk') return [];
  if (path === '/users') return method === 'GET' ? list() : created(await bodyOf(request));
  const [, , key = '', action] = path.split('/');
  const user = users.get(decodeURIComponent(key));
  if (path.startsWith('/subscribe/')) return request.headers.accept === 'text/plain' ? linkOf(key) : clientOf(key);
  if (user === undefined) return undefined;
  if (action === 'limit') user.limit_bytes = (await bodyOf(request)).limit_bytes ?? null;
  return method === 'GET' ? snapshot([key, user]) : true;
}

const linkOf = (key: string) => `ostp://${key}@203.0.113.7:50000?type=udp`;
const clientOf = (key: string) => ({ mode: 'client', server: '203.0.113.7:50000', access_key: key });

interface Body {
  readonly access_key?: string;
  readonly name?: string;
  readonly limit_bytes?: number;
}

function created({ access_key = `made-${users.size}`, ...record }: Body): string {
  users.set(access_key, userOf(record, 1));
  return access_key;
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString() || '{}');
}

const server = createServer(async (request, response) => {
  const path = (request.url ?? '').replace(/^\/panel\/api/, '');
  const isList = COST > 0 && request.method === 'GET' && path === '/users';
  const data = isList ? null : await answer(request.method ?? '', path, request);
  const envelope = data === undefined ? { ok: false, error: 'user not found' } : { ok: true, data };
  const bytes = isList ? listAtCost() : Buffer.from(JSON.stringify(envelope));
  response.writeHead(data === undefined ? 400 : 200, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    'access-control-allow-origin': '*',
  });
  response.end(bytes);
});
process.on('message', () => process.send?.({ lists }));
server.listen(0, '127.0.0.1', () => {
  endWithParent(async () => server.close());
  announcePort(server);
});

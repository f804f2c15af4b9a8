import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { type Ending, openLoadConnection, sendRaw } from './load-connection.js';
import { API, BEARER, createAsking, type Lane, type Lanes, loginBody } from './load-lane.js';
import { API_TOKEN, FEED_TOKEN } from './load-server.js';

/** Each kind of hostile client has an address of its own, so that what is held against it is held against nobody else. */
const FROM = { flood: '127.0.0.2', silence: '127.0.0.3', halfClosed: '127.0.0.4', reset: '127.0.0.5' } as const;

/** Bytes of a body: what an audit entry may have at most (design: "An audit entry"). */
const LARGEST_ENTRY = 4096;

/** Fills the audit list, which asks nobody who he is, with entries as large as they may be and larger. */
export function flooder(lanes: Lanes): Lane {
  const connection = openLoadConnection(lanes.server.api, FROM.flood);
  const ask = createAsking(lanes, connection);
  const headers = { 'content-type': 'application/json' };
  return {
    async step() {
      const beyond = lanes.choose(4) === 0 ? 1 + lanes.choose(500_000) : 0;
      const body = entryOf(LARGEST_ENTRY + beyond);
      await ask('flood', { method: 'POST', path: `${API}/audit`, headers, body }, beyond > 0 ? 413 : 200);
      if (lanes.choose(20) === 0) await ask('flood', { method: 'GET', path: `${API}/audit` });
    },
    close: connection.close,
  };
}

function entryOf(length: number): string {
  const empty = JSON.stringify({ eventEn: '', eventRu: '', success: true });
  return JSON.stringify({ eventEn: 'x'.repeat(length - empty.length), eventRu: '', success: true });
}

const head = (method: string, path: string, token = API_TOKEN) =>
  `${method} ${path} HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer ${token}\r\n`;
const get = (path: string, more = '') => `${head('GET', path)}${more}\r\n`;
const post = (path: string, body: string, token = API_TOKEN) =>
  `${head('POST', path, token)}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** What is asked for, once or many times in one go, by those who never read an answer. */
const UNREAD: readonly string[] = [
  get(`${API}/users`),
  get(`${API}/users`, 'Accept-Encoding: gzip\r\n'),
  get(`${API}/users`).repeat(20),
  get(`${API}/audit`).repeat(100),
  get(`${API}/server/config`),
  get('/panel/').repeat(100),
  get('/panel/keyway/v1/keys?limit=10000').repeat(16),
];

/** Asks for much and reads nothing, until it asks for something else on another connection. */
export function unreader(lanes: Lanes): Lane {
  let socket: Socket | null = null;
  return {
    async step() {
      socket?.destroy();
      const { hostname, port } = new URL(lanes.server.api);
      socket = connect({ host: hostname, port: Number(port), localAddress: FROM.silence });
      // Without a listener for its data nothing is read. The server may have had enough of it.
      socket.on('error', () => undefined);
      socket.write(UNREAD[lanes.choose(UNREAD.length)] ?? '');
    },
    close: () => void socket?.destroy(),
  };
}

/** Guesses passwords and tokens, of the API and of the feed, each time from another address of many. */
export function guesser(lanes: Lanes): Lane {
  const GUESSES = 8;
  const headers = { 'content-type': 'application/json' };
  const bearer = () => ({ ...headers, authorization: `Bearer ${API_TOKEN}${lanes.choose(1_000_000)}` });
  return {
    async step() {
      const from = `127.1.${lanes.choose(20)}.${1 + lanes.choose(250)}`;
      const [api, feed] = [lanes.server.api, lanes.server.feed].map((origin) => openLoadConnection(origin, from));
      if (api === undefined || feed === undefined) return;
      const [ask, askFeed] = [createAsking(lanes, api), createAsking(lanes, feed)];
      for (let guess = 0; guess < GUESSES; guess += 1) {
        const body = loginBody(`guess-${lanes.choose(1_000_000)}`);
        await ask('guess', { method: 'POST', path: `${API}/login`, headers, body }, 401);
        await ask('guess', { method: 'GET', path: `${API}/users`, headers: bearer() }, 401);
        await askFeed('guess', { method: 'GET', path: '/v1/keys', headers: bearer() }, 401);
      }
      api.close();
      feed.close();
    },
    close: () => undefined,
  };
}

const HALF_CLOSER_KEYS = 10;

/** Says that it has no more to say before it has an answer, and must get every one to its end. */
export function halfCloser(lanes: Lanes, number: number): Lane {
  const { api, feed } = lanes.server;
  const anyKey = () => `half-${number}-${lanes.choose(HALF_CLOSER_KEYS)}`;

  /** Whether as many answers came as there should be, each of them whole and a success. */
  async function answered(origin: string, bytes: string, count: number): Promise<boolean> {
    const began = performance.now();
    const text = await sendRaw(origin, bytes, 'half-close', FROM.halfClosed);
    lanes.measured('half-closed', performance.now() - began);
    const statuses = statusesOf(text);
    const isRight = statuses.length === count && statuses.every((status) => status === 200);
    const asked = bytes.slice(0, bytes.indexOf('\r'));
    if (!isRight)
      lanes.failed(`half-closed after ${count} × ${asked}: answered [${statuses.join()}], ${text.slice(0, 120)}`);
    return isRight;
  }

  async function create(): Promise<void> {
    const key = anyKey();
    const name = `half-closed ${randomUUID()}`;
    lanes.ledger.perhaps(key, { name, limit: null, bytesUp: 0n });
    if (await answered(api, post(`${API}/users`, JSON.stringify({ access_key: key, name })), 1))
      lanes.ledger.set(key, { name, limit: null, bytesUp: 0n });
  }

  async function report(): Promise<void> {
    const key = anyKey();
    const expected = lanes.ledger.get(key);
    if (expected === undefined) return;
    const next = { ...expected, bytesUp: expected.bytesUp + 1n };
    const entries = [{ access_key: key, bytes_up: 1, bytes_down: 0, connections: 0 }];
    lanes.ledger.perhaps(key, next);
    if (await answered(feed, post('/v1/usage', JSON.stringify({ report_id: randomUUID(), entries }), FEED_TOKEN), 1))
      lanes.ledger.set(key, next);
  }

  return {
    async step() {
      const dice = lanes.choose(10);
      if (dice < 3) await lanes.gate.among(create);
      else if (dice < 6) await lanes.gate.among(report);
      else if (dice < 8) await answered(api, get(`${API}/users`), 1);
      else await answered(api, get(`${API}/server/status`).repeat(5), 5);
    },
    close: () => undefined,
  };
}

/** The statuses of answers that came one after the other, up to the first that is not whole. */
export function statusesOf(text: string): readonly number[] {
  const [, status, headers = ''] = /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n(.*?)\r\n\r\n/s.exec(text) ?? [];
  if (status === undefined) return [];
  const start = text.indexOf('\r\n\r\n') + 4;
  const length = Number(/^content-length: (\d+)$/im.exec(headers.replaceAll('\r', ''))?.[1] ?? Number.NaN);
  if (!(text.length >= start + length)) return [];
  return [Number(status), ...statusesOf(text.slice(start + length))];
}

const RESETTER_KEYS = 10;

/**
 * Resets its connection while its changes are on their way, or when an answer begins. What was answered is done; of the
 * others nobody knows, for ever: the system hands over what came before a reset, at any time.
 */
export function resetter(lanes: Lanes, number: number): Lane {
  const send = (bytes: string, ending: Ending) => sendRaw(lanes.server.api, bytes, ending, FROM.reset);

  async function change(key: string, ending: Ending): Promise<void> {
    const isDeletion = lanes.choose(3) === 0;
    const next = isDeletion ? null : { name: `reset ${randomUUID()}`, limit: null, bytesUp: 0n };
    lanes.ledger.perhaps(key, next);
    const body = JSON.stringify({ access_key: key, name: next?.name });
    const bytes = isDeletion ? `${head('DELETE', `${API}/users/${key}`)}\r\n` : post(`${API}/users`, body);
    const [status] = /(?<=^HTTP\/1\.1 )\d{3}/.exec(await send(bytes, ending)) ?? [];
    // A key that was not there is deleted with 400.
    const isRight =
      (ending === 'reset' && status === undefined) || status === '200' || (isDeletion && status === '400');
    if (!isRight) lanes.failed(`a change before a reset was answered ${status}`);
    if (status === undefined || !isRight) return;
    if (next === null) lanes.ledger.delete(key);
    else lanes.ledger.set(key, next);
  }

  return {
    async step() {
      const ending = lanes.choose(2) === 0 ? 'reset' : 'reset at first byte';
      if (lanes.choose(5) === 0) await send(get(`${API}/users`).repeat(5), ending);
      // Of its own keys for either: what was answered must not meet what nobody knows of.
      const key = `${ending === 'reset' ? 'reset' : 'answered'}-${number}-${lanes.choose(RESETTER_KEYS)}`;
      await lanes.gate.among(() => change(key, ending));
    },
    close: () => undefined,
  };
}

/** Changes much of the configuration at once: members by a Merge Patch, a tenth of which a JSON Patch moves, and which go again. */
export function patcher(lanes: Lanes): Lane {
  const MEMBERS = 10_000;
  const connection = openLoadConnection(lanes.server.api);
  const ask = createAsking(lanes, connection);
  const path = '/panel/keyway/v1/configuration';
  const send = (type: string, patch: unknown) =>
    lanes.gate.among(() => {
      const headers = { ...BEARER, 'content-type': `application/${type}+json` };
      // Another may have put the whole configuration back before the moves.
      return ask('patch', { method: 'PATCH', path, headers, body: JSON.stringify(patch) }, 200, 409);
    });
  const members = Object.fromEntries(Array.from({ length: MEMBERS }, (_, n) => [`member-${n}`, n]));
  const moves = Array.from({ length: MEMBERS / 10 }, (_, n) => ({
    op: 'move',
    from: `/soak/member-${n}`,
    path: `/soak/moved-${n}`,
  }));
  return {
    async step() {
      if ((await send('merge-patch', { soak: members })) !== null) await send('json-patch', moves);
      await send('merge-patch', { soak: null });
    },
    close: connection.close,
  };
}

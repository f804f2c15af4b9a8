import { randomUUID } from 'node:crypto';
import {
  type Ending,
  type LoadAnswer,
  type LoadConnection,
  type LoadRequest,
  openLoadConnection,
  sendRaw,
} from './load-connection.js';
import type { Gate } from './load-gate.js';
import type { Ledger } from './load-ledger.js';
import { API_TOKEN, editFile, FEED_TOKEN, type LoadedServer, PASSWORD, USERNAME } from './load-server.js';

/** What every lane works with. */
export interface Lanes {
  readonly server: LoadedServer;
  readonly ledger: Ledger;
  readonly gate: Gate;
  readonly choose: (below: number) => number;
  /** Keys that are in the file from the start, and stay. */
  readonly baseKeys: readonly string[];
  /** Keys whose names are edited by hand. */
  readonly handKeys: readonly string[];
  /** Notes how long an answer took. */
  readonly measured: (kind: string, milliseconds: number) => void;
  /** Notes what must not be. */
  readonly failed: (words: string) => void;
}

/** One client: a step is one thing that it does, which the soak repeats. */
export interface Lane {
  step(): Promise<void>;
  close(): void;
}

const API = '/panel/api';
const BEARER = { authorization: `Bearer ${API_TOKEN}` };
const JSON_BEARER = { ...BEARER, 'content-type': 'application/json' };

/** Sends and judges: an answer with another status than these is a failure. */
function createAsking(lanes: Lanes, connection: LoadConnection) {
  return async (kind: string, request: LoadRequest, ...expected: readonly number[]): Promise<LoadAnswer | null> => {
    try {
      const answer = await connection.send(request);
      if (request.slowness === undefined) lanes.measured(kind, answer.took);
      if ((expected.length === 0 ? [200] : expected).includes(answer.status)) return answer;
      lanes.failed(`${request.method} ${request.path} was answered ${answer.status}: ${answer.body.subarray(0, 200)}`);
    } catch (error) {
      lanes.failed(`${request.method} ${request.path} was not answered: ${String(error)}`);
    }
    return null;
  };
}

/** Reads what panels and clients read. */
export function reader(lanes: Lanes): Lane {
  const connection = openLoadConnection(lanes.server.api);
  const ask = createAsking(lanes, connection);
  const get = (kind: string, path: string, headers = {}) => ask(kind, { method: 'GET', path, headers });
  const anyKey = () => lanes.baseKeys[lanes.choose(lanes.baseKeys.length)] ?? '';
  return {
    async step() {
      const dice = lanes.choose(100);
      if (dice < 35) await get('read', `${API}/server/status`, BEARER);
      else if (dice < 65) await get('read', `${API}/users/${anyKey()}`, BEARER);
      else if (dice < 85) await get('read', `${API}/subscribe/${anyKey()}`, { accept: 'text/plain' });
      else if (dice < 90) await get('list', `${API}/users`, { ...BEARER, 'accept-encoding': 'gzip' });
      else if (dice < 92) await get('list', `${API}/users`, BEARER);
      else if (dice < 95) await get('read', '/panel/');
      else if (dice < 98) await get('read', `${API}/audit`);
      else await ask('write', { method: 'POST', path: `${API}/login`, headers: JSON_BEARER, body: login(PASSWORD) });
    },
    close: connection.close,
  };
}

const login = (password: string) => JSON.stringify({ username: USERNAME, password });

/** Makes, changes, uses and deletes keys of its own, and notes what was acknowledged. */
export function writer(lanes: Lanes, number: number): Lane {
  const connection = openLoadConnection(lanes.server.api);
  const feed = openLoadConnection(lanes.server.feed);
  const ask = createAsking(lanes, connection);
  const report = createReporting(lanes, feed);
  const own: string[] = [];
  let made = 0;
  const limitOf = () => BigInt(lanes.choose(1_000_000)) * 1_000_000_000_000n;

  async function create(): Promise<void> {
    const key = `lane-${number}-${made++}`;
    const limit = limitOf();
    const body = `{"access_key":"${key}","name":"first","limit_bytes":${limit}}`;
    if ((await ask('write', { method: 'POST', path: `${API}/users`, headers: JSON_BEARER, body })) === null) return;
    own.push(key);
    lanes.ledger.set(key, { name: 'first', limit, bytesUp: 0n });
  }

  async function createSeveral(): Promise<void> {
    const body = '{"count":3}';
    const answer = await ask('write', { method: 'POST', path: `${API}/users/bulk`, headers: JSON_BEARER, body });
    const { data } = JSON.parse(answer?.body.toString() ?? '{"data":[]}') as { data: readonly string[] };
    for (const key of data) lanes.ledger.set(key, { name: null, limit: null, bytesUp: 0n });
    own.push(...data);
  }

  async function change(key: string): Promise<void> {
    const expected = lanes.ledger.get(key);
    const path = `${API}/users/${key}`;
    if (expected === undefined) return;
    const limit = limitOf();
    const dice = lanes.choose(5);
    if (dice === 0) {
      const body = `{"name":"changed ${made}","limit_bytes":${limit}}`;
      if ((await ask('write', { method: 'PUT', path, headers: JSON_BEARER, body })) !== null)
        lanes.ledger.set(key, { ...expected, name: `changed ${made}`, limit });
    } else if (dice === 1) {
      const body = `{"limit_bytes":${limit}}`;
      if ((await ask('write', { method: 'PUT', path: `${path}/limit`, headers: JSON_BEARER, body })) !== null)
        lanes.ledger.set(key, { ...expected, limit });
    } else if (dice === 2) {
      if (expected.bytesUp > 0n && (await ask('write', { method: 'POST', path: `${path}/reset`, headers: BEARER })))
        lanes.ledger.set(key, { ...expected, bytesUp: 0n });
    } else if (dice === 3) await report([key]);
    else if (own.length > 5) {
      own.splice(own.indexOf(key), 1);
      if ((await ask('write', { method: 'DELETE', path, headers: BEARER })) !== null) lanes.ledger.delete(key);
    }
  }

  return {
    step: () =>
      lanes.gate.among(async () => {
        const key = own[lanes.choose(own.length)];
        if (key === undefined || (own.length < 20 && lanes.choose(3) === 0))
          await (lanes.choose(10) === 0 ? createSeveral() : create());
        else await change(key);
      }),
    close() {
      connection.close();
      feed.close();
    },
  };
}

/** Reports a byte of each key, and notes it when it is durable. */
function createReporting(lanes: Lanes, feed: LoadConnection) {
  const ask = createAsking(lanes, feed);
  const headers = { authorization: `Bearer ${FEED_TOKEN}`, 'content-type': 'application/json' };
  return async (keys: readonly string[]): Promise<void> => {
    const entries = keys.map((access_key) => ({ access_key, bytes_up: 1, bytes_down: 0, connections: 1 }));
    const body = JSON.stringify({ report_id: randomUUID(), entries });
    if ((await ask('report', { method: 'POST', path: '/v1/usage', headers, body })) === null) return;
    for (const key of keys) {
      const expected = lanes.ledger.get(key);
      if (expected !== undefined) lanes.ledger.set(key, { ...expected, bytesUp: expected.bytesUp + 1n });
    }
  };
}

/** The tunnel server: many keys at once, of which it alone reports this part. */
export function reporter(lanes: Lanes, keys: readonly string[]): Lane {
  const feed = openLoadConnection(lanes.server.feed);
  const report = createReporting(lanes, feed);
  return {
    async step() {
      const from = lanes.choose(Math.max(1, keys.length - 100));
      await report(keys.slice(from, from + 100));
    },
    close: feed.close,
  };
}

/** Takes the list of all keys a piece at a time. */
export function slowReader(lanes: Lanes): Lane {
  const connection = openLoadConnection(lanes.server.api);
  const ask = createAsking(lanes, connection);
  return {
    async step() {
      const answer = await ask('slow', { method: 'GET', path: `${API}/users`, headers: BEARER, slowness: 150 });
      if (answer !== null && answer.body.at(-1) !== '}'.charCodeAt(0))
        lanes.failed('a list that was read slowly is cut off');
    },
    close: connection.close,
  };
}

const HEAD = `Host: soak\r\nAuthorization: Bearer ${API_TOKEN}\r\n`;
const START = `POST ${API}/users HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\n`;

/** What is sent on connections that end too early, how they end, and what must come back of it. */
const BROKEN: readonly (readonly [bytes: string, ending: Ending, answer: RegExp])[] = [
  [`GET ${API}/server/status HTTP/1.1\r\n${HEAD}\r\n`, 'half-close', /^HTTP\/1\.1 200/],
  [`GET ${API}/users HTTP/1.1\r\n${HEAD}\r\n`, 'half-close', /^HTTP\/1\.1 200.*\]\}$/s],
  [`GET ${API}/users HTTP/1.1\r\n${HEAD}\r\n`, 'destroy at first byte', /^HTTP\/1\.1 200/],
  [`GET ${API}/users HTTP/1.1\r\n${HEAD}\r\n`, 'destroy', /^/],
  [`GET ${API}/server/st`, 'half-close', /^(HTTP\/1\.1 400|$)/],
  [`${START}Content-Length: 1000\r\n\r\n{"access_key":"never"`, 'half-close', /^(HTTP\/1\.1 4|$)/],
  [`${START}Content-Length: 1000\r\n\r\n{"access_key":"never"`, 'destroy', /^$/],
  [`${START}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`, 'half-close', /^HTTP\/1\.1 400/],
  ['\u0016\u0003\u0001 no HTTP at all\r\n\r\n', 'half-close', /^HTTP\/1\.1 400/],
  [`GET / HTTP/1.1\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`, 'half-close', /^(HTTP\/1\.1 431|$)/],
  ['', 'destroy', /^$/],
];

/** Ends its connections in the middle of everything. */
export function breaker(lanes: Lanes): Lane {
  return {
    async step() {
      const [bytes, ending, expected] = BROKEN[lanes.choose(BROKEN.length)] ?? ['', 'destroy', /^/];
      const answer = await sendRaw(lanes.server.api, bytes, ending);
      if (!expected.test(answer))
        lanes.failed(`${bytes.slice(0, 40)} and ${ending} was answered ${answer.slice(0, 200)}`);
    },
    close: () => undefined,
  };
}

/** Requests that must be refused, and how. */
const REFUSED: readonly (readonly [method: string, path: string, body: string | undefined, status: number])[] = [
  ['POST', '/users', '{', 400],
  ['POST', '/users', '[]', 400],
  ['POST', '/users', '{"limit_bytes":-1}', 400],
  ['POST', '/users', `{"access_key":"${'x'.repeat(1_500_000)}"}`, 413],
  ['POST', '/users', `{"a":${'['.repeat(50_000)}`, 400],
  ['POST', '/users/bulk', '{"count":1001}', 400],
  ['PUT', '/users/nobody', '{}', 400],
  ['PUT', '/users/nobody/limit', '{"limit_bytes":1e9}', 400],
  ['DELETE', '/users/nobody', undefined, 400],
  ['PUT', '/server/config', '{"no":"mode"}', 400],
  ['PUT', '/server/config', '{"mode":', 400],
  ['PUT', '/router/rules', '[{"action":7}]', 400],
  ['POST', '/audit', '{"eventEn":1}', 400],
  ['POST', '/login', login('wrong'), 401],
  ['GET', '/nowhere', undefined, 404],
  ['GET', '/subscribe/nobody', undefined, 404],
  ['DELETE', '/server/status', undefined, 405],
  ['GET', '/users/%zz', undefined, 400],
];

/** Sends what no client should. */
export function offender(lanes: Lanes): Lane {
  const connection = openLoadConnection(lanes.server.api);
  const ask = createAsking(lanes, connection);
  return {
    async step() {
      const [method, path, body, status] = REFUSED[lanes.choose(REFUSED.length)] ?? ['GET', '/', undefined, 404];
      const headers = body === undefined ? BEARER : JSON_BEARER;
      await ask('refusal', { method, path: API + path, headers, ...(body === undefined ? {} : { body }) }, status);
      if (lanes.choose(4) === 0)
        await ask('refusal', { method: 'PUT', path: `${API}/server/config`, body: '{"mode":"server"}' }, 401);
    },
    close: connection.close,
  };
}

/** Edits names in the file by hand; the changes that are under way when it is done come on top. */
export function editor(lanes: Lanes): Lane {
  let edits = 0;
  return {
    step: () =>
      lanes.gate.alone(async () => {
        const key = lanes.handKeys[lanes.choose(lanes.handKeys.length)] ?? '';
        const expected = lanes.ledger.get(key);
        if (expected === undefined) return;
        const name = `${key} edit ${edits++}`;
        const began = performance.now();
        const change = (text: string) => text.replace(JSON.stringify(expected.name), JSON.stringify(name));
        await editFile(lanes.server.file, change, lanes.choose(3) === 0);
        lanes.measured('edit', performance.now() - began);
        lanes.ledger.set(key, { ...expected, name });
      }),
    close: () => undefined,
  };
}

/** Replaces the whole file over the API with what it holds, and asks the process to read again. */
export function replacer(lanes: Lanes): Lane {
  const connection = openLoadConnection(lanes.server.api);
  const ask = createAsking(lanes, connection);
  return {
    async step() {
      if (lanes.choose(2) === 0) {
        lanes.server.running.child.kill('SIGHUP');
        return;
      }
      await lanes.gate.alone(async () => {
        const path = `${API}/server/config`;
        const answer = await ask('config', { method: 'GET', path, headers: BEARER });
        const { data } = JSON.parse(answer?.body.toString() ?? '{}') as { data?: object };
        if (data === undefined) return;
        const body = JSON.stringify({ ...data, replaced: lanes.choose(1_000_000) });
        await ask('config', { method: 'PUT', path, headers: JSON_BEARER, body });
      });
    },
    close: connection.close,
  };
}

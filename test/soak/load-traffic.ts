import { randomUUID } from 'node:crypto';
import { type LoadConnection, openLoadConnection } from './load-connection.js';
import { API, BEARER, createAsking, JSON_BEARER, type Lane, type Lanes, loginBody } from './load-lane.js';
import { FEED_TOKEN, PASSWORD } from './load-server.js';

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
      else
        await ask('write', { method: 'POST', path: `${API}/login`, headers: JSON_BEARER, body: loginBody(PASSWORD) });
    },
    close: connection.close,
  };
}

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

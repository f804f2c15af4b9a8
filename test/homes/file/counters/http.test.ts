import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonObject, parseJson } from '../../../../src/wire/json/json.js';
import { type FeedStage, feedStage, report, until } from '../../../feed/stage.js';
import { WHOLE } from '../../../whole.js';

interface Api {
  /** The `data` of an answer that must be a success. */
  ask(method: string, path: string, body?: unknown, root?: string): Promise<unknown>;
  users(root?: string): Promise<readonly JsonObject[]>;
}

const CURRENT = '/panel/api';
const ROUNDS = WHOLE ? 6 : 3;

async function listening(stage: FeedStage): Promise<Api> {
  const url = await stage.gateway.app.listen({ host: '127.0.0.1', port: 0 });
  async function ask(method: string, path: string, body?: unknown, root = CURRENT): Promise<unknown> {
    const response = await fetch(`${url}${root}${path}`, {
      method,
      headers: { authorization: 'Bearer api-token', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = parseJson(Buffer.from(await response.arrayBuffer()));
    expect(response.status, `${method} ${path}`).toBe(200);
    return isJsonObject(answer) ? answer.data : null;
  }
  return {
    ask,
    users: async (root) => {
      const data = await ask('GET', '/users', undefined, root);
      return Array.isArray(data) ? data.filter(isJsonObject) : [];
    },
  };
}

/** Sends reports until it is told to stop; resolves to their number. */
function streaming(stage: FeedStage, body: (number: number) => unknown) {
  let isGoing = true;
  let sent = 0;
  const done = (async () => {
    for (; isGoing; sent += 1) {
      const how = sent % 4 === 0 ? 'durable' : 'memory';
      expect((await stage.post(`/v1/usage?ack=${how}`, body(sent))).status).toBe(200);
    }
  })();
  return {
    sent: () => sent,
    async stop(): Promise<number> {
      isGoing = false;
      await done;
      return sent;
    },
  };
}

describe('the API while reports stream in', () => {
  it('shows a report in a list as a whole or not at all, keys from a bulk creation among them', async () => {
    // So many that the list goes out in several pieces.
    const keys = Array.from({ length: 1500 }, (_, index) => `key-${index}`);
    const stage = await feedStage({ keys });
    const api = await listening(stage);
    /** Keys that are in every report together, or in none. */
    const groupOf = new Map(keys.map((key) => [key, 'file']));
    const stream = streaming(stage, (number) =>
      report(`r${number}`, ...[...groupOf.keys()].map((key) => [key, 1, 1] as const)),
    );
    const torn: unknown[] = [];
    const look = async () => {
      const seen = new Map<string, Set<string>>();
      const found = await api.users();
      for (const { access_key, bytes_up, bytes_down } of found) {
        const group = groupOf.get(String(access_key));
        if (group !== undefined) seen.set(group, (seen.get(group) ?? new Set()).add(`${bytes_up} ${bytes_down}`));
      }
      for (const [group, counts] of seen) if (counts.size !== 1) torn.push([group, ...counts]);
      expect(found.length).toBeGreaterThanOrEqual(keys.length);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      const answer = await api.ask('POST', '/users/bulk', { count: 50 });
      for (const name of Array.isArray(answer) ? answer.map(String) : []) groupOf.set(name, `bulk ${round}`);
      await Promise.all([look(), look(), look()]);
      await look();
    }
    const sent = await stream.stop();
    expect(torn).toEqual([]);
    expect([sent > 5, groupOf.size]).toEqual([true, keys.length + 50 * ROUNDS]);
    await until(
      async () => (await api.users()).filter((user) => user.bytes_up === BigInt(sent)).length === keys.length,
    );
  });

  it('orders the list by bytes down, counts those with traffic, and shows who is online by each revision', async () => {
    const mounts = [{ revision: 'earliest' }, { revision: 'dns', webpath: 'old' }, { revision: 'current' }];
    const stage = await feedStage({ keys: ['a', 'b', 'c', 'd'] }, { mounts });
    const api = await listening(stage);
    const [bulk] = Array.from(Object(await api.ask('POST', '/users/bulk', { count: 1 })));
    await stage.post('/v1/usage', report(null, ['c', 0, 7, 2], ['b', 9, 0], ['d', 0, 9]));
    const roots = ['/api', '/old/api', CURRENT];
    await until(async () => (await api.users())[0]?.access_key === 'd');
    for (const root of roots) {
      await until(async () => (await api.users(root))[0]?.access_key === 'd');
      expect((await api.users(root)).map((user) => user.access_key)).toEqual(['d', 'c', 'a', 'b', bulk]);
      expect(await api.ask('GET', '/server/status', undefined, root)).toMatchObject({
        active_users: 3n,
        total_users: 5n,
      });
    }
    const online = async (root: string) =>
      Object.fromEntries((await api.users(root)).map((user) => [user.access_key, user.online]));
    // Before, a key was online as soon as it had counters.
    for (const root of ['/api', '/old/api']) {
      expect(await online(root)).toEqual({ a: true, b: true, c: true, d: true, [String(bulk)]: false });
    }
    expect(await online(CURRENT)).toEqual({ a: false, b: false, c: true, d: false, [String(bulk)]: false });
    await stage.post('/v1/usage', report(null, ['c', 0, 0, 0], [String(bulk), 0, 0, 1]));
    await until(async () => (await online(CURRENT)).c === false);
    expect(await online(CURRENT)).toEqual({ a: false, b: false, c: false, d: false, [String(bulk)]: true });
    await until(async () => (await online('/api'))[String(bulk)] === true);
    expect((await api.users('/api')).every((user) => !('name' in user))).toBe(true);
  });

  it('resets with the limit kept, changes limits with the counters kept, replaces on create, and deletes', async () => {
    const stage = await feedStage({ keys: ['a', 'b', 'c', { access_key: 'd', limit_bytes: 100 }] });
    const api = await listening(stage);
    const stream = streaming(stage, () => report(null, ['a', 1, 1], ['b', 1, 1], ['c', 1, 1], ['d', 1, 1]));
    const user = async (key: string) => Object(await api.ask('GET', `/users/${key}`));
    for (let round = 0; round < ROUNDS; round += 1) {
      const reached = stream.sent() + 3;
      await until(() => stream.sent() >= reached);
      const before = await user('b');
      const atReset = stream.sent();
      expect(await api.ask('POST', '/users/d/reset')).toBe(true);
      const reset = await user('d');
      expect(reset.limit_bytes).toBe(100n);
      // No more than what was reported since; one report may have been under way.
      expect(Number(reset.bytes_up)).toBeLessThanOrEqual(stream.sent() - atReset + 1);
      await api.ask('PUT', '/users/b/limit', { limit_bytes: round });
      const limited = await user('b');
      expect([limited.limit_bytes, limited.bytes_up >= before.bytes_up]).toEqual([BigInt(round), true]);
      const sent = stream.sent();
      await api.ask('POST', '/users', { access_key: 'c', name: `again ${round}` });
      const again = await user('c');
      expect(again.name).toBe(`again ${round}`);
      expect(Number(again.bytes_up)).toBeLessThanOrEqual(stream.sent() - sent + 1);
      await api.ask('DELETE', '/users/a');
      expect((await api.users()).map(({ access_key }) => access_key)).not.toContain('a');
      await api.ask('POST', '/users', { access_key: 'a' });
    }
    const sent = await stream.stop();
    expect((await user('b')).bytes_up).toBe(BigInt(sent));
    const expected = await Promise.all(['a', 'b', 'c', 'd'].map(async (key) => (await user(key)).bytes_up));
    await stage.close();
    const later = await feedStage(stage);
    expect(['a', 'b', 'c', 'd'].map((key) => later.gateway.core.keys.get(key)?.counters?.bytesUp)).toEqual(expected);
  });
});

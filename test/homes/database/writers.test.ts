import { expect, it, onTestFinished } from 'vitest';
import { MAX_U64 } from '../../../src/core/model.js';
import { createGateway } from '../../../src/gateway/create-gateway.js';
import type { DatabaseBackend } from '../../../src/homes/database/backend.js';
import { forget } from '../../../src/homes/database/statements.js';
import { createKey, deleteKey, updateKey } from '../../ports/key-changes.js';
import { someOf } from '../../whole.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { key, openBackend, report, seesAll } from './gateways.js';
import { poolerForTest } from './pooler.js';

const TOKEN = 'edges-token';

/** The API of a gateway over this backend; answers are the texts that go over the wire. */
async function serve(backend: DatabaseBackend) {
  const app = await createGateway({ mounts: [{ revision: 'current' }], backend, listener: { token: TOKEN } });
  onTestFinished(() => app.close());
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return async (method: string, path: string, body?: string): Promise<{ status: number; text: string }> => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const url = `${origin}${app.keyway.mounts[0]?.api}${path}`;
    const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    return { status: answer.status, text: await answer.text() };
  };
}

const WAYS = [
  ['directly', async (url: string) => url],
  ['through transaction pooling', poolerForTest],
] as const;

for (const [way, by] of someOf(WAYS, 1))
  describeDatabase(`two gateways that write at once, ${way}`, () => {
    async function pair() {
      const url = await freshDatabase();
      const reached = await by(url);
      return { url, one: await openBackend(reached), other: await openBackend(reached) };
    }

    it('count a report once that is sent to both, also at the same time', async () => {
      const { one, other } = await pair();
      await createKey(one, key('a'));
      await Promise.all([one, other].map((backend) => backend.count(report('r', 'a', 3n), 'durable')));
      const again = await other.count(report('r', 'a', 3n), 'durable');
      expect(again).toMatchObject({ repeated: true, durability: 'durable' });
      await Promise.all([seesAll(one), seesAll(other)]);
      for (const { keys } of [one, other])
        expect(keys.get('a')?.counters).toMatchObject({ bytesUp: 3n, bytesDown: 3n });
    });

    it('remember as many reports as they shall, however often one is told again', async () => {
      const { url, one, other } = await pair();
      await createKey(one, key('a'));
      for (const id of ['r1', 'r2']) await one.count(report(id, 'a', 1n), 'durable');
      for (let n = 0; n < 5; n += 1) await other.count(report('r2', 'a', 1n), 'durable');
      await one.count(report('r3', 'a', 1n), 'durable');
      await query(url, forget(2, 0));
      expect(await query(url, 'select id from keyway.reports order by place')).toEqual([{ id: 'r2' }, { id: 'r3' }]);
    });

    it('remember a report for a day, however many come', async () => {
      const { url, one } = await pair();
      await createKey(one, key('a'));
      for (const id of ['old', 'young']) await one.count(report(id, 'a', 1n), 'durable');
      await query(url, "update keyway.reports set at = at - interval '23 hours 50 minutes'");
      await query(url, "update keyway.reports set at = at - interval '20 minutes' where id = 'old'");
      await query(url, forget(1_000, 0));
      expect(await query(url, 'select id from keyway.reports')).toEqual([{ id: 'young' }]);
    });

    it('have a key that two of them write at once as one of them wrote it, the same at both', async () => {
      const { one, other } = await pair();
      await createKey(one, key('a'));
      await seesAll(other);
      const writes = Array.from({ length: 40 }, (_, n) =>
        updateKey(n % 2 === 0 ? one : other, 'a', { name: `${n}`, limitBytes: BigInt(n) }),
      );
      await Promise.all(writes);
      await Promise.all([seesAll(one), seesAll(other)]);
      const [first, second] = [one, other].map(({ keys }) => keys.get('a'));
      expect(first?.name).toBe(`${first?.limitBytes}`);
      expect([second?.name, second?.limitBytes]).toEqual([first?.name, first?.limitBytes]);
    });

    it('make keys in bulk beside deletions, none lost and none back', async () => {
      const { one, other } = await pair();
      const made = await one.createBareKeys(Array.from({ length: 50 }, (_, n) => key(`b${n}`)));
      await seesAll(other);
      await Promise.all([
        ...made.slice(0, 25).map((accessKey) => deleteKey(other, accessKey)),
        one.createBareKeys(Array.from({ length: 50 }, (_, n) => key(`c${n}`))),
      ]);
      await Promise.all([seesAll(one), seesAll(other)]);
      expect([one.keys.size, other.keys.size]).toEqual([75, 75]);
      expect(one.keys.get('c0')?.counters).toBe(null);
    });

    it('end a session everywhere that another has replaced, and hold digests alone', async () => {
      const { url, one, other } = await pair();
      const [here, there] = [one.sessions?.('/api'), other.sessions?.('/api')];
      await here?.begin('first');
      expect(await there?.matches('first')).toBe(true);
      await there?.begin('second');
      expect(await here?.matches('second')).toBe(true);
      expect(await here?.matches('first')).toBe(false);
      const rows = await query(url, "select encode(digest, 'hex') as digest from keyway.sessions");
      expect(rows).toEqual([{ digest: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    });

    it('have one session of a mount where both begin one at the same time', async () => {
      const { one, other } = await pair();
      const tokens = Array.from({ length: 20 }, (_, n) => `token-${n}`);
      await Promise.all(tokens.map((token, n) => (n % 2 === 0 ? one : other).sessions?.('/api').begin(token)));
      await Promise.all([seesAll(one), seesAll(other)]);
      const held = await Promise.all(
        [one, other].map(async ({ sessions }) => {
          const matching = await Promise.all(tokens.map((token) => sessions?.('/api').matches(token)));
          return tokens.filter((_, n) => matching[n]);
        }),
      );
      expect(held[0]).toHaveLength(1);
      expect(held[1]).toEqual(held[0]);
    });

    it('add up what each counts, exactly, and both stop at 2^64-1', async () => {
      const { one, other } = await pair();
      await createKey(one, key('a', null, MAX_U64));
      await seesAll(other);
      const part = 2n ** 58n + 1n;
      const countAtOnce = (count: number, bytes: bigint, first: string) =>
        Promise.all(
          Array.from({ length: count }, (_, n) =>
            (n % 2 === 0 ? one : other).count(report(`${first}${n}`, 'a', bytes, MAX_U64), 'durable'),
          ),
        );
      await countAtOnce(30, part, 'r');
      await Promise.all([seesAll(one), seesAll(other)]);
      for (const { keys } of [one, other]) {
        expect(keys.get('a')).toMatchObject({
          limitBytes: MAX_U64,
          counters: { bytesUp: 30n * part, bytesDown: 30n * part },
        });
        // The sum of what each was told.
        expect(keys.get('a')?.counters?.connections).toBe(MAX_U64);
      }
      await countAtOnce(10, MAX_U64, 's');
      await one.count(report(null, 'a', MAX_U64), 'memory');
      await Promise.all([seesAll(one), seesAll(other)]);
      for (const { keys } of [one, other]) {
        expect(keys.get('a')).toMatchObject({ overLimit: true, counters: { bytesUp: MAX_U64, bytesDown: MAX_U64 } });
      }
    });

    it('have limits and counters of 2^64-1 exact on the wire, at the one and at the other', async () => {
      const { one, other } = await pair();
      const [here, there] = [await serve(one), await serve(other)];
      const largest = '18446744073709551615';
      await here('POST', '/users', `{"access_key":"a","limit_bytes":${largest}}`);
      await there('POST', '/users', '{"access_key":"b","limit_bytes":9007199254740993}');
      expect((await there('PUT', '/users/a/limit', '{"limit_bytes":18446744073709551616}')).status).toBe(400);
      await here('POST', '/users/bulk', `{"count":1,"limit_bytes":${largest}}`);
      await other.count(report(null, 'a', MAX_U64), 'durable');
      await Promise.all([seesAll(one), seesAll(other)]);
      for (const ask of [here, there]) {
        const { text } = await ask('GET', '/users');
        expect(text.match(/"limit_bytes":\d+/g)).toEqual([
          `"limit_bytes":${largest}`,
          '"limit_bytes":9007199254740993',
          `"limit_bytes":${largest}`,
        ]);
        expect(text).toContain(`"bytes_up":${largest},"bytes_down":${largest}`);
        expect((await ask('GET', '/server/config')).text).toContain(`"limit_bytes":${largest}`);
      }
    });
  });

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { WRITES } from '../../src/database/statements.js';
import { describeDatabase, freshDatabase, holding, query, waiting } from './database.js';
import { key, openBackend, report } from './gateways.js';

describeDatabase('writes that wait', () => {
  it('for one another hold up no report, however many they are', async () => {
    const url = await freshDatabase();
    const one = await openBackend(url);
    await one.createKey(key('a'));
    const release = await holding(url, "select from keyway.heads where name = 'state' for update");
    const created = Promise.all(Array.from({ length: 8 }, (_, n) => one.createBareKeys([key(`${n}`)])));
    await waiting(url, 5);
    await one.count(report('r', 'a', 1n), 'durable');
    await release();
    await created;
  });

  it('go over other connections once the database was not one to be used', async () => {
    const { url, one } = await stage();
    const saying = async (text: string) => {
      const asked = `select pid from pg_stat_activity where datname = current_database() and query like '%${text}%' and pid <> pg_backend_pid()`;
      return (await query(url, asked)).map(({ pid }) => pid);
    };
    const write = async () => {
      await one.count(report(null, 'a', 1n), 'durable');
      await one.createKey(key('d'));
      return { counting: await saying('count_usage'), creating: await saying('create_keys') };
    };
    const before = await write();
    await query(url, 'update keyway.schema_versions set version = 99, serves_from = 99');
    await expect.poll(() => one.problems()).toHaveLength(1);
    await query(url, 'update keyway.schema_versions set version = 1, serves_from = 1');
    await expect.poll(() => one.problems()).toEqual([]);
    const after = await write();
    expect(before).toEqual({ counting: [expect.any(Number)], creating: [expect.any(Number)] });
    expect(after.counting).not.toEqual(before.counting);
    expect(after.creating).not.toEqual(before.creating);
  });

  it('for counters are none where a configuration leaves their keys as they are', async () => {
    const { url, one, put } = await stage();
    const release = await holding(url, 'select from keyway.counters for update');
    await put(['b', 'c', 'a']);
    await put(['c', 'b', 'a', 'd']);
    await release();
    expect(one.keys.size).toBe(4);
  });

  it.each([
    'a configuration without keys',
    'creates of keys that are there',
  ] as const)('lock no counters against each other: %s, and what is counted of them', async (write) => {
    const { url, one } = await stage();
    const { state, countersMark } = one.status().seen;
    const content = randomUUID();
    await query(url, `insert into keyway.contents (id, content) values ('${content}', '')`);
    const statement =
      write === 'a configuration without keys'
        ? WRITES.putDocument({ expected: state, content, settings: {}, keys: [], version: null })
        : WRITES.createKeys(
            ['c', 'b', 'a'].map((name) => key(name, 'again')),
            true,
          );
    const keys = ['a', 'b', 'c'];
    const each = <T>(value: T): readonly T[] => keys.map(() => value);
    const counted = WRITES.countUsage({
      ...{ gateway: randomUUID(), seen: { state, countersMark }, reportIds: [], keys, incarnations: each(null) },
      ...{ up: each(1n), down: each(1n), connections: each(null) },
    });
    const release = await holding(url, "select from keyway.counters where access_key = 'b' for update");
    // Gateways wait for locks for so long only, and try again: here the database finds who has locked whom in, and ends one.
    const written = query(url, statement(randomUUID()));
    await waiting(url, 1);
    const batch = query(url, counted(randomUUID()));
    await waiting(url, 2);
    await release();
    expect(await Promise.all([written, batch])).toMatchObject([[{ outcome: 'done' }], [{ outcome: 'done' }]]);
  });
});

/** A gateway with three keys whose counters do not stand in their order. */
async function stage() {
  const url = await freshDatabase();
  const one = await openBackend(url);
  const put = (keys: readonly string[]) =>
    one.document.put(Buffer.from(JSON.stringify({ mode: 'server', access_keys: keys })));
  await put(['c', 'b', 'a']);
  return { url, one, put };
}

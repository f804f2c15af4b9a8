import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { arraysOf } from '../../../src/homes/database/key-columns.js';
import { forget, WRITES } from '../../../src/homes/database/statements.js';
import { createKey, deleteKey } from '../../ports/key-changes.js';
import { describeDatabase, freshDatabase, holding, query, waiting } from './database.js';
import { key, openBackend, report } from './gateways.js';

describeDatabase('writes that wait', () => {
  it('for one another hold up no report, however many they are', async () => {
    const url = await freshDatabase();
    const one = await openBackend(url);
    await createKey(one, key('a'));
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
      await createKey(one, key('d'));
      return { counting: await saying('count_usage'), creating: await saying('create_keys') };
    };
    const before = await write();
    await query(url, 'insert into keyway.schema_versions values (99, 99)');
    await expect.poll(() => one.problems()).toHaveLength(1);
    await query(url, 'delete from keyway.schema_versions where version = 99');
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

  it('are those of the state, while a configuration is replaced that they go on changing, and nothing else', async () => {
    const { url, one, put } = await stage();
    const release = await holding(url, 'select keyway.hold_changes()');
    const created = createKey(one, key('d'));
    await waiting(url, 1);
    await one.count(report('r', 'a', 1n), 'durable');
    await put(['a']);
    expect([...one.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['a']);
    await release();
    await created;
    expect(one.keys.size).toBe(2);
  });

  it('are no reason to refuse a configuration, however many come while it is replaced', async () => {
    const { url, one } = await stage();
    const other = await openBackend(url);
    let isOver = false;
    const creating = (async () => {
      for (let n = 0; !isOver; n += 1) await createKey(other, key(`beside-${n}`));
    })();
    const names = ['d', 'e', 'f', 'g'];
    for (const name of names)
      await one.document.replace(Buffer.from(JSON.stringify({ mode: 'server', access_keys: [name] })));
    isOver = true;
    await creating;
    expect(one.keys.get('g')).toBeDefined();
    expect(one.keys.get('f')).toBeUndefined();
    expect(await one.document.versions.list()).toHaveLength(1 + names.length);
  });

  it('are never waited for by what forgets, which could lock them in: it leaves what they hold to the next time', async () => {
    const { url, one, put } = await stage();
    for (const name of ['c', 'b']) await deleteKey(one, name);
    await put([]);
    await createKey(one, key('new'));
    const old = "clock_timestamp() - interval '40 days'";
    await query(
      url,
      `update keyway.operations set at = ${old}; update keyway.counters set left_at = ${old} where access_key = 'a'`,
    );
    const [held, free] = [randomUUID(), randomUUID()];
    await query(url, `insert into keyway.gateways values ('${held}', ${old}), ('${free}', ${old})`);
    await query(url, `insert into keyway.connections values (1, '${held}', 1), (2, '${held}', 1), (2, '${free}', 1)`);
    await query(url, `insert into keyway.reports (id, at) values ('r1', ${old}), ('r2', ${old})`);
    const locks = [
      "select from keyway.keys where access_key = 'b' for update",
      "select from keyway.counters where access_key = 'a' for update",
      `select from keyway.connections where id = 1 and gateway = '${held}' for update`,
    ];
    const forgetNow = () => query(url, `set local lock_timeout = 1; ${forget(10, 0)}`);
    const left = async () => {
      const asked = `select (select array_agg(access_key order by access_key) from keyway.keys where removed) as keys,
        (select array_agg(id order by id) from keyway.reports) as reports,
        (select count(*)::int from keyway.counters where access_key = 'a') as counters,
        (select array_agg(id order by id) from keyway.gateways where id in ('${held}', '${free}')) as gateways,
        (select count(*)::int from keyway.connections) as connections`;
      return (await query(url, asked))[0];
    };
    const importIsOver = await holding(url, 'select keyway.hold_forgetting()');
    await forgetNow();
    expect(await left()).toMatchObject({ keys: ['a', 'b', 'c'], reports: ['r1', 'r2'] });
    await importIsOver();
    const releases = await Promise.all(locks.map((lock) => holding(url, lock)));
    await forgetNow();
    expect(await left()).toEqual({
      keys: ['b'],
      reports: null,
      counters: 1,
      gateways: [held, free].sort(),
      connections: 3,
    });
    for (const release of releases) await release();
    await createKey(one, key('newer'));
    await query(url, `update keyway.operations set at = ${old}`);
    await forgetNow();
    expect(await left()).toEqual({ keys: null, reports: null, counters: 0, gateways: null, connections: 0 });
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
        ? WRITES.putDocument({ expected: state, content, settings: {}, keys: arraysOf([]), version: null })
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

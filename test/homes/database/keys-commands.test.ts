import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { keyDigest } from '../../../src/core/key-digest.js';
import { WRITES } from '../../../src/homes/database/statements.js';
import { runHere } from '../../commands/context.js';
import { someOf } from '../../whole.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { openBackend, report } from './gateways.js';

const KEYS = Array.from({ length: 300 }, (_, n) => ({
  access_key: `key-${String(n).padStart(3, '0')}`,
  name: `user ${n}`,
}));

/** A database that holds a configuration with these keys, which no gateway serves. */
async function stage() {
  const url = await freshDatabase();
  const backend = await openBackend(url);
  await backend.document.put(Buffer.from(JSON.stringify({ mode: 'server', access_keys: KEYS })));
  await backend.close();
  const run = (...argv: readonly string[]) => runHere(['keys', ...argv], { environment: { KEYWAY_DATABASE_URL: url } });
  return { url, run };
}

/** Resolves to what `work` does, with the distinct keys of the rows that the database answers meanwhile. */
async function keysReadBy<T>(work: () => Promise<T>): Promise<{ readonly done: T; readonly read: readonly string[] }> {
  const asked = vi.spyOn(pg.Client.prototype, 'query');
  const done = await work();
  // Without a callback it answers with a promise, which its last overload does not say.
  const results = asked.mock.results.map(({ value }) => value as unknown as Promise<pg.QueryArrayResult>);
  const answers = (await Promise.allSettled(results)).flatMap((each) =>
    each.status === 'fulfilled' ? each.value : [],
  );
  asked.mockRestore();
  const cells = answers.flatMap((answer) => answer?.rows ?? []).flatMap((row) => Object.values(row).map(String));
  return { done, read: [...new Set(cells)].filter((cell) => cell.startsWith('key-')).sort() };
}

describeDatabase('keyway keys over a database', () => {
  it.each(
    someOf(
      [
        [['list', 'key-00'], KEYS.slice(0, 10).map(({ access_key: key }) => key)],
        [['list', keyDigest('key-042')], ['key-042']],
        [['link', 'user 299'], ['key-299']],
        [['add', 'user 7'], ['key-007']],
        [['add', 'Anna', '--key', 'key-new'], ['key-new']],
        [
          ['set', 'key-007', 'user 8', '--limit', '10GB'],
          ['key-007', 'key-008'],
        ],
        [['reset', 'user 7'], ['key-007']],
        [['remove', 'key-007'], ['key-007']],
      ],
      3,
    ),
  )('%j reads its keys alone', async (argv, expected) => {
    const { run } = await stage();
    const { done, read } = await keysReadBy(() => run(...argv));
    expect(done).toMatchObject({ code: 0 });
    expect(read).toEqual(expected);
  });

  it('rotates one key, and keeps a version with all of them before', async () => {
    const { url, run } = await stage();
    const before = await openBackend(url);
    await before.count(report('r', 'key-007', 5n), 'durable');
    await before.close();
    await query(url, WRITES.changeRecords([{ kind: 'notes', id: 'key-001', body: '"mine"' }])(crypto.randomUUID()));
    const rotated = await run('rotate', 'user 7');
    const backend = await openBackend(url);
    expect(backend.keys.get('key-007')).toBeUndefined();
    expect(backend.keys.get(rotated.output.trim())).toMatchObject({ name: 'user 7', counters: { bytesUp: 5n } });
    const [newest] = (await backend.document.versions.list()).slice(-1);
    const kept = JSON.parse((await backend.document.versions.read(newest?.id ?? '')).toString());
    expect(kept.access_keys).toEqual(KEYS);
    expect(backend.records.of('notes').get('key-001')).toBe('"mine"');
  });

  it('leaves batches, rotations and events of all keys to the gateways', async () => {
    const { url, run } = await stage();
    expect(await run('set', 'key-007', '--limit', '10GB')).toMatchObject({ code: 0 });
    expect(await query(url, "select id from keyway.kept_records where id = 'lease'")).toEqual([]);
  });

  it('tells the gateway to come who rotated a key, unless a thousand of them wait for it', async () => {
    const { url, run } = await stage();
    const told = () => query(url, "select body from keyway.kept_records where id like 'by/%'");
    await run('rotate', 'key-007');
    expect(await told()).toEqual([{ body: '{"key-007":"terminal"}' }]);
    const others = Array.from({ length: 999 }, (_, n) => ({ kind: 'events', id: `by/${n}`, body: '{}' }) as const);
    await query(url, WRITES.changeRecords(others)(crypto.randomUUID()));
    await run('rotate', 'key-008');
    expect(await told()).toHaveLength(1_000);
  });

  it('shows traffic and connections of the keys that it lists', async () => {
    const { url, run } = await stage();
    await (await openBackend(url)).count(report('r', 'key-007', 5n, 2n), 'durable');
    const [listed] = JSON.parse((await run('list', 'key-007', '--json')).output);
    expect(listed).toMatchObject({ bytes_up: 5, connections: 2, online: true });
  });

  it('names the nearest of all keys where there is none of that name', async () => {
    const { run } = await stage();
    const { code, complaints } = await run('remove', 'user 7', 'usr 12');
    expect({ code, complaints }).toMatchObject({ code: 1, complaints: expect.stringContaining('did you mean "user ') });
  });
});

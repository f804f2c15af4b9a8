import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { forget } from '../../../src/homes/database/statements.js';
import { createKey, deleteKey, resetKey, updateKey } from '../../ports/key-changes.js';
import { bareDatabase, describeDatabase, freshDatabase, query } from './database.js';
import { key, openBackend, report, seesAll } from './gateways.js';
import { poolerForTest } from './pooler.js';
import { proxyForTest } from './proxy.js';

async function pair() {
  const url = await freshDatabase();
  return { url, one: await openBackend(url), other: await openBackend(url) };
}

describeDatabase('two gateways over one database', () => {
  it('show each other what was written, at once where it was and at a hint elsewhere', async () => {
    const url = await freshDatabase();
    // Only a hint makes them look.
    const hinted = { pollMilliseconds: 600_000 };
    const [one, other] = [await openBackend(url, hinted), await openBackend(url, hinted)];
    for (const backend of [one, other]) await expect.poll(() => backend.status().isListening).toBe(true);
    await createKey(one, key('a', 'n', 5n));
    expect(one.keys.get('a')).toMatchObject({ name: 'n', limitBytes: 5n, counters: { bytesUp: 0n } });
    await expect.poll(() => other.keys.get('a')?.name).toBe('n');
    await updateKey(other, 'a', { limitBytes: 7n });
    await expect.poll(() => one.keys.get('a')?.limitBytes).toBe(7n);
    await deleteKey(one, 'a');
    await expect.poll(() => other.keys.get('a')).toBe(undefined);
  });

  it('look a key up in the database that they do not know, once for all who ask', async () => {
    const url = await freshDatabase();
    const one = await openBackend(url);
    const other = await openBackend(url, { pollMilliseconds: 60_000, listens: false });
    await createKey(one, key('a'));
    const { looks } = other.status();
    const found = await Promise.all(Array.from({ length: 20 }, () => other.live?.key('a')));
    expect(found.map((entry) => entry?.accessKey)).toEqual(Array(20).fill('a'));
    expect(other.status().looks - looks).toBeLessThanOrEqual(2);
  });

  it('list equal keys in the same order, whoever made them', async () => {
    const { one, other } = await pair();
    await Promise.all(Array.from({ length: 40 }, (_, n) => createKey(n % 2 === 0 ? one : other, key(`k${n}`))));
    await deleteKey(other, 'k7');
    await createKey(one, key('k7'));
    await Promise.all([seesAll(one), seesAll(other)]);
    const listed = [one, other].map(({ keys }) => keys.ordered().map(({ accessKey }) => accessKey));
    expect(listed[0]).toHaveLength(40);
    expect(listed[0]).toEqual(listed[1]);
    expect(listed[0]?.at(-1)).toBe('k7');
  });

  it('say which keys of a report were not registered, each of its own report', async () => {
    const { one } = await pair();
    await createKey(one, key('a'));
    const entries = ['a', 'x', 'y'].map((accessKey) => ({ accessKey, bytesUp: 1n, bytesDown: 0n, connections: null }));
    const [first, second] = await Promise.all([
      one.count({ id: 'r1', entries }, 'durable'),
      one.count({ id: 'r2', entries: entries.slice(0, 2) }, 'durable'),
    ]);
    expect([first.unknownKeys, second.unknownKeys]).toEqual([['x', 'y'], ['x']]);
    await expect.poll(() => one.keys.get('a')?.counters?.bytesUp).toBe(2n);
  });

  it('make the schema once where they start at the same time', async () => {
    const url = await bareDatabase();
    const all = await Promise.all([openBackend(url), openBackend(url), openBackend(url)] as const);
    await createKey(all[0], key('a'));
    await Promise.all(all.map(seesAll));
    expect(all.map(({ keys }) => keys.size)).toEqual([1, 1, 1]);
    expect(await query(url, 'select version from keyway.schema_versions')).toEqual(
      [1, 2, 3].map((version) => ({ version })),
    );
  });

  it('count what was acknowledged from memory only as the key was then', async () => {
    const { one, other } = await pair();
    await createKey(one, key('a'));
    await seesAll(other);
    await other.count(report(null, 'a', 5n), 'memory');
    await expect.poll(() => other.keys.get('a')?.counters?.bytesUp).toBe(5n);
    await resetKey(one, 'a');
    await seesAll(other);
    expect(other.keys.get('a')?.counters?.bytesUp).toBe(0n);
  });

  it('have the audit list in common, of 100 entries', async () => {
    const { one, other } = await pair();
    const add = (n: number) => (n % 2 === 0 ? one : other).audit?.add({ eventEn: `${n}`, eventRu: '', success: true });
    await Promise.all(Array.from({ length: 100 }, (_, n) => add(n)));
    for (const n of [100, 101]) await add(n);
    await Promise.all([seesAll(one), seesAll(other)]);
    const lists = [await one.audit?.list(), await other.audit?.list()];
    expect(lists[0]).toHaveLength(100);
    expect(lists[0]?.[0]?.eventEn).toBe('101');
    expect(lists[0]).toEqual(lists[1]);
    await other.audit?.clear();
    await seesAll(one);
    expect(await one.audit?.list()).toEqual([]);
  });

  it('keep a configuration as it was put, with what was changed since, and its versions', async () => {
    const { one, other } = await pair();
    const text = '{\n  // ours\n  "mode": "server",\n  "access_keys": ["a", "b"],\n  "other": [1.50]\n}\n';
    await one.document.put(Buffer.from(text));
    expect((await one.document.text()).toString()).toBe(text);
    await deleteKey(other, 'a');
    await createKey(other, key('c'));
    await one.changeDns({ enabled: true });
    const changed = (await other.document.text()).toString();
    expect(changed).toContain('// ours');
    expect(JSON.parse((await one.document.read()).toString())).toEqual({
      mode: 'server',
      access_keys: ['b', 'c'],
      other: [1.5],
      dns: { enabled: true },
    });
    await one.document.replace(Buffer.from('{"mode":"server","access_keys":["z"]}'));
    const versions = await other.document.versions.list();
    const restored = await other.document.restore(versions.at(-1)?.id ?? '');
    expect(restored.id).toBe(versions.at(-1)?.id);
    await expect(other.document.versions.read('forgotten')).rejects.toThrow('is no longer kept');
    expect((await one.document.text()).toString()).toBe(changed);
    await seesAll(one);
    expect([...one.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['b', 'c']);
  });

  it('keep a version before something is taken away, where something was added since the newest one', async () => {
    const { one, other } = await pair();
    await one.document.put(Buffer.from('{"mode":"server","access_keys":["a"]}'));
    await createKey(one, key('b'));
    await deleteKey(one, 'b');
    await deleteKey(one, 'a');
    await seesAll(other);
    const newest = async () => {
      const [version] = (await one.document.versions.list()).slice(-1);
      return JSON.parse((await one.document.versions.read(version?.id ?? '')).toString());
    };
    expect(await newest()).toMatchObject({ access_keys: ['a', 'b'] });
    await other.changeDns({ enabled: true });
    await one.changes.apply([{ op: 'create', key: key('c') }], { note: 'x', refuses: false });
    await seesAll(other);
    await other.document.restore((await one.document.versions.list()).at(-1)?.id ?? '');
    expect(await newest()).toMatchObject({ access_keys: ['c'], dns: { enabled: true } });
  });

  it('keep a version before a key is removed that another has just made', async () => {
    const url = await freshDatabase();
    const one = await openBackend(url);
    const other = await openBackend(url, { pollMilliseconds: 600_000, listens: false });
    await createKey(one, key('a', 'its name'));
    await deleteKey(other, 'a');
    const [version] = await other.document.versions.list();
    expect((await other.document.versions.read(version?.id ?? '')).toString()).toContain('its name');
  });

  it('take a key that goes out of a root list beside the inbounds, too, from which a server would bring it back', async () => {
    const { one, other } = await pair();
    const inbounds = [{ protocol: 'ostp', tag: 'in', listen: '0.0.0.0', port: 1, users: [{ key: 'a' }, { key: 'b' }] }];
    await one.document.put(Buffer.from(JSON.stringify({ mode: 'server', inbounds, access_keys: ['a', 'b'] })));
    await deleteKey(other, 'a');
    expect(JSON.parse((await one.document.text()).toString())).toMatchObject({
      inbounds: [{ users: [{ key: 'b' }] }],
      access_keys: ['b'],
    });
  });

  it('bring a key that the configuration has back with the counters that it had', async () => {
    const { one, other } = await pair();
    await one.document.put(Buffer.from('{"mode":"server","access_keys":["a"]}'));
    await one.count(report(null, 'a', 4n, 2n), 'durable');
    await one.document.put(Buffer.from('{"mode":"server","access_keys":[]}'));
    await seesAll(other);
    expect(other.keys.size).toBe(0);
    await other.document.put(Buffer.from('{"mode":"server","access_keys":["a"]}'));
    for (const { keys } of [one, other]) {
      await expect.poll(() => keys.get('a')?.counters?.bytesUp).toBe(4n);
    }
  });

  it('refuse what PostgreSQL cannot hold, and say what', async () => {
    const { one } = await pair();
    await expect(createKey(one, key('a\0'))).rejects.toMatchObject({ code: 'invalidBody', detail: /access_key/ });
    await expect(createKey(one, key('a', 'n\0'))).rejects.toMatchObject({ code: 'invalidBody', detail: /name/ });
    await expect(createKey(one, key('é'.repeat(1341)))).rejects.toMatchObject({ code: 'invalidBody' });
    await createKey(one, key('é'.repeat(1340)));
    expect(one.keys.size).toBe(1);
    const event = { eventEn: 'e', eventRu: 'r', success: true };
    for (const member of ['eventEn', 'eventRu'])
      await expect(one.audit?.add({ ...event, [member]: '\0' })).rejects.toMatchObject({
        code: 'invalidBody',
        detail: `${member}: expected texts without U+0000`,
      });
    const replacements = {
      outbound: '{"enabled":true,"rules":[{"domain_suffix":["\\u0000"],"action":"direct"}]}',
      dns: '{"enabled":false,"doh_upstream":"\\u0000"}',
      api: '{"enabled":true,"token":"\\u0000"}',
      listen: '"\\u0000:1"',
    };
    for (const [member, value] of Object.entries(replacements))
      await expect(one.document.replace(Buffer.from(`{"mode":"server","${member}":${value}}`))).rejects.toMatchObject({
        code: 'configFormatFailed',
        detail: `${member}: expected texts without U+0000`,
      });
    expect(one.status().writes).toMatchObject({ done: 1, nothing: 0, unknown: 0 });
  });

  it('hold a key as long as they take one, with its records, although nothing in it can be compressed', async () => {
    const { one } = await pair();
    const longest = randomBytes(1340).toString('hex');
    await createKey(one, key(longest));
    const kinds = ['notes', 'makers', 'rotations', 'addresses'] as const;
    const records = kinds.map((kind) => ({ kind, id: longest, body: '1' }));
    expect(await one.records.change(records)).toBe(true);
    await expect(createKey(one, key(`${longest}0`))).rejects.toMatchObject({ code: 'invalidBody' });
    expect(await one.problems()).toEqual([]);
  });

  it('hold a text that only spells U+0000', async () => {
    const { one } = await pair();
    await one.document.put(Buffer.from('{"mode":"server","outbound":{"enabled":true,"rules":[]}}'));
    const rule = { domainSuffix: ['\\u0000'], ipCidr: [], protocol: null, action: 'direct' as const };
    await one.replaceRules([rule]);
    expect(one.settings().outbound?.rules).toEqual([rule]);
  });
});

describeDatabase('a gateway whose connection goes wrong', () => {
  it.each(['before', 'after'] as const)('makes a key once where it is cut %s the commit', async (when) => {
    const url = await freshDatabase();
    const proxy = await proxyForTest(url);
    const backend = await openBackend(proxy.url);
    proxy.cutAround('create_keys', when);
    await createKey(backend, key('a', 'n'));
    expect(backend.keys.get('a')?.name).toBe('n');
    expect(
      await query(url, "select count(*)::int as n from keyway.operations where outcome = 'done' and number > 0"),
    ).toEqual([{ n: 1 }]);
  });

  it.each(['before', 'after'] as const)('counts a report once where it is cut %s the commit', async (when) => {
    const url = await freshDatabase();
    const proxy = await proxyForTest(url);
    const backend = await openBackend(proxy.url);
    await createKey(backend, key('a'));
    for (const acknowledgement of ['durable', 'memory'] as const) {
      proxy.cutAround('count_usage', when);
      await backend.count(report(null, 'a', 1n), acknowledgement);
    }
    await expect.poll(() => backend.keys.get('a')?.counters?.bytesUp).toBe(2n);
  });

  it('counts a batch once of which it hears only when the others have forgotten it', async () => {
    const url = await freshDatabase();
    const proxy = await proxyForTest(url);
    const [backend, other] = [await openBackend(proxy.url, { listens: false }), await openBackend(url)];
    await createKey(backend, key('a'));
    await seesAll(other);
    proxy.cutAround('count_usage', 'for good');
    await backend.count(report(null, 'a', 1n), 'memory');
    await expect.poll(() => other.keys.get('a')?.counters?.bytesUp).toBe(1n);
    await other.count(report(null, 'a', 2n), 'durable');
    await query(url, "update keyway.batches set at = at - interval '10 minutes'");
    await other.count(report(null, 'a', 4n), 'durable');
    await query(url, forget(100, 0));
    proxy.refuse(false);
    await expect.poll(() => backend.status().counting.waitingBytes).toBe(0);
    await seesAll(backend);
    expect(backend.keys.get('a')?.counters?.bytesUp).toBe(7n);
  });

  it('tells no replacement of the configuration as failed that is committed, whatever goes wrong behind it', async () => {
    const proxy = await proxyForTest(await freshDatabase());
    const backend = await openBackend(proxy.url);
    proxy.cutAround('order by kept_at', 'before');
    await backend.document.replace(Buffer.from('{"mode":"server","access_keys":["a"]}'));
    expect(backend.keys.size).toBe(1);
    expect(await backend.document.versions.list()).toHaveLength(1);
  });

  it('says which keys of a report were not registered where it is cut after the commit', async () => {
    const proxy = await proxyForTest(await freshDatabase());
    const backend = await openBackend(proxy.url);
    proxy.cutAround('count_usage', 'after');
    expect(await backend.count(report('r', 'nobody', 1n), 'durable')).toMatchObject({ unknownKeys: ['nobody'] });
  });

  it('refuses writes at once while nobody is there, serves what it knows as long as it may, and comes back by itself', async () => {
    const proxy = await proxyForTest(await freshDatabase());
    const backend = await openBackend(proxy.url, { stale: 400 });
    await createKey(backend, key('a', 'n'));
    proxy.refuse(true);
    await expect.poll(() => backend.problems()).toHaveLength(1);
    await expect(createKey(backend, key('b'))).rejects.toMatchObject({ code: 'saveFailed' });
    await expect(backend.audit?.add({ eventEn: '', eventRu: '', success: true })).rejects.toMatchObject({
      code: 'backendAway',
    });
    await expect(backend.sessions?.('/api').begin('t')).rejects.toMatchObject({ code: 'backendAway' });
    await expect(backend.count(report('r', 'a', 1n), 'durable')).rejects.toMatchObject({ code: 'backendAway' });
    await expect(backend.document.read()).rejects.toMatchObject({ code: 'configReadFailed' });
    await expect(backend.document.replace(Buffer.from('{"mode":"server"}'))).rejects.toMatchObject({
      code: 'configWriteFailed',
    });
    expect(await backend.replica?.find('a')).toMatchObject({ name: 'n' });
    await expect.poll(() => tryTo(() => backend.live?.key('a'))).toBe('backendAway');
    expect(tryTo(() => backend.live?.status())).toBe('backendAway');
    expect(await backend.replica?.find('a')).toMatchObject({ name: 'n' });
    await expect(backend.replica?.find('nobody')).rejects.toMatchObject({ code: 'backendAway' });
    expect(await backend.problems()).toMatchObject([{ problem: 'database_away' }]);
    proxy.refuse(false);
    await expect.poll(() => backend.problems()).toEqual([]);
    await createKey(backend, key('b'));
    expect(backend.keys.size).toBe(2);
  });

  it('tells a stranger nothing of where the database is', async () => {
    const proxy = await proxyForTest(await freshDatabase());
    const backend = await openBackend(proxy.url);
    proxy.refuse(true);
    await expect.poll(() => backend.problems()).toHaveLength(1);
    const detail = 'the database did not answer';
    for (const asked of [
      () => backend.replica?.find('nobody'),
      () => backend.sessions?.('/api').matches('token'),
      () => backend.sessions?.('/api').begin('token'),
      () => backend.audit?.add({ eventEn: '', eventRu: '', success: true }),
    ])
      await expect(asked()).rejects.toMatchObject({ code: 'backendAway', detail });
  });

  it('says once that it hears no hints, and goes on without', async () => {
    const said: unknown[] = [];
    const log = { debug() {}, info() {}, error() {}, warn: (fields: unknown, text: string) => said.push(fields, text) };
    const url = await freshDatabase();
    const [one, other] = [
      await openBackend(url),
      await openBackend(url, { log, listenUrl: 'postgres://127.0.0.1:9/x' }),
    ];
    await expect.poll(() => said).toHaveLength(2);
    expect(said).toEqual([{ reason: expect.stringContaining('ECONNREFUSED') }, expect.stringContaining('no hints')]);
    await createKey(one, key('a'));
    await expect.poll(() => other.keys.get('a')?.accessKey).toBe('a');
  });

  it('asks on other connections where the database is not one that it may use: its name may lead elsewhere by now', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url, { listens: false });
    await query(url, 'insert into keyway.schema_versions (version, serves_from) values (9, 9)');
    await expect.poll(() => backend.problems()).toHaveLength(1);
    const name = new URL(url).pathname.slice(1);
    const asking = async () => {
      const rows = await query(
        url,
        `select pid from pg_stat_activity where datname = '${name}' and application_name ~ '^keyway( [^ ]+)?$'`,
      );
      return rows.map(({ pid }) => Number(pid));
    };
    const before = await asking();
    await expect.poll(async () => (await asking()).filter((pid) => before.includes(pid))).toEqual([]);
    await query(url, 'delete from keyway.schema_versions where version = 9');
    await expect.poll(() => backend.problems()).toEqual([]);
    await createKey(backend, key('a'));
  });

  it('closes while nothing reaches the database any more, and nobody is told', async () => {
    const proxy = await proxyForTest(await freshDatabase());
    const one = await openBackend(proxy.url, { pollMilliseconds: 600_000 });
    await expect.poll(() => one.status().isListening).toBe(true);
    proxy.hang('both');
    let isClosed = false;
    const closed = one.close().then(() => {
      isClosed = true;
    });
    try {
      await expect.poll(() => isClosed).toBe(true);
    } finally {
      proxy.hang(null);
      await closed;
    }
  });

  it('sees changes by looking now and then where hints are swallowed', async () => {
    const url = await freshDatabase();
    const proxy = await proxyForTest(url);
    const [one, other] = [await openBackend(url), await openBackend(proxy.url)];
    await expect.poll(() => other.status().isListening).toBe(true);
    proxy.swallowHints(true);
    await createKey(one, key('a'));
    await expect.poll(() => other.keys.get('a')?.accessKey).toBe('a');
  });

  it('reads everything anew, and says so, where an older copy of the database is in its place', async () => {
    const url = await freshDatabase();
    const said: string[] = [];
    const log = { debug() {}, info() {}, error() {}, warn: (_: unknown, text: string) => said.push(text) };
    const backend = await openBackend(url, { log });
    const name = new URL(url).pathname.slice(1);
    await createKey(backend, key('old'));
    await backend.count(report('r', 'old', 1n), 'durable');
    const admin = new URL(url);
    admin.pathname = '/postgres';
    const copy = async (from: string, to: string) => {
      await query(admin.href, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${from}'`);
      await query(admin.href, `create database ${to} template ${from}`);
    };
    await expect
      .poll(() =>
        copy(name, `${name}_copy`).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await expect
      .poll(() =>
        createKey(backend, key('lost')).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await query(admin.href, `drop database ${name} with (force)`);
    await query(admin.href, `alter database ${name}_copy rename to ${name}`);
    await expect.poll(() => backend.keys.get('lost')).toBe(undefined);
    expect([...backend.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['old']);
    expect(said.join()).toContain('has lost writes');
    await createKey(backend, key('new'));
    expect(backend.keys.size).toBe(2);
  });

  it('works through a pooler that gives every transaction another connection', async () => {
    const url = await freshDatabase();
    const pooled = await poolerForTest(url);
    const [one, other] = [await openBackend(pooled), await openBackend(pooled, { listenUrl: url })];
    await createKey(one, key('a'));
    await other.count(report('r', 'a', 2n), 'durable');
    await one.document.put(Buffer.from('{"mode":"server","access_keys":["a","b"]}'));
    await seesAll(other);
    expect([...other.keys.entries()].map(({ accessKey, counters }) => [accessKey, counters?.bytesUp])).toEqual([
      ['a', 2n],
      ['b', 0n],
    ]);
    await expect.poll(() => other.status().isListening).toBe(true);
    expect(one.status().isListening).toBe(false);
  });
});

/** The code of what it fails with, else its value. */
function tryTo(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
}

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { LogPort } from '../../../src/core/ports.js';
import { withColumns } from '../../../src/homes/database/key-columns.js';
import { runHere } from '../../commands/context.js';
import { bareDatabase, describeDatabase, freshDatabase, query } from './database.js';
import { openBackend, seesAll } from './gateways.js';

const key = (accessKey: string) => ({ accessKey, name: null, limitBytes: null });

/** A newer Keyway has brought the schema up to a version; `from` is the oldest one that may go on. */
const bringTo = (url: string, version: number, from: number) =>
  query(url, `insert into keyway.schema_versions (version, serves_from) values (${version}, ${from})`);

async function made(): Promise<string> {
  const url = await freshDatabase();
  await (await openBackend(url)).close();
  return url;
}

describeDatabase('a Keyway over a schema of another version', () => {
  it('serves a newer one that says that it may, by the newest version there is', async () => {
    const url = await made();
    await bringTo(url, 3, 3);
    await bringTo(url, 4, 1);
    const backend = await openBackend(url);
    await backend.createKey(key('a'));
    expect(await backend.problems()).toEqual([]);
    const { code, output } = await runHere(['database', 'migrate'], {
      folder: '/',
      environment: { KEYWAY_DATABASE_URL: url },
    });
    expect([code, output]).toEqual([0, expect.stringContaining('nothing to do')]);
  });

  it('refuses one that is too new for it, at the start and where it is to bring it up to date', async () => {
    const url = await made();
    await bringTo(url, 4, 3);
    const words = "the database's schema is of version 4, which this Keyway is too old for: it knows version 2";
    await expect(openBackend(url)).rejects.toThrow(words);
    await expect(openBackend(url, { migrates: false })).rejects.toThrow(words);
    const migrating = await runHere(['database', 'migrate'], {
      folder: '/',
      environment: { KEYWAY_DATABASE_URL: url },
    });
    expect(migrating).toMatchObject({ code: 1, complaints: expect.stringContaining(words) });
  });

  it('refuses one that is too old where it may not bring it up to date', async () => {
    const url = await made();
    await query(url, 'update keyway.schema_versions set version = version - 2, serves_from = 0');
    await expect(openBackend(url, { migrates: false })).rejects.toThrow('and this Keyway needs version 2: run');
  });

  it('goes on while it runs and another brings up a version beside which it may', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    await bringTo(url, 3, 1);
    await backend.createKey(key('a'));
    await expect.poll(() => backend.status().looks).toBeGreaterThan(5);
    expect(await backend.problems()).toEqual([]);
  });

  it('writes nothing more where it may not, shows what it knows for as long as while nobody answers, and comes back', async () => {
    const url = await freshDatabase();
    const said: string[] = [];
    const log: LogPort = { debug() {}, info() {}, warn() {}, error: (_, text) => said.push(text) };
    const backend = await openBackend(url, { stale: 500, log });
    await backend.createKey(key('a'));
    await bringTo(url, 3, 3);
    await expect
      .poll(() => backend.problems())
      .toEqual([{ problem: 'database_away', reason: expect.stringContaining('this Keyway is too old for') }]);
    const report = { id: 'r', entries: [{ accessKey: 'a', bytesUp: 1n, bytesDown: 1n, connections: null }] };
    await expect(backend.createKey(key('b'))).rejects.toMatchObject({ code: 'saveFailed' });
    await expect(backend.count(report, 'durable')).rejects.toMatchObject({
      code: 'backendAway',
      detail: /too old for/,
    });
    await expect(backend.document.replace(Buffer.from('{"mode":"server"}'))).rejects.toMatchObject({
      code: /config(Read|Write)Failed/,
    });
    await backend.count({ ...report, id: null }, 'memory');
    await expect.poll(() => tryTo(() => backend.live?.status())).toMatch('too old for');
    expect(await backend.replica?.find('a')).toMatchObject({ accessKey: 'a' });
    expect(await query(url, 'select access_key, bytes_up from keyway.counters')).toEqual([
      { access_key: 'a', bytes_up: '0' },
    ]);
    expect(said).toContain('the database is not one that this Keyway may use; what was last known is served meanwhile');

    await query(url, 'delete from keyway.schema_versions where version = 3');
    await expect.poll(() => backend.problems()).toEqual([]);
    await expect.poll(() => backend.keys.get('a')?.counters?.bytesUp).toBe(1n);
    await backend.createKey(key('b'));
  });
});

/** SHA-256 of each file of the schema that was ever landed: a database that has its version has just this. */
const LANDED = {
  '001-state.sql': 'f1b410ba91f5e381e4ac38eb702107f23a3366f928bd610e5c51d67838f4ee18',
  '002-own-records.sql': '94b9589c14aaf77e2b4cfe25ca00d1f2653b2e7e38a2cea574efd84af8d48afc',
};

const schemaFile = (name: string) =>
  readFile(new URL(`../../../src/homes/database/schema/${name}`, import.meta.url), 'utf8');

it('a file of the schema that was landed stays as it is: what is new is a new file', async () => {
  for (const [name, digest] of Object.entries(LANDED))
    expect([
      name,
      createHash('sha256')
        .update(await schemaFile(name))
        .digest('hex'),
    ]).toEqual([name, digest]);
});

/** A database as the Keyway of version 1 made it, with one key. */
async function ofVersionOne(): Promise<string> {
  const url = await bareDatabase();
  await query(
    url,
    `create schema keyway; create table keyway.schema_versions
      (version integer primary key, serves_from integer not null, applied_at timestamptz not null default now());
      ${withColumns(await schemaFile('001-state.sql'))}`,
  );
  await bringTo(url, 1, 1);
  await query(url, OLD_CREATE);
  return url;
}

/** As the Keyway of version 1 makes a key. */
const OLD_CREATE =
  "select * from keyway.create_keys(gen_random_uuid(), array['old'], array['Old'], array[5::numeric], true)";

describeDatabase('a database of version 1', () => {
  it('is brought up to date with what it holds, and keeps records and batches from then on', async () => {
    const url = await ofVersionOne();
    const backend = await openBackend(url);
    expect(backend.keys.get('old')).toMatchObject({ name: 'Old', limitBytes: 5n });
    expect(await backend.records.change([{ kind: 'tokens', id: 'a', body: '1' }])).toBe(true);
    const create = { op: 'create', key: key('new') } as const;
    expect(await backend.batches?.apply([create], 'note')).toEqual([null]);
    expect(await query(url, 'select version, serves_from from keyway.schema_versions order by version')).toEqual([
      { version: 1, serves_from: 1 },
      { version: 2, serves_from: 1 },
    ]);
  });

  it('that has tables of version 2 already, from a Keyway between two releases, loses nothing of them', async () => {
    const url = await made();
    await query(url, "insert into keyway.kept_records values ('tokens', 'a', '1', 1)");
    await query(url, 'delete from keyway.schema_versions where version = 2');
    const backend = await openBackend(url);
    expect([...backend.records.of('tokens')]).toEqual([['a', '1']]);
  });

  it('goes on being changed by the Keyway of version 1 beside a newer one, which sees that', async () => {
    const url = await ofVersionOne();
    const backend = await openBackend(url);
    await backend.createKey(key('new'));
    await query(url, OLD_CREATE.replace("'old'", "'later'"));
    await query(url, "select * from keyway.delete_key(gen_random_uuid(), 'old')");
    await query(url, "select keyway.forget(10, interval '1 day')");
    await seesAll(backend);
    expect([...backend.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['new', 'later']);
  });
});

function tryTo(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error instanceof Error && 'detail' in error ? error.detail : error;
  }
}

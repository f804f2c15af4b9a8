import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { LogPort } from '../../../src/core/ports.js';
import { withColumns } from '../../../src/homes/database/key-columns.js';
import { runHere } from '../../commands/context.js';
import { createKey } from '../../ports/key-changes.js';
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
    await bringTo(url, 4, 4);
    await bringTo(url, 5, 1);
    const backend = await openBackend(url);
    await createKey(backend, key('a'));
    expect(await backend.problems()).toEqual([]);
    const { code, output } = await runHere(['database', 'migrate'], {
      folder: '/',
      environment: { KEYWAY_DATABASE_URL: url },
    });
    expect([code, output]).toEqual([0, expect.stringContaining('nothing to do')]);
  });

  it('refuses one that is too new for it, at the start and where it is to bring it up to date', async () => {
    const url = await made();
    await bringTo(url, 5, 4);
    const words = "the database's schema is of version 5, which this Keyway is too old for: it knows version 3";
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
    await query(url, 'update keyway.schema_versions set version = version - 3, serves_from = 0');
    await expect(openBackend(url, { migrates: false })).rejects.toThrow('and this Keyway needs version 3: run');
  });

  it('goes on while it runs and another brings up a version beside which it may', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    await bringTo(url, 4, 1);
    await createKey(backend, key('a'));
    await expect.poll(() => backend.status().looks).toBeGreaterThan(5);
    expect(await backend.problems()).toEqual([]);
  });

  it('writes nothing more where it may not, shows what it knows for as long as while nobody answers, and comes back', async () => {
    const url = await freshDatabase();
    const said: string[] = [];
    const log: LogPort = { debug() {}, info() {}, warn() {}, error: (_, text) => said.push(text) };
    const backend = await openBackend(url, { stale: 500, log });
    await createKey(backend, key('a'));
    await bringTo(url, 4, 4);
    await expect
      .poll(() => backend.problems())
      .toEqual([{ problem: 'database_away', reason: expect.stringContaining('this Keyway is too old for') }]);
    const report = { id: 'r', entries: [{ accessKey: 'a', bytesUp: 1n, bytesDown: 1n, connections: null }] };
    await expect(createKey(backend, key('b'))).rejects.toMatchObject({ code: 'saveFailed' });
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

    await query(url, 'delete from keyway.schema_versions where version = 4');
    await expect.poll(() => backend.problems()).toEqual([]);
    await expect.poll(() => backend.keys.get('a')?.counters?.bytesUp).toBe(1n);
    await createKey(backend, key('b'));
  });
});

/** SHA-256 of each file of the schema that was ever landed: a database that has its version has just this. */
const LANDED = {
  '001-state.sql': 'f1b410ba91f5e381e4ac38eb702107f23a3366f928bd610e5c51d67838f4ee18',
  '002-own-records.sql': '94b9589c14aaf77e2b4cfe25ca00d1f2653b2e7e38a2cea574efd84af8d48afc',
  '003-rotations.sql': '01c700b14055480160fbaba88ff02a897cf8c4c531b9515f7ab2e444e8dafb59',
};

const schemaFile = (name: string) =>
  readFile(new URL(`../../../src/homes/database/schema/${name}`, import.meta.url), 'utf8');

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

it('a file of the schema that was landed stays as it is: what is new is a new file', async () => {
  for (const [name, digest] of Object.entries(LANDED))
    expect([name, digestOf(await schemaFile(name))]).toEqual([name, digest]);
});

/** A database as the Keyway of a version made it, by the texts of its schema, with one key. */
async function madeBy(...texts: readonly string[]): Promise<string> {
  const url = await bareDatabase();
  await query(
    url,
    `create schema keyway; create table keyway.schema_versions
      (version integer primary key, serves_from integer not null, applied_at timestamptz not null default now())`,
  );
  for (const [index, text] of texts.entries()) {
    await query(url, withColumns(text));
    await bringTo(url, index + 1, 1);
  }
  await query(url, OLD_CREATE);
  return url;
}

const ofVersionOne = async () => madeBy(await schemaFile('001-state.sql'));

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
    expect(await backend.changes.apply([create], { note: 'note', refuses: false })).toEqual([null]);
    expect(await query(url, 'select version, serves_from from keyway.schema_versions order by version')).toEqual([
      { version: 1, serves_from: 1 },
      { version: 2, serves_from: 1 },
      { version: 3, serves_from: 1 },
    ]);
  });

  it('that has tables of version 2 already, from a Keyway between two releases, loses nothing of them', async () => {
    const url = await made();
    await query(url, "insert into keyway.kept_records values ('tokens', 'a', '1', 1)");
    await query(url, 'delete from keyway.schema_versions where version > 1');
    const backend = await openBackend(url);
    expect([...backend.records.of('tokens')]).toEqual([['a', '1']]);
  });

  it('goes on being changed by the Keyway of version 1 beside a newer one, which sees that', async () => {
    const url = await ofVersionOne();
    const backend = await openBackend(url);
    await createKey(backend, key('new'));
    await query(url, OLD_CREATE.replace("'old'", "'later'"));
    await query(url, "select * from keyway.delete_key(gen_random_uuid(), 'old')");
    await query(url, "select keyway.forget(10, interval '1 day')");
    await seesAll(backend);
    expect([...backend.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['new', 'later']);
  });
});

/** The text of version 2 as it was landed first, made from the one that it was replaced by. */
const firstOfVersionTwo = (text: string) =>
  text
    .replace('; a\n-- `stay` behind it is a create that finds the old key where it was.', '.')
    .replace("if changed.what in ('create', 'stay') then", "if changed.what = 'create' then")
    .replaceAll("when k.removed and changed.what = 'create' then", 'when k.removed then');

/** All that the schema has, in words: the columns of its tables, its indexes and its functions. */
const described = async (url: string) => [
  ...(await query(
    url,
    `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
      where table_schema = 'keyway' order by table_name, ordinal_position`,
  )),
  ...(await query(url, "select indexdef from pg_indexes where schemaname = 'keyway' order by indexname")),
  ...(await query(
    url,
    `select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'keyway'::regnamespace
      order by p.proname, p.pronargs`,
  )),
];

describeDatabase('a database of version 2', () => {
  it('ends the same, whichever of the two texts of that version it was made by', async () => {
    const [one, two] = [await schemaFile('001-state.sql'), await schemaFile('002-own-records.sql')];
    const first = firstOfVersionTwo(two);
    expect(digestOf(first)).toBe('974ff50eb542c74d3c7c7f9a84f64c46426af197ee9c10932b412470536c6d2a');
    const [made, sinceFirst, sinceSecond] = [await freshDatabase(), await madeBy(one, first), await madeBy(one, two)];
    expect(await described(sinceFirst)).not.toEqual(await described(sinceSecond));
    for (const url of [sinceFirst, sinceSecond]) {
      await openBackend(url);
      expect(await described(url)).toEqual(await described(made));
    }
  });

  it('takes what a Keyway of version 2 sends once a newer one has brought it up to date', async () => {
    const url = await madeBy(
      await schemaFile('001-state.sql'),
      firstOfVersionTwo(await schemaFile('002-own-records.sql')),
    );
    const backend = await openBackend(url);
    for (const accessKey of ['other', 'new']) await createKey(backend, key(accessKey));
    // A rotation with a grace, as it was one batch.
    await query(
      url,
      `select * from keyway.change_keys(gen_random_uuid(), 'rotation/1', array['rotate', 'stay'], array['old', 'old'],
        array['successor', null], array[false, true], array[null, 'Old (old)'], array[false, true], array[null, 5]::numeric[])`,
    );
    await query(
      url,
      `select * from keyway.change_keys(gen_random_uuid(), 'note/1/0', array['update', 'delete'], array['new', 'other'],
        array[null, null]::text[], array[true, false], array['New', null], array[false, false], array[null, null]::numeric[])`,
    );
    await query(
      url,
      "select * from keyway.change_records(gen_random_uuid(), array['jobs'], array['rotation/1'], array[null], array[false], array[null])",
    );
    await seesAll(backend);
    expect([...backend.keys.entries()].map(({ accessKey, name }) => [accessKey, name])).toEqual([
      ['old', 'Old (old)'],
      ['new', 'New'],
      ['successor', 'Old'],
    ]);
    expect([...backend.records.of('jobs')]).toEqual([['note/1/0', '[0,0]']]);
  });
});

function tryTo(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error instanceof Error && 'detail' in error ? error.detail : error;
  }
}

import { expect, it } from 'vitest';
import type { LogPort } from '../../src/core/ports.js';
import { runHere } from '../cli/context.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { openBackend } from './gateways.js';

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
    await bringTo(url, 2, 2);
    await bringTo(url, 3, 1);
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
    await bringTo(url, 3, 2);
    const words = "the database's schema is of version 3, which this Keyway is too old for: it knows version 1";
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
    await query(url, 'update keyway.schema_versions set version = 0, serves_from = 0');
    await expect(openBackend(url, { migrates: false })).rejects.toThrow('and this Keyway needs version 1: run');
  });

  it('goes on while it runs and another brings up a version beside which it may', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url);
    await bringTo(url, 2, 1);
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
    await bringTo(url, 2, 2);
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

    await query(url, 'delete from keyway.schema_versions where version = 2');
    await expect.poll(() => backend.problems()).toEqual([]);
    await expect.poll(() => backend.keys.get('a')?.counters?.bytesUp).toBe(1n);
    await backend.createKey(key('b'));
  });
});

function tryTo(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error instanceof Error && 'detail' in error ? error.detail : error;
  }
}

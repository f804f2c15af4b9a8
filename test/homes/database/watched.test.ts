import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemClock, systemRandom } from '../../../src/platform/system-ports.js';
import { startGateway } from '../../../src/serve/start.js';
import { settingsFromCommandLine } from '../../../src/settings/read.js';
import { freePort } from '../../free-ports.js';
import { createLines } from '../../ops/stage.js';
import { createKey } from '../../ports/key-changes.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { key, openBackend, report } from './gateways.js';

describeDatabase('what an administrator sees of gateways over a database', () => {
  it('tells those apart that are over another state, in their health and in their metrics', async () => {
    const url = await freshDatabase();
    const ops = await freePort();
    const argv = ['--database', url, '--bind', '127.0.0.1:0', '--ops-bind', `127.0.0.1:${ops}`, '--no-resolver'];
    const sources = { environment: {}, folder: '/', readFile: createFileSystem().read };
    const answer = await settingsFromCommandLine(argv, sources);
    if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
    const ports = { fileSystem: createFileSystem(), clock: systemClock, random: systemRandom, log: createLines().log };
    const gateway = await startGateway(answer.settings, ports, '0.0.0');
    onTestFinished(() => gateway?.close());
    const { identity } = (await openBackend(url)).status();
    expect(identity).toMatch(/^[0-9a-f-]{36}$/);
    expect((await openBackend(await freshDatabase())).status().identity).not.toBe(identity);
    const health = await (await fetch(`http://127.0.0.1:${ops}/healthz`)).json();
    expect(health).toEqual({ status: 'healthy', problems: [], state: identity });
    const metrics = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text();
    expect(metrics).toContain(`keyway_database_info{state="${identity}"} 1`);
    expect(metrics).toMatch(/keyway_database_duration_seconds_count\{operation="look"\} [1-9]/);
    expect(metrics).toMatch(/keyway_database_connections\{purpose="reading",use="idle"\} \d/);
  });

  it('names the gateway to whom a connection belongs, says how long the database takes, and how large its tables are', async () => {
    const url = await freshDatabase();
    const took: string[] = [];
    const observe = (operation: string, milliseconds: number) => {
      expect(milliseconds).toBeGreaterThanOrEqual(0);
      took.push(operation);
    };
    const backend = await openBackend(url, { observe, heartbeatMilliseconds: 20 });
    await createKey(backend, key('a'));
    await backend.count(report(null, 'a', 1n), 'durable');
    await expect.poll(() => new Set(took)).toEqual(new Set(['look', 'write', 'batch']));
    await expect.poll(() => backend.status().figures?.tables.get('keys')).toBeGreaterThan(0);
    await expect.poll(() => backend.status().figures?.lockWaits).toBe(0);
    expect(backend.status().connections.writing.open).toBeGreaterThan(0);
    const which = 'select distinct application_name as name from pg_stat_activity where datname = current_database()';
    const names = (await query(url, which)).map(({ name }) => String(name)).filter((name) => name.startsWith('keyway'));
    const [row] = await query(url, 'select id from keyway.gateways');
    expect(names.toSorted()).toEqual([`keyway ${row?.id}`, `keyway ${row?.id} listen`]);
  });

  it('counts the waits for locks of gateways, and not those of others in the same database', async () => {
    const url = await freshDatabase();
    const backend = await openBackend(url, { heartbeatMilliseconds: 20 });
    await query(url, 'create table public.others ()');
    const clients = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        onTestFinished(() => client.end());
        await client.query('begin');
        return client;
      }),
    );
    const [first, second, third] = clients as [pg.Client, pg.Client, pg.Client];
    await first.query('lock table public.others');
    const waiting = second.query('lock table public.others');
    await third.query("select from keyway.heads where name = 'state' for update");
    // The first waits for the transaction, the others for the row.
    const created = Promise.all(['a', 'b', 'c'].map((name) => backend.createBareKeys([key(name)])));
    await expect.poll(() => backend.status().figures?.lockWaits).toBe(3);
    await third.query('commit');
    await created;
    await expect.poll(() => backend.status().figures?.lockWaits).toBe(0);
    await first.query('commit');
    await waiting;
  });

  it('goes on reading while a table is rewritten whose size is asked for', async () => {
    const url = await freshDatabase();
    const lines = createLines();
    const backend = await openBackend(url, { log: lines.log, heartbeatMilliseconds: 200 });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('begin; lock table keyway.versions in access exclusive mode');
    const refused = () => JSON.stringify(lines.lines).split('lock timeout').length - 1;
    await expect.poll(refused).toBeGreaterThan(4);
    await createKey(await openBackend(url), key('b'));
    await expect.poll(() => backend.keys.get('b')?.accessKey).toBe('b');
  });
});

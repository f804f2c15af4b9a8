import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Postgres, postgresBinaries, startPostgres } from '../../../bench/postgres.js';
import {
  type Connections,
  type ConnectionsOptions,
  openConnections,
  type StatementError,
} from '../../../src/homes/database/connection.js';
import { migrate } from '../../../src/homes/database/schema.js';
import { sentWrite, WRITES } from '../../../src/homes/database/statements.js';
import { createWrites } from '../../../src/homes/database/writes.js';
import { systemClock, systemRandom } from '../../../src/platform/system-ports.js';
import { freePort } from '../../free-ports.js';
import { createKey } from '../../ports/key-changes.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { key, openBackend, report, silent } from './gateways.js';
import { proxyForTest } from './proxy.js';

const binaries = await postgresBinaries();
const MOST = 3;

/** Backends of this database whose connection is one of a gateway's. */
async function backends(url: string): Promise<number> {
  const which = "datname = current_database() and application_name ~ '^keyway( [^ ]+)?$'";
  const [row] = await query(url, `select count(*)::int as count from pg_stat_activity where ${which}`);
  return Number(row?.count);
}

function open(options: ConnectionsOptions): Connections {
  const connections = openConnections({ connectDeadline: 1_000, ...options });
  onTestFinished(() => connections.close());
  return connections;
}

/** At most `MOST` connections, and one over which it is asked what became of what they were given. */
function placesOver(url: string) {
  const asking = open({ url, most: 1, kept: 1 });
  return { asking, connections: open({ url, most: MOST, asking }) };
}

/** Writes that are given up soon, or after some milliseconds more. */
async function writesOver(url: string) {
  const { asking, connections } = placesOver(url);
  await migrate(asking);
  const seen = () => ({ state: 0n, counters: 0n });
  const writes = createWrites({ connections, asking, seen, clock: systemClock, random: systemRandom, log: silent });
  const write = (name: string, more = 0) =>
    writes.write(WRITES.createKeys([key(name)], true), {
      until: systemClock.monotonic() + 400 + more,
      statement: 200 + more,
    });
  return { connections, writes, write };
}

async function locked(url: string, statement: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('begin');
  await client.query(statement);
  return () => client.query('commit');
}

describeDatabase('what was given up and the database is still at work on', () => {
  it('takes its place until it is answered: there are never more backends than places', async () => {
    const url = await freshDatabase();
    const { connections } = placesOver(url);
    await query(url, 'create table held ()');
    const release = await locked(url, 'lock table held');
    for (let n = 0; n < 4 * MOST; n += 1) {
      const failed = await connections.run('select from held', 40).catch((error: unknown) => error);
      expect(['unknown', 'not sent']).toContain((failed as StatementError).reached);
      expect(await backends(url)).toBeLessThanOrEqual(MOST + 1);
    }
    expect(connections.unanswered()).toBeGreaterThan(0);
    await release();
    await expect.poll(() => connections.unanswered()).toBe(0);
    expect(await connections.run('select 1', 5_000)).toEqual([[['1']]]);
  });

  it('gives its place back once the database says that it is not at work on it, though nothing comes over its connection', async () => {
    const url = await freshDatabase();
    const proxy = await proxyForTest(url);
    const asking = open({ url, most: 1 });
    const connections = open({ url: proxy.url, most: 1, asking });
    await connections.run('select 1', 5_000);
    proxy.hang('both');
    await expect(connections.run('select 1', 40)).rejects.toMatchObject({ reached: 'unknown' });
    await expect.poll(() => connections.unanswered()).toBe(0);
    proxy.hang(null);
    expect(await connections.run('select 1', 5_000)).toEqual([[['1']]]);
  });
});

describeDatabase('a write', () => {
  it('that waits for a lock is undone by the database itself, leaves its connection as it was, and is no reason to refuse others', async () => {
    const url = await freshDatabase();
    const { asking, connections } = placesOver(url);
    await migrate(asking);
    const release = await locked(url, "select from keyway.heads where name = 'state' for update");
    const pid = () => connections.run('select pg_backend_pid()', 5_000);
    const before = await pid();
    const create = sentWrite(WRITES.createKeys([key('a')], true)(randomUUID()));
    await expect(connections.run(create, 60_000)).rejects.toMatchObject({ reached: 'refused', sqlState: '55P03' });
    expect(await pid()).toEqual(before);
    await release();
    expect(await connections.run(create, 60_000)).toMatchObject([[], [['1', 'done']]]);
  });
});

describeDatabase('a database that takes no writes', () => {
  it('is told by a gateway whose reads go on, until it takes them', async () => {
    const url = await freshDatabase();
    const name = new URL(url).pathname.slice(1);
    const backend = await openBackend(url, { heartbeatMilliseconds: 50, listens: false });
    await createKey(backend, key('a'));
    const become = async (isReadOnly: boolean) => {
      await query(
        url,
        `begin read write; alter database ${name} set default_transaction_read_only = ${isReadOnly}; commit`,
      );
      const others = 'datname = current_database() and pid <> pg_backend_pid()';
      // What a database is set to holds for new connections.
      await query(url, `select pg_terminate_backend(pid) from pg_stat_activity where ${others}`);
    };
    await become(true);
    const problem = { problem: 'database_refuses_writes', reason: expect.stringContaining('read-only transaction') };
    await expect.poll(() => backend.problems()).toEqual([problem]);
    await expect(createKey(backend, key('b'))).rejects.toMatchObject({ code: 'saveFailed' });
    await expect(backend.count(report('r', 'a', 1n), 'durable')).rejects.toMatchObject({ code: 'backendAway' });
    expect(await backend.live?.key('a')).toBeDefined();
    await become(false);
    await expect.poll(() => backend.problems()).toEqual([]);
    await createKey(backend, key('b'));
  });
});

describe.skipIf(binaries === null)('a lost standby (skipped where npm has no PostgreSQL to make a server of)', () => {
  /** A server with two connections beside those of a gateway under test and its superuser, whose commits wait for a standby. */
  async function serverOf(maxConnections: number): Promise<Postgres & { await(standby: string): Promise<void> }> {
    if (binaries === null) throw new Error('no PostgreSQL');
    const settings = ['fsync=off', `max_connections=${maxConnections}`];
    const server = await startPostgres(binaries, settings, { port: await freePort() });
    onTestFinished(() => server.remove());
    return {
      ...server,
      async await(standby) {
        await query(server.url(), `alter system set synchronous_standby_names = '${standby}'`);
        await query(server.url(), 'select pg_reload_conf()');
        // That commits wait is said by the checkpointer alone, whenever it comes to read its settings.
        if (standby !== '') await expect.poll(() => commitWaits(server.url())).toBe(true);
      },
    };
  }

  /** Commits something, and tells whether that waits for a standby; ends the wait. */
  async function commitWaits(url: string): Promise<boolean> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const [{ pid } = { pid: 0 }] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    let isOver = false;
    const committed = client.query("select pg_logical_emit_message(true, '', '')").then(() => {
      isOver = true;
    });
    const waits = `select from pg_stat_activity where pid = ${pid} and wait_event = 'SyncRep'`;
    let isWaiting = false;
    while (!isOver && !isWaiting) isWaiting = (await query(url, waits)).length > 0;
    if (isWaiting) await query(url, `select pg_cancel_backend(${pid})`);
    await committed;
    await client.end();
    return isWaiting;
  }

  it('lets many writes wait on no more backends than there are places, refuses further ones at once, and takes them again once it is there', async () => {
    const server = await serverOf(20);
    const url = server.url();
    const { connections, writes, write } = await writesOver(url);
    // The time of a write is for its commit, and not for making connections.
    await Promise.all(Array.from({ length: MOST }, () => connections.run('select pg_sleep(0.2)', 20_000)));
    await server.await('nobody');
    const first = await Promise.all(Array.from({ length: 20 }, (_, n) => write(`first-${n}`)));
    expect(first.filter(({ kind }) => kind === 'unknown').length).toBeGreaterThan(0);
    expect(first.filter(({ kind }) => kind === 'unknown').length).toBeLessThanOrEqual(MOST);
    for (let n = 0; n < 30; n += 1) {
      expect(await write(`later-${n}`)).toMatchObject({ kind: 'nothing' });
      expect(await backends(url)).toBeLessThanOrEqual(MOST + 1);
    }
    expect(connections.unanswered()).toBeGreaterThan(0);
    expect(writes.refusal()).toContain('has not answered an earlier write');
    // None of them was cancelled: that would tell a client of a commit that no standby has.
    expect(await query(url, 'select from keyway.keys')).toEqual([]);
    await server.await('');
    await expect.poll(() => connections.unanswered()).toBe(0);
    expect(await write('last', 20_000)).toMatchObject({ kind: 'done' });
    expect(writes.refusal()).toBe(null);
    const names = await query(url, "select access_key from keyway.keys where access_key like 'later%'");
    expect(names).toEqual([]);
  });

  it('holds up no look and no sign of life, and a gateway says that the database takes no writes', async () => {
    const server = await serverOf(20);
    const backend = await openBackend(server.url(), { heartbeatMilliseconds: 50, listens: false });
    await createKey(backend, key('a'));
    await server.await('nobody');
    const created = createKey(backend, key('b')).catch(({ code }) => code);
    await expect.poll(() => backend.problems()).toMatchObject([{ problem: 'database_refuses_writes' }]);
    expect(await createKey(backend, key('c')).catch(({ code }) => code)).toBe('saveFailed');
    expect(backend.status()).toMatchObject({ failure: null });
    await server.await('');
    expect(await created).toBe(undefined);
    await expect.poll(() => backend.problems()).toEqual([]);
    await createKey(backend, key('c'));
  });
});

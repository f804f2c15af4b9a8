import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished } from 'vitest';
import { askShared, type Shared } from '../../shared.js';
import { WHOLE } from '../../whole.js';
import type { SharedPostgres } from './template.js';

/** The server that the tests which run now have their databases in. */
let server: Shared = 'postgres';

/** Tests over a real PostgreSQL: the one that npm installs, or that of `KEYWAY_TEST_DATABASE_URL`; else skipped, and said why. */
export function describeDatabase(name: string, tests: () => void): void {
  if (inject('hasPostgres')) describe(name, tests);
  else
    describe.skip(
      `${name} (skipped: npm has no PostgreSQL for this platform, and KEYWAY_TEST_DATABASE_URL names none)`,
      tests,
    );
}

/**
 * The same, and in a whole run once more over the PostgreSQL of this machine's path: for what depends on the version, or on plans that are
 * compiled.
 */
export function describeDatabases(name: string, tests: () => void): void {
  describeDatabase(name, tests);
  if (!WHOLE) return;
  const version = inject('installedPostgres');
  if (version === null)
    describe.skip(`${name} (skipped a second time: no PostgreSQL stands on this machine's path)`, tests);
  else
    describe(`${name}, over PostgreSQL ${version} with JIT`, () => {
      beforeAll(() => {
        server = 'installed-postgres';
      });
      afterAll(() => {
        server = 'postgres';
      });
      tests();
    });
}

/** A database of its own with the schema in it, which goes with the test. Resolves to its URL. */
export async function freshDatabase(): Promise<string> {
  const url = await createDatabase();
  onTestFinished(() => dropDatabase(url));
  return url;
}

/** The same without the schema. */
export async function bareDatabase(): Promise<string> {
  const url = await createFrom(await sharedPostgres(), 'template1');
  onTestFinished(() => dropDatabase(url));
  return url;
}

export async function createDatabase(): Promise<string> {
  const shared = await sharedPostgres();
  const url = await createFrom(shared, shared.template);
  // A copy would be taken for what it is a copy of.
  await query(url, 'update keyway.identity set id = gen_random_uuid()');
  return url;
}

async function createFrom(shared: SharedPostgres, template: string): Promise<string> {
  const name = `keyway_${randomUUID().replaceAll('-', '')}`;
  const create = `create database ${name} template ${template}`;
  // By itself PostgreSQL writes all of it into its log, too, which takes twice as long. Before 15 it did not.
  await query(shared.url, `${create} strategy file_copy`).catch((error: { readonly code?: unknown }) => {
    if (error.code !== '42601') throw error;
    return query(shared.url, create);
  });
  return keepConnections(Object.assign(new URL(shared.url), { pathname: `/${name}` }).href);
}

/** The server that these tests have their databases in. */
export async function sharedPostgres(): Promise<SharedPostgres> {
  const shared = (await askShared(server)) as SharedPostgres; // Global setup answers with it.
  keepConnections(shared.url);
  return shared;
}

export async function dropDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const ended = pools.get(url)?.end();
  pools.delete(url);
  // Ends what is still asked, too.
  await query((await sharedPostgres()).url, `drop database if exists ${name} with (force)`);
  await ended;
}

/** This process's connections to databases of the run, which nobody stops: to open one costs more than most statements. */
const pools = new Map<string, pg.Pool>();

function keepConnections(url: string): string {
  if (pools.has(url)) return url;
  const pool = new pg.Pool({ connectionString: url, max: 50 });
  // One that a test cuts while nobody uses it is replaced.
  pool.on('error', () => undefined);
  pools.set(url, pool);
  return url;
}

/** Runs one statement on a connection that nobody else uses meanwhile; what it sets for its session may outlast it. */
export async function query(url: string, statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const kept = pools.get(url);
  if (kept !== undefined) return (await kept.query<Record<string, unknown>>(statement)).rows;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Holds what a statement locks until it is called. */
export async function holding(url: string, statement: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('begin');
  await client.query(statement);
  return async () => {
    await client.query('commit');
  };
}

/** Resolves once so many wait for what others have locked. */
export const waiting = (url: string, count: number) =>
  expect
    .poll(async () => {
      const where = "wait_event_type = 'Lock' and datname = current_database()";
      return (await query(url, `select from pg_stat_activity where ${where}`)).length;
    })
    .toBeGreaterThanOrEqual(count);

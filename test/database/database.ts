import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished } from 'vitest';
import { askShared, type Shared } from '../shared.js';

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
 * The same, and once more over the PostgreSQL of this machine's path: for what depends on the version, or on plans that are compiled.
 */
export function describeDatabases(name: string, tests: () => void): void {
  describeDatabase(name, tests);
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

/** A database of its own, which goes with the test. Resolves to its URL. */
export async function freshDatabase(): Promise<string> {
  const url = await createDatabase();
  onTestFinished(() => dropDatabase(url));
  return url;
}

export async function createDatabase(): Promise<string> {
  const url = new URL(String(await askShared(server)));
  const name = `keyway_${randomUUID().replaceAll('-', '')}`;
  // By itself PostgreSQL writes all of it into its log, too, which takes twice as long. Before 15 it did not.
  await query(url.href, `create database ${name} strategy file_copy`).catch((error: { readonly code?: unknown }) => {
    if (error.code !== '42601') throw error;
    return query(url.href, `create database ${name}`);
  });
  url.pathname = `/${name}`;
  return url.href;
}

export async function dropDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await query(String(await askShared(server)), `drop database if exists ${name} with (force)`);
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
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

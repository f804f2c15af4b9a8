import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, inject, onTestFinished } from 'vitest';
import { askShared } from '../shared.js';

/** Tests over a real PostgreSQL: the one that npm installs, or that of `KEYWAY_TEST_DATABASE_URL`; else skipped, and said why. */
export function describeDatabase(name: string, tests: () => void): void {
  if (inject('hasPostgres')) describe(name, tests);
  else
    describe.skip(
      `${name} (skipped: npm has no PostgreSQL for this platform, and KEYWAY_TEST_DATABASE_URL names none)`,
      tests,
    );
}

/** A database of its own, which goes with the test. Resolves to its URL. */
export async function freshDatabase(): Promise<string> {
  const url = await createDatabase();
  onTestFinished(() => dropDatabase(url));
  return url;
}

export async function createDatabase(): Promise<string> {
  const url = new URL(String(await askShared('postgres')));
  const name = `keyway_${randomUUID().replaceAll('-', '')}`;
  await query(url.href, `create database ${name}`);
  url.pathname = `/${name}`;
  return url.href;
}

export async function dropDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await query(String(await askShared('postgres')), `drop database if exists ${name} with (force)`);
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

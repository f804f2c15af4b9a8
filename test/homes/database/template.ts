import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { openConnections } from '../../../src/homes/database/connection.js';
import { migrate } from '../../../src/homes/database/schema.js';

/** A server for the tests of a run, and a database in it that has the schema and nothing else, to be copied. */
export interface SharedPostgres {
  readonly url: string;
  readonly template: string;
}

/** Makes the database that others are copies of: to make the schema anew takes thrice as long as to copy it. */
export async function createTemplate(url: string): Promise<SharedPostgres> {
  const template = `keyway_template_${randomUUID().replaceAll('-', '')}`;
  await run(url, `create database ${template}`);
  const connections = openConnections({ url: Object.assign(new URL(url), { pathname: `/${template}` }).href, most: 1 });
  try {
    await migrate(connections);
  } finally {
    await connections.close();
  }
  return { url, template };
}

export async function dropTemplate({ url, template }: SharedPostgres): Promise<void> {
  await run(url, `drop database if exists ${template} with (force)`);
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

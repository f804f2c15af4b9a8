import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../core/errors.js';
import { type Connections, StatementError } from './connection.js';
import { withColumns } from './key-columns.js';

/** The version of the schema that this Keyway is made for: the number of the last file in `schema/`. */
export const SCHEMA_VERSION = 3;

/** The oldest schema version whose Keyway may continue to serve, for each version. */
const SERVES_FROM: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 1 };

/** The version of a schema that was found, and why it cannot be served, if it cannot. */
export interface SchemaState {
  /** 0 without a schema. */
  readonly version: number;
  /** Null if this Keyway can serve it; otherwise why it cannot, for the user. */
  readonly problem: string | null;
}

const DEADLINE = 60_000;
/** An arbitrary number, the same for every Keyway. */
const LOCK = 7_346_911_203;
const DONE_MEANWHILE = 'KW003';

/** Why a standby is refused, for the user. */
export const STANDBY_PROBLEM = 'the database is a standby, which takes no writes';

const VERSIONS = `create schema if not exists keyway;
create table if not exists keyway.schema_versions (
  version integer primary key,
  -- The oldest version of the schema whose Keyway may go on with this one.
  serves_from integer not null,
  applied_at timestamptz not null default now()
)`;

/**
 * Checks whether this Keyway can serve over the database. Rejects with `StatementError`, and with an error for the user
 * if the encoding is wrong.
 */
export async function readSchema(connections: Pick<Connections, 'run'>): Promise<SchemaState> {
  const [found] = await connections.run(
    "select to_regclass('keyway.schema_versions') is not null, current_setting('server_encoding')",
    DEADLINE,
  );
  const [isThere, encoding] = found?.[0] ?? [];
  if (encoding !== 'UTF8')
    throw new Error(
      `the database's encoding is ${encoding}, which cannot hold every name: expected one that was made with --encoding=UTF8 --template=template0`,
    );
  if (isThere !== 't') return { version: 0, problem: 'the database holds no state of a Keyway yet' };
  const [rows] = await connections.run(
    'select version, serves_from from keyway.schema_versions order by version desc limit 1',
    DEADLINE,
  );
  const [version, servesFrom] = (rows?.[0] ?? ['0', '0']).map(Number) as [number, number];
  return { version, problem: schemaProblem(version, servesFrom) };
}

/**
 * Returns why this Keyway cannot serve over a schema of this version, which Keyways from `servesFrom` on may serve; or
 * null.
 */
export function schemaProblem(version: number, servesFrom: number): string | null {
  if (version < SCHEMA_VERSION)
    return `the database's schema is of version ${version}, and this Keyway needs version ${SCHEMA_VERSION}`;
  if (servesFrom > SCHEMA_VERSION)
    return `the database's schema is of version ${version}, which this Keyway is too old for: it knows version ${SCHEMA_VERSION}`;
  return null;
}

/**
 * Applies the missing versions, all in one transaction and one Keyway at a time. Resolves to their numbers. Rejects
 * with `StatementError`, with nothing changed.
 */
export async function migrate(connections: Pick<Connections, 'run'>): Promise<readonly number[]> {
  const steps = await readSteps();
  const [found] = await connections.run('select pg_is_in_recovery()', DEADLINE);
  if (found?.[0]?.[0] === 't') throw new StatementError('refused', STANDBY_PROBLEM);
  for (;;) {
    const { version: present } = await readSchema(connections);
    const missing = steps.filter(({ version }) => version > present);
    if (missing.length === 0) return [];
    try {
      await connections.run(migration(present, missing), DEADLINE);
      return missing.map(({ version }) => version);
    } catch (error) {
      if (!(error instanceof StatementError && error.sqlState === DONE_MEANWHILE)) throw error;
    }
  }
}

/** Returns a migration as one message, so that a gateway that is paused holds no table that others use. */
function migration(present: number, steps: readonly Step[]): string {
  return [
    `select pg_advisory_xact_lock(${LOCK})`,
    VERSIONS,
    `do $$ begin
      if (select coalesce(max(version), 0) from keyway.schema_versions) <> ${present} then
        raise exception 'another Keyway was faster' using errcode = '${DONE_MEANWHILE}';
      end if;
    end $$`,
    ...steps.flatMap(({ version, sql }) => [
      sql,
      `insert into keyway.schema_versions (version, serves_from) values (${version}, ${SERVES_FROM[version] ?? version})`,
    ]),
  ].join(';\n');
}

/** Returns the message about a database that cannot be used. */
export function databaseProblem(error: unknown): string {
  if (!(error instanceof StatementError)) return messageOf(error);
  return error.reached === 'not sent' ? `the database cannot be reached: ${error.message}` : error.message;
}

interface Step {
  readonly version: number;
  readonly sql: string;
}

async function readSteps(): Promise<readonly Step[]> {
  const folder = fileURLToPath(new URL('schema', import.meta.url));
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => ({
      version: Number.parseInt(name, 10),
      sql: withColumns(await readFile(join(folder, name), 'utf8')),
    })),
  );
}

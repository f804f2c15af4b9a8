import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  changesSince,
  connectionsOfGateways,
  HEADS,
  type Looked,
  type Seen,
  settle,
  unknownOf,
  WRITES,
  withKey,
} from '../../../src/homes/database/statements.js';
import { createDatabase, describeDatabases, dropDatabase } from './database.js';
import { key } from './gateways.js';

const KEYS = 20_000;
const BATCH = 5_000;
/** PostgreSQL's own `jit_above_cost`. */
const COMPILED_ABOVE = 100_000;
/** What grows with keys, gateways and time. */
const LARGE = ['keys', 'counters', 'connections', 'batches', 'operations', 'reports'];
const KINDS: readonly Looked[] = ['state', 'connections', 'all'];

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Total Cost': number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const names = Array.from({ length: KEYS }, (_, n) => `key-${n}`.padEnd(36, '-'));
const gateways = [randomUUID(), randomUUID()];

/** One batch of so many keys. */
function batch(gateway: string, keys: readonly string[]): string {
  return WRITES.countUsage({
    gateway,
    seen: { state: 1n, countersMark: randomUUID() },
    reportIds: [randomUUID()],
    keys,
    incarnations: keys.map(() => null),
    up: keys.map(() => 1n),
    down: keys.map(() => 1n),
    connections: keys.map(() => 1n),
  })(randomUUID());
}

/** A database with many keys that are counted by one gateway, and some by another; what came last has not been seen. */
async function stage(isAnalyzed: boolean) {
  const url = await createDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const run = (text: string) => client.query(text);
  for (const table of LARGE) await run(`alter table keyway.${table} set (autovacuum_enabled = false)`);
  await run(
    WRITES.createKeys(
      names.map((name) => key(name)),
      true,
    )(randomUUID()),
  );
  for (let from = 0; from < KEYS; from += BATCH) await run(batch(gateways[0] ?? '', names.slice(from, from + BATCH)));
  for (let n = 0; n < 300; n += 1) await run(WRITES.updateKey(names[n] ?? '', { limitBytes: 1n })(randomUUID()));
  // As after some minutes of many writes.
  await run(`insert into keyway.operations (id, head, number, outcome)
    select gen_random_uuid(), head, -n, 'done' from unnest('{state,counters}'::text[]) head, generate_series(1, 10000) n`);
  await run(
    `insert into keyway.batches (number, ids, connected, unknown) select -n, '{1,2}', '{1}', '{}' from generate_series(1, 3000) n`,
  );
  if (isAnalyzed) await run('analyze');
  const seen: Seen = { state: 299n, stateMark: randomUUID(), counters: 4n, countersMark: randomUUID(), ...last(4n) };
  await run(batch(gateways[1] ?? '', names.slice(0, 10)));
  const close = async () => {
    await client.end();
    await dropDatabase(url);
  };
  return { run, seen, close };
}

const last = (connections: bigint) => ({ connections, connectionsMark: randomUUID(), document: 0n });

/** Every statement of a look, but for its settings. */
function statementsOf(seen: Seen): readonly string[] {
  const looks = KINDS.flatMap((kind) => changesSince(seen, kind).split(';\n'));
  const asked = [HEADS, connectionsOfGateways(gateways.slice(1)), unknownOf(5n)];
  const all = [...new Set([...looks, ...asked])];
  expect(all.filter((text) => /\benable_|\bjit/.test(text))).toEqual([]);
  return all.filter((text) => !text.startsWith('set '));
}

describeDatabases('plans', () => {
  describe.each([
    ['that were analyzed', true],
    ['that were never analyzed', false],
  ] as const)('over tables %s', (_, isAnalyzed) => {
    // What is asked of them changes nothing that lasts.
    let staged: Awaited<ReturnType<typeof stage>>;
    beforeAll(async () => {
      staged = await stage(isAnalyzed);
    });
    afterAll(() => staged.close());

    it('of every statement of a look go by indexes, cost little, and are not worth compiling', async () => {
      const { run, seen } = staged;
      const statements = statementsOf(seen);
      expect(statements.length).toBeGreaterThan(10);
      for (const statement of statements) {
        const { rows } = await run(`explain (format json) ${statement}`);
        const [{ Plan: plan }] = rows[0]['QUERY PLAN'];
        const scanned = nodesOf(plan).filter((node) => node['Node Type'] === 'Seq Scan');
        expect([statement, scanned.filter((node) => LARGE.includes(node['Relation Name'] ?? ''))]).toEqual([
          statement,
          [],
        ]);
        expect(plan['Total Cost']).toBeLessThan(COMPILED_ABOVE);
      }
    });

    it('of what writes do in the schema read no large table from end to end, over and over again', async () => {
      const { run } = staged;
      const name = names[7] ?? '';
      await run('begin');
      // A function's plan may become another once it was carried out five times.
      for (let n = 0; n < 8; n += 1) {
        await run(batch(gateways[1] ?? '', names.slice(n * 1_000, n * 1_000 + 1_000)));
        await run(batch(gateways[1] ?? '', [name]));
        await run(withKey(WRITES.updateKey(name, { limitBytes: 5n }), name, randomUUID())(randomUUID()));
        await run(WRITES.resetKey(name)(randomUUID()));
        await run(settle(randomUUID(), { state: 0n, counters: 0n }));
      }
      const { rows } = await run(
        `select relname from pg_stat_xact_user_tables where schemaname = 'keyway' and seq_scan > 0`,
      );
      await run('rollback');
      expect(rows.map(({ relname }) => relname).filter((table) => LARGE.includes(table))).toEqual([]);
    });
  });
});

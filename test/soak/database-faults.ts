import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { forget } from '../../src/homes/database/statements.js';
import { query } from '../homes/database/database.js';
import type { Chaos } from './database-gateways.js';

export type Choose = (below: number) => number;

/** Something that goes wrong; what lasts is over when it resolves. */
type Fault = (chaos: Chaos, choose: Choose) => Promise<void>;

const SECOND = 1_000;
const ANY: readonly string[] = ['heads', 'keys', 'counters', 'operations'];

/** Milliseconds. */
const briefly = (choose: Choose): number => 100 + choose(900);
const lasting = (choose: Choose): number => 3 * SECOND + choose(12 * SECOND);

function gatewayOf({ gateways }: Chaos, choose: Choose) {
  const found = gateways[choose(gateways.length)];
  if (found === undefined) throw new Error('there is no gateway');
  return found;
}

/** What is over within a second or so. */
const BRIEF: Readonly<Record<string, Fault>> = {
  'a gateway is killed': (chaos, choose) => gatewayOf(chaos, choose).restart(),
  'a gateway stands still': (chaos, choose) => gatewayOf(chaos, choose).stand(briefly(choose)),
  async 'PostgreSQL is killed'({ postgres }, choose) {
    await postgres.stop('kill');
    await pause(choose(300));
    await postgres.start();
  },
  'connections are cut': async (chaos, choose) => gatewayOf(chaos, choose).proxy.cut(),
  'nothing passes': (chaos, choose) => holding(chaos, choose, 'both', briefly(choose)),
  'a write is cut off': async (chaos, choose) =>
    gatewayOf(chaos, choose).proxy.cutAround('keyway.', choose(2) === 0 ? 'before' : 'after'),
  'a batch is cut off': async (chaos, choose) => gatewayOf(chaos, choose).proxy.cutAround('count_usage', 'after'),
  async 'connections are refused'(chaos, choose) {
    const { proxy } = gatewayOf(chaos, choose);
    proxy.refuse(true);
    await pause(briefly(choose));
    proxy.refuse(false);
  },
  async 'hints are lost'(chaos, choose) {
    const { proxy } = gatewayOf(chaos, choose);
    proxy.swallowHints(true);
    await pause(briefly(choose));
    proxy.swallowHints(false);
  },
};

/** What lasts for many seconds, while what is brief goes on beside it. */
const LONG: Readonly<Record<string, Fault>> = {
  'a gateway stands still for a minute': (chaos, choose) => gatewayOf(chaos, choose).stand(60 * SECOND),
  'a gateway stands still for seconds': (chaos, choose) => gatewayOf(chaos, choose).stand(lasting(choose)),
  'what a gateway sends is lost': (chaos, choose) => holding(chaos, choose, 'to', lasting(choose)),
  'what a gateway is sent is lost': (chaos, choose) => holding(chaos, choose, 'from', lasting(choose)),
  async 'the synchronous standby is lost'({ standby }, choose) {
    if (standby === null) throw new Error('there is no standby');
    await standby.stop('kill');
    await pause(lasting(choose));
    await standby.start();
  },
  async 'a table is locked'({ url }, choose) {
    const client = new pg.Client({ connectionString: url });
    // PostgreSQL may be killed meanwhile, and with it the lock.
    client.on('error', () => undefined);
    const table = ANY[choose(ANY.length)] ?? 'heads';
    await client
      .connect()
      .then(() => client.query(`begin; lock table keyway.${table} in access exclusive mode`))
      .catch(() => undefined);
    await pause(lasting(choose));
    await client.end().catch(() => undefined);
  },
  async 'the database takes no writes'({ postgres }, choose) {
    await set(postgres.url(), 'set default_transaction_read_only = on');
    await pause(lasting(choose));
    await set(postgres.url(), 'reset default_transaction_read_only');
  },
  async "the database's clock is hours ahead"({ url }, choose) {
    const hours = 1 + choose(9);
    await moveClock(url, hours);
    await pause(lasting(choose));
    await moveClock(url, -hours);
  },
};

/** Lets one fault happen. Resolves to its name. */
export async function happen(kind: 'brief' | 'long', chaos: Chaos, choose: Choose): Promise<string> {
  const faults = Object.entries(kind === 'brief' ? BRIEF : LONG);
  const [name, fault] = faults[choose(faults.length)] ?? [];
  if (name === undefined || fault === undefined) throw new Error('there is no fault');
  await fault(chaos, choose);
  return name;
}

async function holding(chaos: Chaos, choose: Choose, way: 'both' | 'to' | 'from', milliseconds: number): Promise<void> {
  const { proxy } = gatewayOf(chaos, choose);
  proxy.hang(way);
  await pause(milliseconds);
  // It comes late, or never.
  if (way !== 'both' && choose(2) === 0) proxy.cut();
  proxy.hang(null);
}

/** As often as it needs: PostgreSQL may be down at that moment. */
async function insist(url: string, statement: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await query(url, statement);
      return;
    } catch (error) {
      if (attempt > 200) throw error;
      await pause(100);
    }
  }
}

async function set(url: string, setting: string): Promise<void> {
  await insist(url, `alter system ${setting}`);
  await insist(url, 'select pg_reload_conf()');
}

const TIMES =
  "table_schema = 'keyway' and data_type = 'timestamp with time zone' and table_name not in ('counters', 'versions')";

/**
 * As if the clock of the database were moved by so many hours: all that it remembers is so much older. Forgets what is too
 * old then, which it would do within a minute.
 */
async function moveClock(url: string, hours: number): Promise<void> {
  const columns = await query(
    url,
    `select table_name, column_name from information_schema.columns where ${TIMES}`,
  ).catch(() => []);
  const moves = columns.map(
    ({ table_name: table, column_name: column }) =>
      `update keyway.${table} set ${column} = ${column} - interval '${hours} hours'`,
  );
  await query(url, moves.join(';')).catch(() => undefined);
  await query(url, forget(10_000_000, 30 * 86_400_000)).catch(() => undefined);
}

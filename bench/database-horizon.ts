import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Connections, openConnections } from '../src/homes/database/connection.js';
import { texts } from '../src/homes/database/literals.js';
import { sentWrite } from '../src/homes/database/statements.js';
import { countText, type Measure, type Row, timeText } from './measure.js';
import { postgresBinaries, startPostgres } from './postgres.js';
import { median, quantile } from './statistics.js';

/**
 * How creates are numbered and followed (design: "One state for several gateways"), side by side, in SQL alone: the head row as it
 * is, and what needs no lock. Locks are held through `commit_delay` as they are through a flush, since it is part of one.
 */
interface Way {
  readonly name: string;
  readonly table: 'headed' | 'stamped';
  /** Creates of one gateway that share a write. */
  readonly most: number;
  /** Answers how far the look came; begins the next one. */
  readonly horizon: string;
  /** Which rows a look reads that comes behind another. */
  readonly news: (horizon: string) => string;
}

const HEADED = { table: 'headed', horizon: 'select number from headed_head' } as const;
const afterNumber = (number: string): string => `number between ${number} + 1 and ${2n ** 63n - 1n}`;

const WAYS: readonly Way[] = [
  { name: 'head row', most: 1, ...HEADED, news: afterNumber },
  { name: 'head row, creates that wait at a gateway share a write', most: 500, ...HEADED, news: afterNumber },
  {
    name: 'ids of transactions from pg_snapshot_xmin on',
    table: 'stamped',
    most: 1,
    horizon: 'select pg_snapshot_xmin(pg_current_snapshot())',
    news: (xmin) => `xid >= '${xmin}'::xid8`,
  },
  {
    name: 'ids of transactions that the last snapshot did not show',
    table: 'stamped',
    most: 1,
    horizon: 'select pg_current_snapshot()',
    news(snapshot) {
      const [, xmax, running] = snapshot.split(':');
      return `(xid >= '${xmax}'::xid8 or xid = any ('{${running}}'::xid8[]))`;
    },
  },
];

const SCHEMA = `
  create table headed_head (number bigint not null) with (fillfactor = 50);
  insert into headed_head values (0);
  create table headed (access_key text collate "C" primary key, number bigint not null);
  create index on headed (number);
  create table headed_operations (id uuid primary key, number bigint not null unique);
  create function create_headed(keys text[]) returns bigint language plpgsql as $$
  declare taken bigint;
  begin
    update headed_head set number = number + 1 returning number into taken;
    insert into headed_operations values (gen_random_uuid(), taken);
    insert into headed select unnest(keys), taken;
    return taken;
  end $$;
  create sequence stamped_number;
  create table stamped (access_key text collate "C" primary key, number bigint not null, xid xid8 not null);
  create index on stamped (xid);
  create table stamped_operations (id uuid primary key, number bigint not null unique);
  create function create_stamped(keys text[]) returns bigint language plpgsql as $$
  declare taken bigint := nextval('stamped_number');
  begin
    insert into stamped_operations values (gen_random_uuid(), taken);
    insert into stamped select unnest(keys), taken, pg_current_xact_id();
    return taken;
  end $$;
  create database stranger`;

const GATEWAYS = 3;
/** As a gateway has them. */
const WRITING = 5;
const CLIENTS = 16;
/** Milliseconds. */
const DELAYS = [0, 5, 20];
const BETWEEN_LOOKS = 50;
const DEADLINE = 60_000;

interface Round {
  readonly rate: number;
  readonly created: readonly number[];
  /** Milliseconds from the answer until another gateway has read it. */
  readonly seen: readonly number[];
  /** Rows that looks have read for each one that was new. */
  readonly readPerRow: number;
  readonly slowestLook: number;
}

export const databaseHorizon: Measure = {
  name: 'database-horizon',
  async run({ quick }) {
    const binaries = await postgresBinaries();
    if (binaries === null) throw new Error('npm has no PostgreSQL for this platform');
    const postgres = await startPostgres(binaries, ['commit_siblings=0', 'max_prepared_transactions=1']);
    const [milliseconds, rounds] = quick ? [700, 1] : [4_000, 3];
    const rows: Row[] = [];
    try {
      const url = postgres.url();
      const client = await connected(url);
      for (const statement of SCHEMA.split(/;\n(?= {2}create)/)) await client.query(statement);
      const stage = { url, client, milliseconds };
      for (const delay of DELAYS) {
        await delayCommits(client, delay);
        const words = `creates a second at ${GATEWAYS} gateways, ${delay} ms more a commit`;
        rows.push(...compared(words, await inTurn(rounds, stage)));
      }
      await delayCommits(client, 5);
      const stranger = await connected(postgres.url('stranger'));
      await stranger.query('begin; select pg_current_xact_id()');
      rows.push(...compared('the same at 5 ms beside a long write in another database', await inTurn(1, stage)));
      await stranger.query("prepare transaction 'stranger'");
      rows.push(...compared('the same at 5 ms beside a prepared one', await inTurn(1, stage)));
      await stranger.query("rollback prepared 'stranger'");
      await Promise.all([stranger.end(), client.end()]);
    } finally {
      await postgres.remove();
    }
    return rows;
  },
};

interface Stage {
  readonly url: string;
  readonly client: pg.Client;
  readonly milliseconds: number;
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

async function delayCommits(client: pg.Client, milliseconds: number): Promise<void> {
  await client.query(`alter system set commit_delay = ${milliseconds * 1000}`);
  await client.query('select pg_reload_conf()');
  const set = async () => (await client.query('show commit_delay')).rows[0]?.commit_delay;
  while ((await set()) !== `${milliseconds * 1000}`) await sleep(5);
}

/** All ways one after the other, so many times. */
async function inTurn(rounds: number, stage: Stage): Promise<ReadonlyMap<Way, readonly Round[]>> {
  const all = new Map<Way, Round[]>(WAYS.map((way) => [way, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [way, measured] of all) measured.push(await measure(way, stage));
  return all;
}

async function measure(way: Way, { url, client, milliseconds }: Stage): Promise<Round> {
  await client.query(`truncate ${way.table}, ${way.table}_operations`);
  const answered = new Map<string, number>();
  const gateways = Array.from({ length: GATEWAYS }, (_, n) => ({
    writing: openConnections({ url, most: WRITING }),
    follower: new Follower(way, openConnections({ url, most: 1 }), answered, n),
  }));
  for (const { follower } of gateways) await follower.look();
  const until = performance.now() + milliseconds;
  const created: number[] = [];
  const following = gateways.map(({ follower }) => follower.lookUntil(until));
  await Promise.all(
    gateways.map(({ writing }, n) => createAll(way, writing, { until, name: `key-${n}`, created, answered })),
  );
  const rate = (created.length * 1000) / (performance.now() - until + milliseconds);
  await Promise.all(following);
  for (const { follower, writing } of gateways) {
    await follower.look();
    const missed = [...answered.keys()].filter((key) => !follower.seen.has(key));
    if (missed.length > 0) throw new Error(`by "${way.name}" a follower misses ${missed.length} keys`);
    await Promise.all([follower.connections.close(), writing.close()]);
  }
  const followers = gateways.map(({ follower }) => follower);
  const read = followers.reduce((sum, one) => sum + one.read, 0);
  return {
    rate,
    created,
    seen: followers.flatMap(({ lags }) => lags),
    readPerRow: read / (created.length * GATEWAYS),
    slowestLook: Math.max(...followers.map(({ slowest }) => slowest)),
  };
}

interface Creating {
  readonly until: number;
  readonly name: string;
  readonly created: number[];
  readonly answered: Map<string, number>;
}

/** As many clients as a gateway has, each with one create at a time; a write takes those that wait. */
async function createAll(way: Way, writing: Connections, { until, name, created, answered }: Creating): Promise<void> {
  const waiting = Array.from({ length: CLIENTS }, (_, n) => ({ key: `${name}-${n}`, since: performance.now() }));
  let count = 0;
  async function write(): Promise<void> {
    while (performance.now() < until) {
      const some = waiting.splice(0, way.most);
      if (some.length === 0) {
        await sleep(1);
        continue;
      }
      await writing.run(sentWrite(`select create_${way.table}(${texts(some.map(({ key }) => key))})`), DEADLINE);
      const now = performance.now();
      for (const { key, since } of some) {
        answered.set(key, now);
        created.push(now - since);
        count += 1;
        waiting.push({ key: `${name}-more-${count}`, since: now });
      }
    }
  }
  await Promise.all(Array.from({ length: way.most === 1 ? WRITING : 1 }, write));
}

class Follower {
  readonly connections: Connections;
  readonly seen = new Set<string>();
  readonly lags: number[] = [];
  read = 0;
  slowest = 0;
  readonly #way: Way;
  readonly #answered: ReadonlyMap<string, number>;
  readonly #own: string;
  #horizon: string | null = null;

  constructor(way: Way, connections: Connections, answered: ReadonlyMap<string, number>, gateway: number) {
    this.#way = way;
    this.connections = connections;
    this.#answered = answered;
    this.#own = `key-${gateway}-`;
  }

  /** Reads what is new, from one snapshot. */
  async look(): Promise<void> {
    const { table, horizon, news } = this.#way;
    const began = performance.now();
    const [, next, rows] = await this.connections.run(
      `set transaction isolation level repeatable read read only; ${horizon};
        select access_key from ${table} where ${this.#horizon === null ? 'true' : news(this.#horizon)}`,
      DEADLINE,
    );
    this.#horizon = next?.[0]?.[0] ?? null;
    const now = performance.now();
    this.slowest = Math.max(this.slowest, now - began);
    this.read += rows?.length ?? 0;
    for (const [key = ''] of rows ?? []) {
      const name = key ?? '';
      if (this.seen.has(name)) continue;
      this.seen.add(name);
      const at = this.#answered.get(name);
      if (!name.startsWith(this.#own)) this.lags.push(at === undefined ? 0 : now - at);
    }
  }

  async lookUntil(end: number): Promise<void> {
    while (performance.now() < end) {
      await this.look();
      await sleep(BETWEEN_LOOKS);
    }
  }
}

function compared(words: string, measured: ReadonlyMap<Way, readonly Round[]>): readonly Row[] {
  const rateOf = (rounds: readonly Round[]): number => median(rounds.map(({ rate }) => rate));
  const [head = []] = measured.values();
  return [...measured].map(([way, rounds]) => ({
    measure: `${words}: ${way.name}`,
    gateway: `${countText(rateOf(rounds))}/s (p99 ${timeText(p99(rounds, 'created'))})`,
    against: way === WAYS[0] ? '' : `head row: ${countText(rateOf(head))}/s`,
    value: `${(rateOf(rounds) / rateOf(head)).toFixed(1)} × · seen elsewhere p99 ${timeText(p99(rounds, 'seen'))} · rows read for each new one ${median(rounds.map(({ readPerRow }) => readPerRow)).toFixed(1)} · slowest look ${timeText(Math.max(...rounds.map(({ slowestLook }) => slowestLook)))}`,
    bar: '',
    met: null,
  }));
}

const p99 = (rounds: readonly Round[], of: 'created' | 'seen'): number =>
  quantile(
    rounds.flatMap((round) => round[of]),
    0.99,
  );

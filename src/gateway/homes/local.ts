import { tryWriting } from '../../files/try-writing.js';
import { openLocalBackend } from '../../homes/file/backend.js';
import { FILE_PROBLEMS } from '../../homes/file/problems.js';
import { pendingFamily, storeFamilies } from '../../ops/file-metrics.js';
import type { HomePlaceOf } from '../../settings/home.js';
import type { ComposeOptions } from '../options.js';
import { type Home, homeOver } from './home.js';

/** Opens a configuration file with its data folder. Rejects with an `Error` for the user. */
export async function openFileHome(place: HomePlaceOf<'file'>, options: ComposeOptions): Promise<Home> {
  const { path, inPlace } = place;
  const home = await openLocal(place, options, path, inPlace);
  const { backend, parts } = home;
  return {
    ...home,
    idleReason: () =>
      backend.settings().listener?.enabled
        ? null
        : `the listener of ${path} is not enabled ("enabled" under "api"); --bind serves all the same`,
    keepHost: parts.local?.keepPublicHost ?? null,
    serverBeside() {
      const { listener, dns } = backend.settings();
      return listener === null ? null : { listener, dns };
    },
    async report() {
      const { fileSystem, log } = options;
      for (const { kind, message } of await tryWriting({ path, fileSystem, inPlace })) log.warn({ kind }, message);
      for (const warning of parts.local?.configuration?.load().warnings ?? []) log.warn({}, warning);
    },
  };
}

/** Opens a state in memory; with a data folder its counters outlive the process. Rejects as `openFileHome` does. */
export async function openMemoryHome(place: HomePlaceOf<'memory'>, options: ComposeOptions): Promise<Home> {
  return openLocal(place, options, null, false);
}

/** Opens a state of this process: a file, or memory alone. Rejects as `openFileHome` does. */
export async function openLocal(
  { dataFolder, serverVersion: server }: Pick<HomePlaceOf<'file' | 'memory'>, 'dataFolder' | 'serverVersion'>,
  { mounts, fileServers, observer, ...shared }: ComposeOptions,
  configPath: string | null,
  inPlace: boolean,
): Promise<Home> {
  const lines = server === null ? mounts : [server];
  const ofLines = lines.map(({ revision: { file }, version }) => ({ file, version }));
  const servers = server === null ? (fileServers ?? ofLines) : ofLines;
  const backend = await openLocalBackend({
    ...shared,
    configPath,
    inPlace,
    ...(dataFolder === null ? {} : { dataDir: dataFolder }),
    servers,
    keepsCounters: server === null ? null : server.revision.storing.keepsCounters(server.version),
    ...(observer === undefined ? {} : { observer: observer.configuration }),
  });
  const { configuration, counters, keptSessions } = backend;
  const { store } = counters;
  return {
    ...homeOver(backend),
    keepsReports: store !== null,
    problemKinds: FILE_PROBLEMS,
    holdSessions: (credentials) => keptSessions?.holdTo(credentials),
    metrics: () => [
      ...(configuration === null ? [] : [pendingFamily(configuration.status)]),
      ...(store === null ? [] : storeFamilies(store.status)),
    ],
    parts: { local: backend },
  };
}

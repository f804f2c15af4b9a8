import { SERVER_FILES } from '../../../revisions/all.js';
import type { UpstreamServer } from '../../client/server.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort, RandomPort } from '../../core/ports.js';
import { endedForAll } from '../../document/check/keeps-starting.js';
import { readDocument } from '../../document/document.js';
import { withKnownKeys } from '../../document/known-keys.js';
import type { KeptVersion } from '../../document/retention.js';
import { checkDataFolder, dataFolderAt } from '../../files/data-folder.js';
import { createKeptVersions } from '../../files/kept-versions.js';
import { keepVersion, listVersions, readVersion } from '../../files/restore-version.js';
import type { VersionsOptions } from '../../files/rewrite-file.js';
import { createTarget, readTarget } from '../../files/write-file.js';
import type { DatabaseBackend } from '../../homes/database/backend.js';
import { type RestoredBeside, restoreVersionBeside } from '../../homes/file/restore-beside.js';
import { readKnownKeys } from '../../homes/upstream/known-keys.js';
import { restoreConfiguration } from '../../homes/upstream/restore-configuration.js';
import { exists, unlessMissing } from '../../platform/presence.js';
import type { HomePlace, HomePlaceOf } from '../../settings/home.js';
import { silent } from '../options.js';
import type { VersionSource } from './compared-versions.js';

/** The outside world of commands over kept versions. */
export interface VersionsPorts {
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  readonly progress: ProgressPort;
}

/** The kept versions of one home's configuration. */
export interface HomeVersions {
  /** A sentence for where none is kept. */
  readonly none: string;
  /** Lets `work` read them. Rejects as it does, and with an `Error` for people where they cannot be had. */
  read<T>(work: (source: VersionSource) => Promise<T>): Promise<T>;
  /** Keeps what stands there now as the newest version; in front of a server its Keyway alone does. */
  keep(): Promise<void>;
  /** Rejects as `restore` does where that refuses the version as it is. */
  check(wanted: string): Promise<void>;
  /** Makes the configuration what it was. Rejects with an `Error` for people. */
  restore(wanted: string, options: { readonly dropWaiting: boolean }): Promise<Restored>;
  /** Writes a version to a new file, with the keys that were known last; null where the version is all that there is of them. */
  readonly writeOut: ((wanted: string, out: NewFile) => Promise<Restored>) | null;
}

interface NewFile {
  readonly path: string;
  /** The path as the command line has it. */
  readonly named: string;
}

export interface Restored {
  readonly json: object;
  /** The same for people. */
  readonly lines: readonly string[];
  /** Why it is not done yet; null where it is. */
  readonly problem: string | null;
}

/** A version as commands show it. */
export function recordOf({ id, keptAt, forever }: KeptVersion) {
  return { id, keptAt: new Date(keptAt).toISOString(), forever };
}

type OpenVersions<Kind extends HomePlace['kind']> = (
  place: HomePlaceOf<Kind>,
  ports: VersionsPorts,
) => HomeVersions | null;

const VERSIONS: { readonly [Kind in HomePlace['kind']]: OpenVersions<Kind> } = {
  file: ofFile,
  memory: () => null,
  test: () => null,
  upstream: ofUpstream,
  database: ofDatabase,
};

/** The kept versions of a home's configuration; null where it has none. */
export function versionsOf<Kind extends HomePlace['kind']>(
  place: HomePlaceOf<Kind>,
  ports: VersionsPorts,
): HomeVersions | null {
  return VERSIONS[place.kind](place, ports);
}

function ofFile({ path, dataFolder, inPlace }: HomePlaceOf<'file'>, ports: VersionsPorts): HomeVersions {
  const { fileSystem } = ports;
  const options = { ...ports, path, dataFolder, inPlace };
  return {
    none: `No versions of ${path} are kept in ${dataFolder}`,
    read: (work) =>
      work({
        list: () => listVersions(options),
        read: async (id) => (await readVersion(options, id)).content,
        present: async () => (await readTarget(fileSystem, path)).bytes,
      }),
    keep: () => keepVersion(options),
    check: (wanted) => refuseUnstartable(options, wanted),
    async restore(wanted, { dropWaiting }) {
      await refuseUnstartable(options, wanted);
      const done = await restoreVersionBeside(options, wanted, { dropWaiting });
      const { version, waiting, dropped } = done;
      const restored = recordOf(version);
      const sentence = `${path} is again what it was on ${restored.keptAt} (version ${restored.id})`;
      return { json: { path, restored, waiting, dropped }, lines: [sentence, ...waitingText(done)], problem: null };
    },
    writeOut: null,
  };
}

/** Rejects with an `Error` for people where servers start from the file as it is, and none does from the version. */
async function refuseUnstartable(options: VersionsOptions, wanted: string): Promise<void> {
  const { version, content } = await readVersion(options, wanted);
  const present = await unlessMissing(options.fileSystem.read(options.path, FILE_LIMITS.configuration));
  const ended = present === null ? null : endedForAll(present, content, SERVER_FILES);
  if (ended !== null)
    throw new Error(
      `nothing is restored: no server starts from version ${version.id}: ${ended}; put it in place by hand if it is meant`,
    );
}

function waitingText({ version, waiting, dropped }: RestoredBeside): readonly string[] {
  const remedy = `To have the version alone: keyway config restore ${version.id} --drop-waiting`;
  if (waiting === null) {
    if (dropped) return ['What waited for a write was dropped.'];
    return [`The Keyway that serves did not say what waits for a write; that comes back over it. ${remedy}`];
  }
  const { count, lines } = waiting;
  if (count === 0) return [];
  const many = count === 1 ? '1 change' : `${count} changes`;
  const heading = dropped
    ? `Dropped, of what could not be written before, ${many}:`
    : `What could not be written before comes back over it, ${many}:`;
  const more = count > lines.length ? [`  and ${count - lines.length} more`] : [];
  return [heading, ...lines.map((line) => `  ${line}`), ...more, ...(dropped ? [] : [remedy])];
}

function ofUpstream(place: HomePlaceOf<'upstream'>, ports: VersionsPorts): HomeVersions | null {
  const { origin, dataFolder } = place;
  if (dataFolder === null) return null;
  const { fileSystem, clock, progress } = ports;
  const open = async () => {
    await checkDataFolder(fileSystem, dataFolder, origin);
    return createKeptVersions({ fileSystem, clock, folder: dataFolderAt(dataFolder).versions });
  };
  const withServer = async <T>(work: (server: UpstreamServer) => Promise<T>): Promise<T> => {
    const { serverAt } = await import('./upstream.js');
    const server = await serverAt(place, { ...ports, log: silent });
    try {
      return await work(server);
    } finally {
      progress.clear();
      server.close();
    }
  };
  return {
    none: `No versions of ${origin} are kept in ${dataFolder}`,
    async read(work) {
      const versions = await open();
      return withServer((server) => work({ ...versions, present: async () => (await server.getConfig()).value }));
    },
    keep: async () => undefined,
    check: async () => undefined,
    async restore(wanted) {
      const versions = await open();
      return withServer(async (server) => {
        progress.show(`sending it to ${origin}, which takes it over within some seconds`);
        const { version, isLive } = await restoreConfiguration({ server, versions, clock }, wanted);
        const restored = recordOf(version);
        return {
          json: { upstream: origin, restored, live: isLive },
          lines: [`${origin} was sent its configuration of ${restored.keptAt} (version ${restored.id})`],
          problem: isLive
            ? null
            : `${origin} does not show the keys of that version: it may not be its configuration, or a key was changed before the server had read it. Then send it again`,
        };
      });
    },
    async writeOut(wanted, { path, named }) {
      const versions = await open();
      const version = await versions.find(wanted);
      if (await exists(fileSystem, path)) throw new Error(`${named} exists and is not overwritten`);
      const content = await versions.read(version.id);
      const known = await readKnownKeys(fileSystem, dataFolder, readDocument(content).configuration.keys);
      const { bytes, keys, added, removed } = withKnownKeys(content, known);
      await createTarget(fileSystem, path, bytes);
      const restored = recordOf(version);
      return {
        json: { path, upstream: origin, restored, keys, added, removed },
        lines: [
          `${named} is the configuration of ${origin} on ${restored.keptAt} (version ${restored.id})`,
          `with the ${keys} keys that Keyway knew last: ${added} more than it had then, and ${removed} of those not`,
        ],
        problem: null,
      };
    },
  };
}

function ofDatabase({ url }: HomePlaceOf<'database'>, ports: VersionsPorts): HomeVersions {
  // Its libraries are loaded where they are wanted.
  const withBackend = async <T>(work: (backend: DatabaseBackend) => Promise<T>): Promise<T> => {
    const { openDatabaseBackend } = await import('../../homes/database/backend.js');
    const backend = await openDatabaseBackend({ ...ports, url, migrates: false, listens: false });
    try {
      return await work(backend);
    } finally {
      await backend.close();
    }
  };
  return {
    none: 'No versions are kept in the database',
    read: (work) =>
      withBackend(({ document }) =>
        work({ list: () => document.versions(), read: (id) => document.version(id), present: () => document.text() }),
      ),
    keep: () => withBackend(({ document }) => document.keepVersion()),
    check: async () => undefined,
    restore: (wanted) =>
      withBackend(async ({ document }) => {
        const restored = recordOf(await document.restore(wanted));
        const line = `The configuration is again what it was on ${restored.keptAt} (version ${restored.id})`;
        return { json: { restored }, lines: [line], problem: null };
      }),
    writeOut: null,
  };
}

import { SERVER_FILES } from '../../../revisions/all.js';
import type { UpstreamServer } from '../../client/server.js';
import type { KeptVersion, VersionSource } from '../../core/backend.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort, RandomPort } from '../../core/ports.js';
import { refuseVersion } from '../../document/check/keeps-starting.js';
import { readDocument } from '../../document/document.js';
import { withKnownKeys } from '../../document/known-keys.js';
import { checkDataFolder, dataFolderAt } from '../../files/data-folder.js';
import { createKeptVersions } from '../../files/kept-versions.js';
import { keepVersion, listVersions, readVersion, type VersionsOptions } from '../../files/versions-of-file.js';
import { createTarget, readTarget } from '../../files/write-file.js';
import type { DatabaseDocument } from '../../homes/database/document.js';
import type { StoredPlace } from '../../homes/file/offline-replacements.js';
import type { Replacements } from '../../homes/file/replacements.js';
import type { WaitingChanges } from '../../homes/file/waiting-changes.js';
import { readKnownKeys } from '../../homes/upstream/known-keys.js';
import { restoreConfiguration, versionToSend } from '../../homes/upstream/restore-configuration.js';
import { exists, unlessMissing } from '../../platform/presence.js';
import type { HomePlace, HomePlaceOf } from '../../settings/home.js';
import { silent } from '../options.js';

/** The outside world of commands over kept versions. */
export interface VersionsPorts {
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  readonly progress: ProgressPort;
  /** Opens what replaces the files at a place, served or not. */
  readonly openReplacements: (place: StoredPlace) => Promise<Replacements>;
}

/** The kept versions of one home's configuration. */
export interface HomeVersions {
  /** A sentence for a home without kept versions. */
  readonly none: string;
  /**
   * Runs `work` with access to the versions. Rejects as `work` does, and with an `Error` for the user if they cannot be
   * read.
   */
  read<T>(work: (source: VersionSource) => Promise<T>): Promise<T>;
  /** Keeps the present configuration as the newest version; in front of a server only its Keyway does. */
  keep(): Promise<void>;
  /** Rejects as `restore` does if that would refuse the version itself. */
  check(wanted: string): Promise<void>;
  /** Restores the configuration of a version. Rejects with an `Error` for the user. */
  restore(wanted: string, options: { readonly dropWaiting: boolean }): Promise<Restored>;
  /** Writes a version to a new file, with the last known keys; null if there is nothing beyond the version to add. */
  readonly writeOut: ((wanted: string, out: NewFile) => Promise<Restored>) | null;
}

interface NewFile {
  readonly path: string;
  /** The path as given on the command line. */
  readonly named: string;
}

export interface Restored {
  readonly json: object;
  /** The same as text. */
  readonly lines: readonly string[];
  /** Why it has not taken effect yet; null if it has. */
  readonly problem: string | null;
}

/** Returns a version as commands show it. */
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

/** Returns the kept versions of a home's configuration; null if it keeps none. */
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
    async check(wanted) {
      await refuseUnstartable(options, wanted);
    },
    async restore(wanted, { dropWaiting }) {
      const { version, content } = await refuseUnstartable(options, wanted);
      const replacements = await ports.openReplacements({ ...options, configPath: path });
      const waiting = await replacements.putFile(content, { dropWaiting });
      const restored = recordOf(version);
      const sentence = `${path} is again what it was on ${restored.keptAt} (version ${restored.id})`;
      const lines = [sentence, ...waitingText(version, waiting, dropWaiting)];
      return { json: { path, restored, waiting, dropped: dropWaiting }, lines, problem: null };
    },
    writeOut: null,
  };
}

/** Resolves to the version. Rejects with an `Error` for the user if servers start from the present file but none would from it. */
async function refuseUnstartable(options: VersionsOptions, wanted: string) {
  const found = await readVersion(options, wanted);
  const { version, content } = found;
  const present = await unlessMissing(options.fileSystem.read(options.path, FILE_LIMITS.configuration));
  refuseVersion(present, { ...version, content }, SERVER_FILES);
  return found;
}

function waitingText({ id }: KeptVersion, { count, lines }: WaitingChanges, dropped: boolean): readonly string[] {
  const remedy = `To have the version alone: keyway config restore ${id} --drop-waiting`;
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
    async check(wanted) {
      const versions = await open();
      await withServer((server) => versionToSend({ server, versions }, wanted));
    },
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
  // Its libraries are loaded on demand.
  const withDocument = async <T>(work: (document: DatabaseDocument) => Promise<T>): Promise<T> => {
    const { openDatabaseDocument } = await import('../../homes/database/open-document.js');
    const { document, close } = await openDatabaseDocument({ ...ports, url });
    try {
      return await work(document);
    } finally {
      await close();
    }
  };
  return {
    none: 'No versions are kept in the database',
    read: (work) => withDocument((document) => work(document.versions)),
    keep: () => withDocument((document) => document.keepVersion()),
    check: async () => undefined,
    restore: (wanted) =>
      withDocument(async (document) => {
        const restored = recordOf(await document.restore(wanted));
        const line = `The configuration is again what it was on ${restored.keptAt} (version ${restored.id})`;
        return { json: { restored }, lines: [line], problem: null };
      }),
    writeOut: null,
  };
}

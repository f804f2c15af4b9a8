import type { Acknowledgement, Backend, BackendSettings, ChangeReason, Durability } from '../../core/backend.js';
import type { ConfigurationObserverPort } from '../../core/configuration-observer.js';
import { DomainError, messageOf } from '../../core/errors.js';
import { LocalRecords } from '../../core/kept-records.js';
import type { KeyRegistry } from '../../core/keys/registry.js';
import { DEFAULT_DNS, DEFAULT_PUBLISHED } from '../../core/model.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort } from '../../core/ports.js';
import { dataFolderBeside } from '../../files/data-folder.js';
import { openRecordsFile } from '../../files/records-file.js';
import { failureWords } from '../../platform/failure-words.js';
import {
  type ConfigurationFile,
  type ConfigurationFileOptions,
  createConfigurationFile,
} from './configuration/configuration-file.js';
import { type Counters, openCounters } from './counters/open-counters.js';
import { type KeptSessions, openKeptSessions } from './kept-sessions.js';
import { createKeyWrites, leavingFailureToNextWrite } from './key-writes.js';
import { createProblems } from './problems.js';
import { createRequestWorker, type RequestWorker } from './requests/request-worker.js';
import { keepPublicHost, readPublicHost, settingsOf } from './settings-of.js';

/** The backend of one server's configuration file, with counters and remembered reports in a data folder beside it. */
export interface LocalBackend extends Backend {
  readonly keys: KeyRegistry;
  /** Null in the run-time-only mode. */
  readonly configuration: ConfigurationFile | null;
  readonly counters: Counters;
  /** Null where nothing outlives the process. */
  readonly keptSessions: KeptSessions | null;
  /** Keyway's own records, in the data folder or in memory. */
  readonly records: LocalRecords;
  /** Keeps the host that clients are told where the file names none, from now on; resolves to the path of the file that has it. */
  keepPublicHost(host: string): Promise<string>;
  /** The requests of commands; to be looked at once the backend is open. */
  readonly requests: RequestWorker;
}

/** The settings about a server beside the file. */
export type BesideOptions = Pick<
  ConfigurationFileOptions,
  'legacyListReading' | 'plainKeysAlone' | 'unreadMilliseconds'
>;

export interface LocalBackendOptions extends BesideOptions {
  /** Null for the run-time-only mode (protocol: "Status and configuration", rule 1). */
  readonly configPath: string | null;
  /** Default: beside the configuration file; without one nothing outlives the process. */
  readonly dataDir?: string;
  /** The time that counters of keys that left by the file wait for their return, in milliseconds; default 30 days. */
  readonly keepGone?: number;
  /** The time between writes of counters, in milliseconds, 0 for never by itself; default 400. */
  readonly countersWriteMilliseconds?: number;
  /** Tunnel servers keep their counters over a restart; null, as when left out, where nobody has said so. */
  readonly keepsCounters?: boolean | null;
  readonly inPlace?: boolean;
  /** Refuses a replacement of the file that would take its inbounds with keys away. */
  readonly guard?: boolean;
  /** The time between looks at the file for edits, besides watching it; milliseconds, default 500. */
  readonly pollMilliseconds?: number;
  /** The system is asked for events of the file's folder, too; default true. */
  readonly watch?: boolean;
  readonly observer?: ConfigurationObserverPort;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly progress?: ProgressPort;
}

const NOTHING_CONFIGURED: BackendSettings = {
  outbound: null,
  dns: DEFAULT_DNS,
  listener: null,
  announced: {},
  published: DEFAULT_PUBLISHED,
};

/** Opens the file and loads what is kept beside it. Rejects with an `Error` whose message is for people. */
export async function openLocalBackend(options: LocalBackendOptions): Promise<LocalBackend> {
  const {
    configPath,
    observer,
    keepGone,
    countersWriteMilliseconds,
    keepsCounters = null,
    fileSystem,
    clock,
    log,
  } = options;
  const dataFolder = options.dataDir ?? (configPath === null ? null : dataFolderBeside(configPath));
  const configuration =
    configPath === null || dataFolder === null
      ? null
      : await createConfigurationFile({
          path: configPath,
          dataFolder,
          fileSystem,
          clock,
          log,
          inPlace: options.inPlace ?? false,
          guard: options.guard ?? false,
          ...(options.legacyListReading === undefined ? {} : { legacyListReading: options.legacyListReading }),
          ...(options.plainKeysAlone === undefined ? {} : { plainKeysAlone: options.plainKeysAlone }),
          ...(options.unreadMilliseconds === undefined ? {} : { unreadMilliseconds: options.unreadMilliseconds }),
          ...(observer === undefined ? {} : { observer }),
          ...(options.pollMilliseconds === undefined ? {} : { pollMilliseconds: options.pollMilliseconds }),
          ...(options.watch === undefined ? {} : { watch: options.watch }),
        });
  try {
    const counters = await openCounters({
      dataFolder,
      configuration:
        configuration === null || configPath === null
          ? null
          : { path: configPath, keys: configuration.load().keys, hold: configuration.hold },
      ...(keepGone === undefined ? {} : { keepGone }),
      ...(countersWriteMilliseconds === undefined ? {} : { writeMilliseconds: countersWriteMilliseconds }),
      keepsCounters,
      fileSystem,
      clock,
      log,
    });
    const keptSessions = dataFolder === null ? null : await openKeptSessions({ dataFolder, fileSystem, log });
    const records =
      dataFolder === null ? new LocalRecords() : await openRecordsFile({ fileSystem, folder: dataFolder, log });
    const publicHost = await readPublicHost(configPath, fileSystem);
    return createLocalBackend({ configuration, counters, keptSessions, records, publicHost, ...options });
  } catch (error) {
    await configuration?.close();
    throw error;
  }
}

/** The parts of a local backend, open. */
export interface LocalBackendParts
  extends Pick<LocalBackendOptions, 'fileSystem' | 'clock' | 'log' | 'progress' | 'plainKeysAlone'> {
  readonly configuration: ConfigurationFile | null;
  /** Its path; null, as when left out, without one. */
  readonly configPath?: string | null;
  /** The host that clients are told where the file names none; null: none. */
  readonly publicHost?: string | null;
  /** Loaded for the keys of that configuration. */
  readonly counters: Counters;
  readonly keptSessions?: KeptSessions | null;
  /** Default: in memory. */
  readonly records?: LocalRecords;
}

export function createLocalBackend(parts: LocalBackendParts): LocalBackend {
  const { configuration, counters, keptSessions = null, records = new LocalRecords() } = parts;
  const { fileSystem, clock, log, progress } = parts;
  const { keys, usage, sources, store } = counters;
  const listeners: ((reason: ChangeReason) => void)[] = [];
  const { configPath = null } = parts;
  let { publicHost = null } = parts;
  let settings = configuration === null ? NOTHING_CONFIGURED : settingsOf(configuration.load(), publicHost);
  const requests = createRequestWorker({
    configuration,
    counters,
    fileSystem,
    clock,
    log,
    ...(progress === undefined ? {} : { progress }),
  });

  function become(next: BackendSettings, reason: ChangeReason): void {
    settings = next;
    // Each for itself: sessions must end with changed credentials although a resolver could not follow.
    for (const listener of listeners) {
      try {
        listener(reason);
      } catch (error) {
        log.error({ reason: failureWords(error) }, 'a change of the configuration could not be followed');
      }
    }
  }

  configuration?.goneMeanwhile(keys.missing);
  keys.replaceAll(configuration?.load().keys ?? []);
  // All of it in one turn of the event loop: no answer shows keys, counters and settings of different configurations.
  configuration?.onReload((next, reason, hasSameKeys) => {
    if (!hasSameKeys) keys.replaceAll(next.keys);
    if (reason === 'restored') requests.restored();
    become(settingsOf(next, publicHost), reason);
  });

  /** Makes counts as durable as was asked, and says how durable they are. */
  async function durable(acknowledgement: Acknowledgement): Promise<Durability> {
    if (acknowledgement === 'memory' || store === null) return 'memory';
    try {
      await store.flush();
      return 'durable';
    } catch (error) {
      return { failed: messageOf(error) };
    }
  }

  return {
    ...createKeyWrites({
      keys,
      renewals: counters.renewals,
      configuration,
      store,
      ...(parts.plainKeysAlone === undefined ? {} : { plainKeysAlone: parts.plainKeysAlone }),
    }),
    keys,
    configuration,
    counters,
    keptSessions,
    records,
    requests,
    settings: () => settings,
    async keepPublicHost(host) {
      if (configPath === null || configuration === null) throw new DomainError('noConfigPath');
      const path = await keepPublicHost(configPath, host, fileSystem);
      publicHost = host;
      become(settingsOf(configuration.load(), publicHost), 'saved');
      return path;
    },
    onChange(listener) {
      listeners.push(listener);
    },
    async replaceRules(rules) {
      const { outbound } = settings;
      if (outbound === null) throw new DomainError('outboundNotConfigured');
      become({ ...settings, outbound: { ...outbound, rules } }, 'saved');
      await leavingFailureToNextWrite(configuration?.save({ rules }) ?? Promise.resolve());
    },
    async changeDns(change) {
      become({ ...settings, dns: { ...settings.dns, ...change } }, 'saved');
      await configuration?.save({ dns: change }).catch((error: unknown) => {
        throw error instanceof DomainError && error.code === 'saveFailed'
          ? new DomainError('appliedUnsaved', error.detail)
          : error;
      });
    },
    async count(report, acknowledgement) {
      const counted = usage.count(report);
      return { ...counted, durability: await durable(acknowledgement) };
    },
    async countPosted(post, acknowledgement) {
      const outcome = await sources.take(post);
      return { outcome, durability: await durable(acknowledgement) };
    },
    document:
      configuration === null
        ? null
        : { read: configuration.readAsJson, replace: configuration.replace, patch: configuration.patch },
    audit: null,
    sessions: keptSessions === null ? null : keptSessions.session,
    live: null,
    replica: null,
    refreshBlocklists: null,
    problems: createProblems({
      configuration: configuration === null ? null : configuration.status,
      counters: store === null ? null : store.status,
      fileSystem,
    }),
    async close() {
      await requests.close();
      await keptSessions?.close();
      await records.close();
      await counters.close();
      await configuration?.close();
    },
  };
}

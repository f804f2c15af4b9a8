import type { Acknowledgement, Backend, BackendSettings, ChangeReason, Durability } from '../../core/backend.js';
import { ChangeListeners } from '../../core/change-listeners.js';
import { DomainError, isInMemory, messageOf, unlessInMemory } from '../../core/errors.js';
import { LocalRecords } from '../../core/kept-records.js';
import type { KeyRegistry } from '../../core/keys/registry.js';
import { DEFAULT_DNS, DEFAULT_PUBLISHED } from '../../core/model.js';
import { dataFolderBeside } from '../../files/data-folder.js';
import { inDataFolder } from '../../files/foreign.js';
import { openRecordsFile } from '../../files/records-file.js';
import {
  type ConfigurationFile,
  type ConfigurationFileOptions,
  createConfigurationFile,
} from './configuration/configuration-file.js';
import { type Counters, type CountersPlace, openCounters } from './counters/open-counters.js';
import { type KeptSessions, openKeptSessions } from './kept-sessions.js';
import { createKeyWrites } from './key-writes.js';
import { createProblems } from './problems.js';
import { LiveReplacements } from './replacements.js';
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
  /** Replaces as a whole, for commands. */
  readonly replacements: LiveReplacements;
}

export interface LocalBackendOptions
  extends Omit<ConfigurationFileOptions, 'path' | 'dataFolder' | 'processes' | 'wait'>,
    Pick<CountersPlace, 'countersWriteMilliseconds' | 'keepsCounters'> {
  /** Null for the run-time-only mode (protocol: "Status and configuration", rule 1). */
  readonly configPath: string | null;
  /** Default: beside the configuration file; without one nothing outlives the process. */
  readonly dataDir?: string;
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
  const { configPath, fileSystem } = options;
  const dataFolder = options.dataDir ?? (configPath === null ? null : dataFolderBeside(configPath));
  const open = () => openOver(options, dataFolder);
  return dataFolder === null ? open() : inDataFolder(fileSystem, { dataFolder, configPath }, open);
}

async function openOver(options: LocalBackendOptions, dataFolder: string | null): Promise<LocalBackend> {
  const { configPath, fileSystem, log } = options;
  const configuration =
    configPath === null || dataFolder === null
      ? null
      : await createConfigurationFile({ ...options, path: configPath, dataFolder });
  try {
    const counters = await openCounters({
      ...options,
      dataFolder,
      configuration:
        configuration === null || configPath === null
          ? null
          : { path: configPath, keys: configuration.load().keys, hold: configuration.hold },
    });
    const records =
      dataFolder === null
        ? new LocalRecords()
        : await openRecordsFile({ fileSystem, folder: dataFolder, log, hold: counters.hold });
    const keptSessions = dataFolder === null ? null : await openKeptSessions({ records, dataFolder, fileSystem, log });
    configuration?.rememberStarts(records);
    const publicHost = await readPublicHost(configPath, fileSystem);
    const backend = createLocalBackend({ configuration, counters, keptSessions, records, publicHost, ...options });
    await backend.replacements.finishInterrupted();
    return backend;
  } catch (error) {
    await configuration?.close();
    throw error;
  }
}

export interface LocalBackendParts extends Pick<LocalBackendOptions, 'fileSystem' | 'clock' | 'log' | 'servers'> {
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
  const { fileSystem, log } = parts;
  const { keys, usage, sources, store } = counters;
  const listeners = new ChangeListeners(log);
  const { configPath = null } = parts;
  let { publicHost = null } = parts;
  let settings = configuration === null ? NOTHING_CONFIGURED : settingsOf(configuration.load(), publicHost);
  const replacements = new LiveReplacements({ ...parts, records });

  function become(next: BackendSettings, reason: ChangeReason): void {
    settings = next;
    listeners.tell(reason);
  }

  configuration?.goneMeanwhile(keys.missing);
  keys.replaceAll(configuration?.load().keys ?? []);
  // All of it in one turn of the event loop: no answer shows keys, counters and settings of different configurations.
  configuration?.onReload((next, reason, hasSameKeys) => {
    if (!hasSameKeys) keys.replaceAll(next.keys);
    if (reason === 'restored') replacements.restored();
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
    ...createKeyWrites({ ...parts, ...counters }),
    keys,
    configuration,
    counters,
    keptSessions,
    records,
    replacements,
    settings: () => settings,
    async keepPublicHost(host) {
      if (configPath === null || configuration === null) throw new DomainError('noConfigPath');
      const path = await keepPublicHost(configPath, host, fileSystem);
      publicHost = host;
      become(settingsOf(configuration.load(), publicHost), 'saved');
      return path;
    },
    onChange: listeners.add,
    async replaceRules(rules) {
      const { outbound } = settings;
      if (outbound === null) throw new DomainError('outboundNotConfigured');
      become({ ...settings, outbound: { ...outbound, rules } }, 'saved');
      await configuration?.save({ rules }).catch(unlessInMemory);
    },
    async changeDns(change) {
      become({ ...settings, dns: { ...settings.dns, ...change } }, 'saved');
      await configuration?.save({ dns: change }).catch((error: unknown) => {
        // The words of these answers are fixed: the reason alone follows them.
        throw isInMemory(error) ? new DomainError('savedInMemory', configuration.status().lastWriteError ?? '') : error;
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
        : {
            read: configuration.readAsJson,
            replace: configuration.replace,
            patch: configuration.patch,
            keepVersion: configuration.keepVersion,
            versions: {
              ...configuration.versions,
              restore: async (content) => void (await replacements.putFile(content, {})),
            },
          },
    audit: null,
    sessions: keptSessions === null ? null : keptSessions.session,
    live: null,
    replica: null,
    refreshBlocklists: null,
    past: null,
    problems: createProblems({
      configuration: configuration === null ? null : configuration.status,
      counters: store === null ? null : store.status,
      fileSystem,
    }),
    async close() {
      await replacements.close();
      await records.close();
      await counters.close();
      await configuration?.close();
    },
  };
}

import type { ConfigurationObserverPort } from '../../../core/configuration-observer.js';
import type { AccessKey, ConfigurationChange, ServerConfiguration } from '../../../core/model.js';
import type { ClockPort, FileSystemPort, LogPort } from '../../../core/ports.js';
import type { StartWatch } from '../../../document/check/start-watch.js';
import type { Hold } from '../../../files/hold.js';
import type { InPlaceWriting } from '../../../files/in-place.js';
import type { KeptVersions } from '../../../files/kept-versions.js';
import type { FileServer } from '../../../wire/traits/server-file.js';
import type { ChangeJournal } from './change-journal.js';
import type { InboundsWatch } from './inbounds-watch.js';
import { layOver, mergeChanges } from './pending-changes.js';
import type { UnconfirmedChanges } from './unconfirmed-changes.js';

/** A configuration file that is served, as every part that serves it is handed it. */
export interface ServedFile {
  readonly path: string;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** 0 for no polling. */
  readonly pollMilliseconds: number;
  readonly watch: boolean;
  /** The servers that may read the file. */
  readonly servers: readonly FileServer[];
  readonly givesUpUnsaved: boolean;
  /** The process in whose memory changes stand, for people. */
  readonly process: string;
  readonly observer?: ConfigurationObserverPort;
  readonly hold: Hold;
  readonly versions: KeptVersions;
  /** Null where the file is replaced. */
  readonly overwriting: InPlaceWriting | null;
  readonly journal: ChangeJournal;
  readonly state: FileState;
  readonly inbounds: InboundsWatch;
  readonly starts: StartWatch;
}

/**
 * The outcome of the file's last reading. A `broken` file is read again once it looks another, an `unavailable` one at
 * the next look, because it may be readable by then although it looks the same from outside.
 */
export type LastReading = 'good' | 'broken' | 'unavailable';

/** Written changes are gathered up to this count, because laying them over goes through all keys. */
const GATHERED = 4096;

const NO_KEYS: ReadonlyMap<string, AccessKey | null> = new Map();

/** The configuration of a file that is served: what the file holds, and the changes that it does not hold yet. */
export class FileState {
  /** The changes that a server of the same file may not have read yet. */
  readonly unconfirmed: UnconfirmedChanges;
  /** Changes that are asked for and not written yet, in their order, those on their way first. */
  readonly accepted = new Set<ConfigurationChange>();
  /** The changes that wait for a write: those whose write failed, and those that another program took back. */
  pending: ConfigurationChange = {};
  /** The next write keeps a version first: the first after a start, and after every change from outside. */
  keepsNext = true;
  reading: LastReading = 'good';
  #read: ServerConfiguration;
  #writtenKeys = new Map<string, AccessKey | null>();
  #writtenSettings: ConfigurationChange = {};

  constructor(read: ServerConfiguration, unconfirmed: UnconfirmedChanges) {
    this.#read = read;
    this.unconfirmed = unconfirmed;
  }

  inFile(): ServerConfiguration {
    this.becomes(layOver(this.#read, { ...this.#writtenSettings, keys: this.#writtenKeys }));
    return this.#read;
  }

  /** The live configuration: the file's with all that is not written yet laid over it. */
  live(): ServerConfiguration {
    return layOver(this.inFile(), this.unwritten());
  }

  /** The changes that stand in memory alone: those whose write failed, and those that are still to be written. */
  unwritten(): ConfigurationChange {
    return [...this.accepted].reduce(mergeChanges, this.pending);
  }

  /** Notes that a change was written into the file. */
  wrote({ keys = NO_KEYS, ...settings }: ConfigurationChange): void {
    for (const [accessKey, record] of keys) this.#writtenKeys.set(accessKey, record);
    this.#writtenSettings = mergeChanges(this.#writtenSettings, settings);
    if (this.#writtenKeys.size > GATHERED) this.inFile();
  }

  /** Notes that another configuration was read. */
  becomes(configuration: ServerConfiguration): void {
    this.#read = configuration;
    this.#writtenKeys.clear();
    this.#writtenSettings = {};
  }
}

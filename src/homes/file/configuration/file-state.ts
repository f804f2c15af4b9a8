import type { ConfigurationObserverPort } from '../../../core/configuration-observer.js';
import type { ConfigurationChange, ServerConfiguration } from '../../../core/model.js';
import type { ClockPort, FileSystemPort, LogPort } from '../../../core/ports.js';
import type { StartWatch } from '../../../document/check/start-watch.js';
import type { Hold } from '../../../files/hold.js';
import type { InPlaceWriting } from '../../../files/in-place.js';
import type { KeptVersions } from '../../../files/kept-versions.js';
import type { FileServer } from '../../../wire/traits/server-file.js';
import type { InboundsWatch } from './inbounds-watch.js';
import { changeCount, layOver, mergeChanges } from './pending-changes.js';
import type { ReappliedChanges } from './reapplied-changes.js';
import type { UnreadJournal } from './unread-journal.js';

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
  readonly journal: UnreadJournal;
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

/** The configuration of a file that is served: what the file holds, and the changes that it does not hold yet. */
export class FileState {
  /** The changes that a server beside need not have read. */
  readonly reapplied: ReappliedChanges;
  /** Changes that are asked for and not written yet, in their order, those on their way first. */
  readonly accepted = new Set<ConfigurationChange>();
  /** The changes that wait for a write: those whose write failed, and those that another program took back. */
  pending: ConfigurationChange = {};
  /** The next write keeps a version first: the first after a start, and after every change from outside. */
  keepsNext = true;
  reading: LastReading = 'good';
  #read: ServerConfiguration;
  #writtenSince: ConfigurationChange = {};

  constructor(read: ServerConfiguration, reapplied: ReappliedChanges) {
    this.#read = read;
    this.reapplied = reapplied;
  }

  inFile(): ServerConfiguration {
    this.#read = layOver(this.#read, this.#writtenSince);
    this.#writtenSince = {};
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
  wrote(change: ConfigurationChange): void {
    this.#writtenSince = mergeChanges(this.#writtenSince, change);
    if (changeCount(this.#writtenSince) > GATHERED) this.inFile();
  }

  /** Notes that another configuration was read. */
  becomes(configuration: ServerConfiguration): void {
    this.#read = configuration;
    this.#writtenSince = {};
  }
}

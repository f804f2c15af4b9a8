import { basename, join } from 'node:path';
import type { KeptRecords } from '../../core/kept-records.js';
import { stampRemoved } from '../../core/keys/removed-keys.js';
import type { ClockPort, FileSystemPort, LogPort } from '../../core/ports.js';
import { type Pieces, piecesOf } from '../../files/file-pieces.js';
import { failureWords } from '../../platform/failure-words.js';
import type { ConfigurationFile } from './configuration/configuration-file.js';
import type { WholeContent } from './configuration/whole-content.js';
import { readState, type StoredState } from './counters/lines.js';
import type { Counters } from './counters/open-counters.js';
import { forgetRestore, notedRestores, noteRestore, refuseEarlier } from './restore-intent.js';
import { withNotes } from './restored-notes.js';
import { type WaitingChanges, waitingChanges } from './waiting-changes.js';

/** Replaces parts of a file's home as a whole, for commands. Each call resolves once that is durable. */
export interface Replacements {
  /** Makes file, counters, remembered reports and the notes in it what a backup holds. Rejects with nothing changed where it is not whole. */
  restore(backup: Pieces): Promise<void>;
  /** Replaces the counters of the keys in this state. */
  importCounters(state: Pieces): Promise<void>;
  /** Makes the configuration file this content, byte for byte; resolves to the changes whose write had failed. */
  putFile(content: Buffer, how: WholeContent): Promise<WaitingChanges>;
}

interface LiveReplacementsOptions {
  readonly fileSystem: FileSystemPort;
  readonly configuration: ConfigurationFile | null;
  readonly counters: Counters;
  /** Keyway's own records. */
  readonly records: KeptRecords;
  readonly clock: ClockPort;
  readonly log: LogPort;
}

/** The replacements of a home that is open. */
export class LiveReplacements implements Replacements {
  readonly #options: LiveReplacementsOptions;
  /** The work that is due as soon as a restored configuration is live. */
  #withConfiguration: (() => void) | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LiveReplacementsOptions) {
    this.#options = options;
  }

  async restore(backup: Pieces): Promise<void> {
    const { fileSystem, counters, log } = this.#options;
    const path = await noteRestore(fileSystem, folderOf(counters), backup);
    await this.#inTurn(() => this.#finish(path));
    log.info({}, 'a backup was restored');
  }

  async importCounters(content: Pieces): Promise<void> {
    const { counters, clock, log } = this.#options;
    const { keys, renewals, store } = counters;
    const state = await readState(content);
    await this.#inTurn(async () => {
      for (const kept of state.counters) {
        const isRegistered = keys.get(kept.accessKey) !== undefined;
        renewals.settle(kept.accessKey);
        keys.takeOver(isRegistered ? kept : stampRemoved(kept, clock.now()));
      }
      await store?.flush();
    });
    log.info({}, 'counters were imported');
  }

  async putFile(content: Buffer, how: WholeContent): Promise<WaitingChanges> {
    const { configuration } = this.#options;
    if (configuration === null) throw new Error('there is no configuration file');
    return waitingChanges(await this.#inTurn(() => configuration.restore(content, how)));
  }

  /** Makes live what was restored with a configuration, in the turn of the event loop in which that became live. */
  restored(): void {
    this.#withConfiguration?.();
    this.#withConfiguration = null;
  }

  /** Finishes a restore that the process before did not come to the end of, and names what else was asked of it. */
  async finishInterrupted(): Promise<void> {
    const { fileSystem, counters, log } = this.#options;
    const { dataFolder } = counters;
    if (dataFolder === null) return;
    for (const path of await notedRestores(fileSystem, dataFolder)) {
      try {
        await this.#finish(path);
        log.warn({ backup: path }, 'a restore that was interrupted is finished');
      } catch (error) {
        log.error({ backup: path, reason: failureWords(error) }, 'a restore that was interrupted is given up');
      }
    }
    for (const name of (await fileSystem.list(dataFolder)).filter((each) => OTHERS.test(each)))
      log.warn({ file: join(dataFolder, name) }, NOT_DONE);
  }

  /** Ends when all work is done. What a command of an earlier Keyway asked meanwhile is not left to the next start. */
  async close(): Promise<void> {
    const { fileSystem, counters, log } = this.#options;
    const { dataFolder, usage } = counters;
    await this.#last;
    const asked = dataFolder === null ? [] : await notedRestores(fileSystem, dataFolder).catch(() => []);
    for (const path of asked.filter((each) => !usage.reports.has(basename(each)))) {
      log.warn({ backup: path }, 'a restore was not done: the command that asked for it is of an earlier Keyway');
      await refuseEarlier(fileSystem, path).catch(() => undefined);
    }
  }

  /** Does a restore that is noted; whatever comes of it, the next start has nothing to finish. */
  async #finish(path: string): Promise<void> {
    const { fileSystem, counters, log } = this.#options;
    let isWritten = true;
    try {
      if (!counters.usage.reports.has(basename(path))) {
        await this.#apply(await readState(piecesOf(fileSystem, path)), basename(path));
      }
      await counters.store?.flush().catch(() => {
        isWritten = false;
      });
    } finally {
      await forgetRestore(fileSystem, folderOf(counters), path).catch((error: unknown) =>
        log.error({ backup: path, reason: failureWords(error) }, 'a backup stays in the data folder: remove it'),
      );
    }
    // On a full disk they have the room of the backup now.
    if (!isWritten) await counters.store?.flush();
  }

  /** The name of the restore is remembered like a report's id: after a crash it is known whether it was done. */
  async #apply({ configuration: content, notes, ...restored }: StoredState, name: string): Promise<void> {
    const { configuration, counters, records } = this.#options;
    const { keys, usage, renewals, sources } = counters;
    const apply = () => {
      keys.restore(restored.counters);
      renewals.settleAll();
      if (restored.reports !== null) usage.reports.restore(restored.reports);
      if (restored.sources !== null) sources.restore(restored.sources.sources, restored.sources.bases);
      usage.reports.add(name);
    };
    await withNotes(records, notes, async () => {
      if (content === null || configuration === null) return apply();
      this.#withConfiguration = apply;
      try {
        await configuration.restore(content);
        // A configuration that is not applied live has told nobody.
        this.restored();
      } finally {
        this.#withConfiguration = null;
      }
    });
  }

  /** Does the work when all before it is done. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** Matches files that commands of Keyways up to 0.9 have left in a data folder. */
const OTHERS = /^request-(?:import|version)-[0-9a-f]{12}$/;
const NOT_DONE =
  'a command of an earlier Keyway has left this, and it was not done: run the command again, and remove the file';

function folderOf({ dataFolder }: Counters): string {
  if (dataFolder === null) throw new Error('nothing is stored: there is no data folder');
  return dataFolder;
}

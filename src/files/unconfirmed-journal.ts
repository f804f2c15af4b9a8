import type { LogPort } from '../core/ports.js';
import { failureWords } from '../platform/failure-words.js';
import { createLineJournal, type LineJournal, type LineJournalOptions } from './line-journal.js';

export interface UnconfirmedJournalOptions extends Omit<LineJournalOptions, 'syncs'> {
  readonly log: LogPort;
  /** The text for the log where something cannot be noted. */
  readonly failure: string;
  /** The disk has soon what is noted; false where nobody loses a write by an end of the system. */
  readonly outlivesSystem: boolean;
}

/**
 * Notes of the writes that are unconfirmed, in a file of the data folder. A failure to note one fails no write: it is logged
 * once, and the next note carries what this one has lost.
 */
export class UnconfirmedJournal {
  readonly #options: UnconfirmedJournalOptions;
  readonly #file: LineJournal;
  #lines = '';
  #writing: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | null = null;
  #syncing: Promise<void> | null = null;
  #isSynced = true;
  #problem: string | null = null;

  constructor(options: UnconfirmedJournalOptions) {
    this.#options = options;
    this.#file = createLineJournal({ ...options, syncs: options.outlivesSystem ? 'rewritten' : 'nothing' });
  }

  /** Why the last write failed, or null. */
  get problem(): string | null {
    return this.#problem;
  }

  /**
   * Notes lines, those that wait in one write. Resolves when no end of this process can take them back, or when that has
   * failed.
   */
  note(lines: string): Promise<void> {
    this.#lines += lines;
    if (this.#waiting === null) {
      this.#waiting = this.#writing.then(() => this.#write());
      this.#writing = this.#waiting;
    }
    return this.#waiting;
  }

  async close(): Promise<void> {
    while (this.#waiting !== null) await this.#waiting;
    await this.#writing;
    await this.#syncing;
  }

  async #write(): Promise<void> {
    this.#waiting = null;
    const lines = this.#lines;
    this.#lines = '';
    try {
      await this.#file.write(lines);
      this.#problem = null;
      if (this.#options.outlivesSystem) this.#syncSoon();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** One at a time, and another where something was appended meanwhile. */
  #syncSoon(): void {
    this.#isSynced = false;
    this.#syncing ??= this.#sync().finally(() => {
      this.#syncing = null;
    });
  }

  async #sync(): Promise<void> {
    const { fileSystem, path } = this.#options;
    while (!this.#isSynced) {
      this.#isSynced = true;
      await fileSystem.sync(path).catch((error: unknown) => this.#failed(error));
    }
  }

  /** The next write is the whole file, with what this one has lost. */
  #failed(error: unknown): void {
    const { path, log, failure } = this.#options;
    this.#file.distrust();
    const reason = failureWords(error);
    if (this.#problem === null) log.error({ file: path, reason }, failure);
    this.#problem = reason;
  }
}

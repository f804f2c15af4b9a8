import { dirname } from 'node:path';
import type { FileStat } from '../../../core/ports.js';
import { TakenFileError } from '../../../files/in-place.js';
import { TICK_MS } from '../../../files/write-file.js';
import { failureCode } from '../../../platform/failure-words.js';
import type { CommitQueue } from './commit-queue.js';
import type { ServedFile } from './file-state.js';
import { BrokenFileError, type KnownFile } from './known-file.js';
import { changeCount } from './pending-changes.js';
import type { Reloads } from './reloads.js';

/** An editor makes several events of one saving, and the first ones come too early. */
const DEBOUNCE_MS = 50;

/** Notices edits of the file, by the system's events and by looking at it from time to time, until `stop`. */
export class EditWatch {
  readonly #served: ServedFile;
  readonly #file: KnownFile;
  readonly #reloads: Reloads;
  readonly #queue: CommitQueue;
  readonly #stops: readonly (() => void)[];
  #isStopped = false;
  #isChecking = false;
  #checksAgain = false;
  #debounce: NodeJS.Timeout | undefined;
  #lastSeen: string | null = null;
  /** The time for which polling has seen the same, in milliseconds. */
  #seenFor = 0;
  #isSettled = false;

  constructor(served: ServedFile, realPath: string, file: KnownFile, reloads: Reloads, queue: CommitQueue) {
    this.#served = served;
    this.#file = file;
    this.#reloads = reloads;
    this.#queue = queue;
    const { fileSystem, path, pollMilliseconds } = served;
    const folders = served.watch ? [...new Set([dirname(path), dirname(realPath)])] : [];
    const poll = pollMilliseconds > 0 ? setInterval(() => this.#check(true), pollMilliseconds).unref() : undefined;
    this.#stops = [
      ...folders.map((folder) => fileSystem.watch(folder, () => this.#onEvent())),
      () => clearInterval(poll),
    ];
  }

  stop(): void {
    this.#isStopped = true;
    for (const stop of this.#stops) stop();
    clearTimeout(this.#debounce);
  }

  #onEvent(): void {
    if (this.#isStopped || this.#debounce !== undefined) return;
    this.#debounce = setTimeout(() => {
      this.#debounce = undefined;
      this.#check(false);
    }, DEBOUNCE_MS).unref();
  }

  #check(isPolled: boolean): void {
    if (this.#isStopped) return;
    this.#checksAgain = this.#isChecking;
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#checkNow(isPolled).finally(() => {
      this.#isChecking = false;
      if (this.#checksAgain) this.#check(false);
    });
  }

  /** Reads the file where its stat is not the one known; never rejects. */
  async #checkNow(isPolled: boolean): Promise<void> {
    const { fileSystem, path, pollMilliseconds, state } = this.#served;
    // A write reads the file itself.
    if (this.#queue.busy()) return;
    const stat = await fileSystem.stat(path).catch((error: unknown) => failureCode(error) ?? 'unknown');
    const seen = typeof stat === 'string' ? stat : signatureOf(stat);
    // Two edits within a tick of the file system's clock look like one: what has changed is read until that is over.
    const isNew = seen !== this.#lastSeen || state.reading === 'unavailable';
    if (!isNew && this.#isSettled) return;
    if (isNew) this.#seenFor = 0;
    else if (isPolled) this.#seenFor += pollMilliseconds;
    const isKnown = typeof stat !== 'string' && state.reading === 'good' && this.#file.isKnown(stat);
    this.#isSettled = isKnown || this.#seenFor > TICK_MS;
    this.#lastSeen = seen;
    if (!isKnown && !this.#isStopped) await this.#queue.exclusive(() => this.#read());
  }

  async #read(): Promise<void> {
    const { path, state, overwriting } = this.#served;
    try {
      await overwriting?.checkThere(path);
      const { touched } = await this.#file.look();
      this.#reloads.readable();
      // The file can be read, so that what waits for a write goes with this occasion; without any, that it can is news.
      const isDue = state.reading !== 'good' || (touched && changeCount(state.pending) > 0);
      state.reading = 'good';
      if (isDue) this.#queue.add({}).catch(() => undefined);
    } catch (error) {
      if (!(error instanceof TakenFileError)) this.#reloads.unreadable(error, this.#file.document.bytes);
      state.reading = error instanceof BrokenFileError ? 'broken' : 'unavailable';
    }
  }
}

function signatureOf({ dev, ino, size, mtimeNs, ctimeNs }: FileStat): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

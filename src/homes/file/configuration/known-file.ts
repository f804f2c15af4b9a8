import { dirname } from 'node:path';
import type { FileStat } from '../../../core/ports.js';
import { type ConfigurationDocument, type ReadConfiguration, readDocument } from '../../../document/document.js';
import { readTarget, sameFile, showsChanges, type TargetFile } from '../../../files/write-file.js';
import { failureCode, failureWords } from '../../../platform/failure-words.js';
import type { ServedFile } from './file-state.js';

export interface FoundFile {
  readonly target: TargetFile;
  readonly document: ConfigurationDocument;
}

/** The file holds something that is no configuration. */
export class BrokenFileError extends Error {
  // Printing an error prints its own members: the file's content, with its secrets, must not be one.
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, options: ErrorOptions) {
    super(failureWords(options.cause), options);
    this.name = 'BrokenFileError';
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
}

interface LookedAtFile extends FoundFile {
  /** Somebody else has changed it, or only its rights or its owner, since it was last read or written here. */
  readonly touched: boolean;
}

const WAIT_MS = 50;
/** A program that writes the file is given 1 s; one that removes it to create it again a quarter of that. */
const BROKEN_ATTEMPTS = 20;
const MISSING_ATTEMPTS = 5;

/** Reads the file for the first time; rejects as `settled` does. */
export async function readFirst({
  fileSystem,
  path,
  wait,
}: Pick<ServedFile, 'fileSystem' | 'path' | 'wait'>): Promise<FoundFile & ReadConfiguration> {
  return patiently(wait, async () => {
    const target = await readTarget(fileSystem, path);
    return { target, ...readWith(target.bytes) };
  });
}

/** Told of a content that nobody here has written. */
type EditListener = (before: Buffer, reading: ReadConfiguration) => void;

/** The last good content of the file, and how much of it is known to be durable. */
export class KnownFile {
  readonly #served: ServedFile;
  readonly #onEdit: EditListener;
  #document: ConfigurationDocument;
  #stat: FileStat | null;
  /** False for a file as it was found: a Keyway that was killed before its sync may have left it in the system's memory alone. */
  #isDurable = false;
  #attempted: ConfigurationDocument | null = null;

  constructor(served: ServedFile, first: FoundFile, onEdit: EditListener) {
    this.#served = served;
    this.#document = first.document;
    this.#stat = first.target.stat;
    this.#onEdit = onEdit;
  }

  /** The last content that could be read. */
  get document(): ConfigurationDocument {
    return this.#document;
  }

  /** Reads the file now, once. Rejects with `BrokenFileError` or the file system's error. */
  async look(): Promise<LookedAtFile> {
    const { fileSystem, path } = this.#served;
    const target = await readTarget(fileSystem, path, this.#document.bytes);
    const { bytes, stat } = target;
    const isSame = bytes === this.#document.bytes;
    const touched = !isSame || this.#stat === null || !sameFile(this.#stat, stat);
    if (isSame) this.#is(this.#document, stat, this.#isDurable && !touched);
    else if (this.#attempted !== null && bytes.equals(this.#attempted.bytes)) this.#is(this.#attempted, stat, false);
    else {
      const reading = readWith(bytes);
      const before = this.#document.bytes;
      this.#is(reading.document, stat, false);
      this.#onEdit(before, reading);
    }
    return { target, document: this.#document, touched };
  }

  /** Looks, giving a program that is writing the file up to 1 s to come to its end. */
  settled(): Promise<FoundFile> {
    return patiently(this.#served.wait, () => this.look());
  }

  /**
   * Returns the file as it is known, unread: for a write, which compares that with what is there before it replaces the file.
   * Null where the file has to be read.
   */
  assumed(): FoundFile | null {
    const { path, hold } = this.#served;
    const [document, stat, realPath] = [this.#document, this.#stat, hold.realPath()];
    // An attempt that did not come to its end may have met what the stat does not show.
    if (stat === null || realPath === null || this.#attempted !== null) return null;
    return { target: { path, realPath, bytes: document.bytes, stat, isAssumed: true }, document };
  }

  /** True when a file with this stat holds what is known: then there is nothing to look for. */
  isKnown(stat: FileStat): boolean {
    return this.#stat !== null && sameFile(this.#stat, stat) && showsChanges(stat);
  }

  /** Notes that this content is about to be written: finding it later is no edit from outside. */
  attempts(document: ConfigurationDocument): void {
    this.#attempted = document;
  }

  /** Notes that this content is in the file, durably. */
  holds(document: ConfigurationDocument, stat: FileStat | null): void {
    this.#attempted = null;
    this.#is(document, stat, true);
  }

  /** Makes what was found durable, when it is not known to be. */
  async makeDurable({ target }: FoundFile): Promise<void> {
    if (this.#isDurable) return;
    await this.#served.fileSystem.sync(target.realPath);
    await this.#served.fileSystem.syncFolder(dirname(target.realPath));
    this.#is(this.#document, target.stat, true);
  }

  #is(document: ConfigurationDocument, stat: FileStat | null, isDurable: boolean): void {
    this.#document = document;
    this.#stat = stat;
    this.#isDurable = isDurable;
  }
}

function readWith(bytes: Buffer): ReadConfiguration {
  try {
    return readDocument(bytes);
  } catch (cause) {
    throw new BrokenFileError(bytes, { cause });
  }
}

async function patiently<T>(wait: (milliseconds: number) => Promise<void>, look: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await look();
    } catch (error) {
      const isMissing = failureCode(error) === 'ENOENT';
      const attempts = error instanceof BrokenFileError ? BROKEN_ATTEMPTS : isMissing ? MISSING_ATTEMPTS : 1;
      if (attempt >= attempts) throw error;
      await wait(WAIT_MS);
    }
  }
}

import { dirname } from 'node:path';
import type { FileStat, FileSystemPort } from '../../../core/ports.js';
import { type ConfigurationDocument, type ReadConfiguration, readDocument } from '../../../document/document.js';
import { readTarget, sameFile, showsChanges, type TargetFile } from '../../../files/write-file.js';
import { failureCode } from '../../../platform/failure-words.js';

/** The file as it is now. */
export interface FoundFile {
  readonly target: TargetFile;
  readonly document: ConfigurationDocument;
}

/** The file holds something that is no configuration. */
export class BrokenFileError extends Error {
  // Whatever prints an error prints its own members: the file's content, with its secrets, must not be one.
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, options: ErrorOptions) {
    super(options.cause instanceof Error ? options.cause.message : 'not a configuration', options);
    this.name = 'BrokenFileError';
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
}

/** The file as it was looked at. */
export interface LookedAtFile extends FoundFile {
  /** Somebody else has changed it, or only its rights or its owner, since it was last read or written here. */
  readonly touched: boolean;
}

/** What is known of the file: its last good content, and whether that is durable. */
export interface KnownFile {
  /** The last content that could be read, as a document. */
  document(): ConfigurationDocument;
  /** Reads the file now, once. Rejects with `BrokenFileError` or the file system's error. */
  look(): Promise<LookedAtFile>;
  /**
   * The file as it is known, unread, where its stat is the known one: for a write, which compares what could be hidden behind
   * that before it replaces the file. Null where the file has to be read.
   */
  assumed(): Promise<FoundFile | null>;
  /** Whether a file with this stat holds what is known: then there is nothing to look for. */
  isKnown(stat: FileStat): boolean;
  /** As `look`, but gives a program that is writing the file up to 1 s to come to its end. */
  settled(): Promise<FoundFile>;
  /** This content is about to be written: finding it later is no edit from outside. */
  attempts(document: ConfigurationDocument): void;
  /** This content is in the file, durably. */
  holds(document: ConfigurationDocument, stat: FileStat | null): void;
  /** Makes what was found durable, when it is not known to be. */
  makeDurable(found: FoundFile): Promise<void>;
}

export interface KnownFileOptions {
  readonly fileSystem: FileSystemPort;
  readonly path: string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Whether somebody has said that he means the file to hold these bytes. */
  readonly isMeant: (bytes: Buffer) => Promise<boolean>;
  /** Called when the file has another content than the last good one, which nobody here has written. */
  readonly onEdit: (before: Buffer, reading: ReadConfiguration, edit: { readonly isMeant: boolean }) => void;
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
}: Omit<KnownFileOptions, 'onEdit' | 'isMeant'>): Promise<FoundFile & ReadConfiguration> {
  return patiently(wait, async () => {
    const target = await readTarget(fileSystem, path);
    return { target, ...readWith(target.bytes) };
  });
}

export function createKnownFile(
  { fileSystem, path, wait, isMeant, onEdit }: KnownFileOptions,
  first: FoundFile,
): KnownFile {
  // What is found may still be in the system's memory alone, written by a Keyway that was killed before its sync.
  let known: { readonly document: ConfigurationDocument; readonly stat: FileStat | null; readonly durable: boolean } = {
    document: first.document,
    stat: first.target.stat,
    durable: false,
  };
  let attempted: ConfigurationDocument | null = null;

  async function look(): Promise<LookedAtFile> {
    const target = await readTarget(fileSystem, path, known.document.bytes);
    const { bytes, stat: present } = target;
    const isSame = bytes === known.document.bytes;
    const touched = !isSame || known.stat === null || !sameFile(known.stat, present);
    if (isSame) {
      known = { document: known.document, stat: present, durable: known.durable && !touched };
    } else if (attempted !== null && bytes.equals(attempted.bytes)) {
      known = { document: attempted, stat: present, durable: false };
    } else {
      const reading = readWith(bytes);
      const edit = { isMeant: await isMeant(bytes) };
      const before = known.document.bytes;
      known = { document: reading.document, stat: present, durable: false };
      onEdit(before, reading, edit);
    }
    return { target, document: known.document, touched };
  }

  async function assumed(): Promise<FoundFile | null> {
    const { document, stat } = known;
    // An attempt that did not come to its end may have met what the stat does not show.
    if (stat === null || attempted !== null) return null;
    const [realPath, present] = await Promise.all([fileSystem.realPath(path), fileSystem.stat(path)]);
    if (!sameFile(stat, present)) return null;
    return { target: { path, realPath, bytes: document.bytes, stat, isAssumed: true }, document };
  }

  return {
    document: () => known.document,
    look,
    assumed: () => assumed().catch(() => null),
    isKnown: (stat) => known.stat !== null && sameFile(known.stat, stat) && showsChanges(stat),
    settled: () => patiently(wait, look),
    attempts: (next) => {
      attempted = next;
    },
    holds: (next, present) => {
      attempted = null;
      known = { document: next, stat: present, durable: true };
    },
    makeDurable: async ({ target }) => {
      if (known.durable) return;
      await fileSystem.sync(target.realPath);
      await fileSystem.syncFolder(dirname(target.realPath));
      known = { ...known, stat: target.stat, durable: true };
    },
  };
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

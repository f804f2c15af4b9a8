import { dirname, join } from 'node:path';
import { FILE_LIMITS } from '../../core/file-limits.js';
import { notedFields, recordFromNoted } from '../../core/keys/key-record.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { AccessKey } from '../../core/model.js';
import type { FileSystemPort } from '../../core/ports.js';
import { createWhole, temporaryPath } from '../../files/write-file.js';
import { failureWords } from '../../platform/failure-words.js';
import { unlessMissing } from '../../platform/presence.js';
import { isJsonObject, jsonIn } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { UpstreamContext } from './context.js';
import { inKey } from './struck-configuration.js';
import { readWriteJournal } from './write-journal.js';

export type KnownKeys = ReturnType<typeof createKnownKeys>;

export interface KnownKeysOptions extends Pick<UpstreamContext, 'server' | 'clock' | 'timers' | 'log'> {
  readonly keys: Pick<KeyReader, 'entries' | 'answeredGeneration'>;
  readonly fileSystem: FileSystemPort;
  /** The data folder; it exists. */
  readonly folder: string;
}

export const KNOWN_KEYS_FILE = 'known-keys.jsonl';
const FILE_MODE = 0o600;
/** Between two writes at least, ms; and the share of the time that they take at most: a settled change is noted nowhere else. */
const LEAST_GAP = 2_000;
const MOST_SHARE = 0.05;
/** Keys that are written out in one turn of the event loop. */
const AT_ONCE = 5_000;

/** The keys of a server as last known, in the data folder, for who has lost its configuration (design: "The configuration is kept"). */
export function createKnownKeys({ server, keys, fileSystem, folder, clock, timers, log }: KnownKeysOptions) {
  const { own } = server.texts;
  const path = join(folder, KNOWN_KEYS_FILE);
  let saved = -1;
  let nextAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | null = null;
  let writing: Promise<void> | null = null;
  let isWhole = false;
  let isFailing = false;
  let isClosed = false;

  async function content(): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let lines: string[] = [];
    for (const key of [...keys.entries()]) {
      const record = inKey(key, own);
      lines.push(`${writeJson({ key: record.accessKey, ...notedFields(record) })}\n`);
      if (lines.length < AT_ONCE) continue;
      pieces.push(Buffer.from(lines.join('')));
      lines = [];
      await timers.pause();
    }
    return Buffer.concat([...pieces, Buffer.from(lines.join(''))]);
  }

  async function write(): Promise<void> {
    const begun = clock.monotonic();
    const generation = keys.answeredGeneration;
    const temporary = temporaryPath(path);
    try {
      const bytes = await content();
      await createWhole(fileSystem, { path, temporary }, async () => {
        await fileSystem.create(temporary, bytes, FILE_MODE, 'folder');
        await fileSystem.sync(temporary);
      });
      await fileSystem.syncFolder(dirname(path));
      saved = generation;
      isFailing = false;
    } catch (error) {
      const reason = failureWords(error);
      if (!isFailing) log.error({ file: path, reason }, 'the keys that are known of the server cannot be noted');
      isFailing = true;
    }
    const end = clock.monotonic();
    nextAt = end + Math.max(LEAST_GAP, (end - begun) / MOST_SHARE);
  }

  function start(): Promise<void> {
    writing ??= write().finally(() => {
      writing = null;
      // Changes that came meanwhile are written next; after a failure they wait for more.
      if (!isFailing) changed();
    });
    return writing;
  }

  /** To be called where records may have changed. They are written soon. */
  function changed(): void {
    if (isClosed || !isWhole || cancel !== null || writing !== null || keys.answeredGeneration === saved) return;
    cancel = timers.after(Math.max(LEAST_GAP / 2, nextAt - clock.monotonic()), () => {
      cancel = null;
      void start();
    });
  }

  return {
    /** To be called with every list. Before the first one nothing is written: what is noted is more. */
    listed(): void {
      isWhole = true;
      changed();
    },
    changed,
    /** Writes what has changed. */
    async close(): Promise<void> {
      isClosed = true;
      cancel?.();
      await writing;
      if (isWhole && keys.answeredGeneration !== saved) await start();
    },
  };
}

/** The keys that a Keyway has noted in this data folder, else `before`, and what it has changed since. */
export async function readKnownKeys(
  fileSystem: Pick<FileSystemPort, 'read'>,
  folder: string,
  before: readonly AccessKey[],
): Promise<ReadonlyMap<string, AccessKey>> {
  const bytes = await unlessMissing(fileSystem.read(join(folder, KNOWN_KEYS_FILE), FILE_LIMITS.counters));
  const keys = new Map(bytes === null ? before.map((key) => [key.accessKey, key]) : []);
  for (const line of bytes?.toString('utf8').split('\n') ?? []) {
    const value = jsonIn(Buffer.from(line));
    if (!isJsonObject(value) || typeof value.key !== 'string') continue;
    keys.set(value.key, recordFromNoted(value.key, value));
  }
  for (const { accessKey, after } of (await readWriteJournal(fileSystem, folder)).values()) {
    if (after === null) keys.delete(accessKey);
    else keys.set(accessKey, after);
  }
  return keys;
}

import { join } from 'node:path';
import { FILE_LIMITS } from '../../core/file-limits.js';
import { isValueOf, keyFields, notedFields, recordFromNoted } from '../../core/keys/key-record.js';
import type { FileSystemPort, LogPort } from '../../core/ports.js';
import { UnconfirmedJournal } from '../../files/unconfirmed-journal.js';
import { unlessMissing } from '../../platform/presence.js';
import { isJsonObject, type JsonObject, type JsonValue, jsonIn } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { KeyState } from './key-state.js';

/** A write as the journal remembers it beyond this process. */
export interface JournalEntry {
  readonly accessKey: string;
  readonly after: KeyState;
  readonly previousStates: readonly KeyState[];
  /** The server may lose it while it runs: it was slow, or did not say that it saved this write, or an unconfirmed one below it. */
  readonly isUnsafe: boolean;
  /** The time of the server's answer; milliseconds since the epoch. */
  readonly at: number;
}

/** The pending writes, in the data folder (design: "When a write is settled"). */
export interface WriteJournal {
  /** The entries of the process before. */
  readonly found: readonly JournalEntry[];
  /**
   * Resolves when no end of this process can take it back, and the disk has it soon after: a server whose write took
   * effect answers sooner than a disk. A failure has been logged, and the next write carries it.
   */
  keep(entries: readonly JournalEntry[]): Promise<void>;
  /**
   * They are pending no more. That need not outlive a crash: a write that is looked at once more is found confirmed
   * again.
   */
  drop(accessKeys: readonly string[]): void;
  /** Why the last write failed, or null. */
  problem(): string | null;
  close(): Promise<void>;
}

/** Nothing outlives the process. */
export const NO_WRITE_JOURNAL: WriteJournal = {
  found: [],
  keep: async () => undefined,
  drop() {},
  problem: () => null,
  close: async () => undefined,
};

export const WRITE_JOURNAL_FILE = 'unsettled.jsonl';

export interface WriteJournalOptions {
  readonly fileSystem: FileSystemPort;
  /** The data folder; it exists. */
  readonly folder: string;
  readonly log: LogPort;
}

/** Reads what the previous process left. Rejects with the file system's error. */
export async function openWriteJournal({ fileSystem, folder, log }: WriteJournalOptions): Promise<WriteJournal> {
  const live = await readWriteJournal(fileSystem, folder);
  const journal = new UnconfirmedJournal({
    ...{ fileSystem, path: join(folder, WRITE_JOURNAL_FILE), log, outlivesSystem: true },
    failure: 'writes that may yet be lost cannot be noted',
    whole: () => [...live.values()].map(lineOf),
  });
  return {
    found: [...live.values()],
    keep(entries) {
      for (const entry of entries) live.set(entry.accessKey, entry);
      return journal.note(entries.map(lineOf).join(''));
    },
    drop(accessKeys) {
      const known = accessKeys.filter((accessKey) => live.delete(accessKey));
      if (known.length > 0)
        void journal.note(known.map((key) => `${JSON.stringify({ key, settled: true })}\n`).join(''));
    },
    problem: () => journal.problem,
    close: () => journal.close(),
  };
}

function lineOf({ accessKey, after, previousStates, isUnsafe, at }: JournalEntry): string {
  const states = { after: wireOf(after), formers: previousStates.map(wireOf) };
  return `${writeJson({ key: accessKey, ...states, slow: isUnsafe, at: BigInt(Math.floor(at)) })}\n`;
}

function wireOf(state: KeyState): JsonValue {
  return state === null ? null : notedFields(state);
}

/** Reads the pending writes, and skips torn or foreign lines. */
export async function readWriteJournal(
  fileSystem: Pick<FileSystemPort, 'read'>,
  folder: string,
): Promise<Map<string, JournalEntry>> {
  const bytes =
    (await unlessMissing(fileSystem.read(join(folder, WRITE_JOURNAL_FILE), FILE_LIMITS.counters))) ?? Buffer.alloc(0);
  const entries = new Map<string, JournalEntry>();
  for (const line of bytes.toString('utf8').split('\n')) {
    const value = jsonIn(Buffer.from(line));
    if (!isJsonObject(value) || typeof value.key !== 'string') continue;
    const entry = entryOf(value.key, value);
    if (value.settled === true) entries.delete(value.key);
    else if (entry !== null) entries.set(value.key, entry);
  }
  return entries;
}

function entryOf(accessKey: string, { after, formers, slow, at }: JsonObject): JournalEntry | null {
  if (typeof at !== 'bigint' || !Array.isArray(formers)) return null;
  const states = [after, ...formers].map((each) => stateIn(accessKey, each));
  const [afterwards, ...before] = states.flatMap((state) => (state === undefined ? [] : [state]));
  if (afterwards === undefined || before.length !== formers.length) return null;
  // Notes of an earlier Keyway do not say it: what they tell of may have been lost.
  return { accessKey, after: afterwards, previousStates: before, isUnsafe: slow !== false, at: Number(at) };
}

function stateIn(accessKey: string, value: JsonValue | undefined): KeyState | undefined {
  if (value === null) return null;
  if (!isJsonObject(value)) return undefined;
  const isOurs = keyFields.every((field) => {
    // An older Keyway did not have the column.
    const { [field.noted]: noted = null } = value;
    return noted === null || isValueOf(field, noted);
  });
  return isOurs ? recordFromNoted(accessKey, value) : undefined;
}

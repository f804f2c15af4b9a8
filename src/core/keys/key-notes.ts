import type { KeptRecords, RecordChange } from '../kept-records.js';
import { type Principal, permits } from '../principal.js';
import type { KeyEntry, KeyReader } from './types.js';

/** A change that was made, as far as it concerns the note of its key; without `note` that stays. */
export type NotedChange =
  | { readonly op: 'put'; readonly accessKey: string; readonly note: string | null }
  | { readonly op: 'moved'; readonly accessKey: string; readonly successor: string };

/** The notes of operators on keys, which no revision shows and no file of a server holds. */
export class KeyNotes {
  readonly #records: KeptRecords;
  /** Keys with a note that were not there at the last look. */
  #missing: ReadonlySet<string> = new Set();

  constructor(records: KeptRecords, keys: Pick<KeyReader, 'markChanged'>) {
    this.#records = records;
    records.onChange('notes', (accessKeys) => {
      for (const accessKey of accessKeys) keys.markChanged(accessKey, 'noted');
    });
  }

  /** Tells whether a caller may know notes. */
  areShownTo(caller: Principal): boolean {
    return permits(caller, ['keys']);
  }

  /** Returns what tells a caller the note of a key: null to one who may not know it. */
  shownTo(caller: Principal): (accessKey: string) => string | null {
    return this.areShownTo(caller) ? (accessKey) => this.#of(accessKey) : () => null;
  }

  /** Returns the keys that have a note, as far as a caller may know. */
  noted(keys: Pick<KeyReader, 'get'>, caller: Principal): readonly KeyEntry[] {
    if (!this.areShownTo(caller)) return [];
    return [...this.#records.of('notes').keys()].flatMap((accessKey) => keys.get(accessKey) ?? []);
  }

  /** Replaces the note of a key; null removes it. Rejects as a change of records does. */
  async put(accessKey: string, note: string | null): Promise<void> {
    await this.#change(this.changesOf([{ op: 'put', accessKey, note }]));
  }

  /** Removes the notes of keys that were deleted. Rejects as a change of records does. */
  async gone(accessKeys: readonly string[]): Promise<void> {
    await this.#change(this.changesOf(accessKeys.map((accessKey) => ({ op: 'put', accessKey, note: null }))));
  }

  /** Returns the changes of records that changes of keys come with, in the order in which those were made. */
  changesOf(made: readonly NotedChange[]): readonly RecordChange[] {
    const notes = new Map<string, string | null>();
    for (const each of made) {
      if (each.op === 'put') {
        // An empty note is no note.
        notes.set(each.accessKey, each.note || null);
        continue;
      }
      const { accessKey, successor } = each;
      const note = notes.has(accessKey) ? notes.get(accessKey) : this.#of(accessKey);
      // One that was moved before is not removed from the successor.
      if (note == null) continue;
      notes.set(successor, note).set(accessKey, null);
    }
    return [...notes].flatMap(([id, note]) =>
      note === this.#of(id) ? [] : [{ kind: 'notes', id, body: note === null ? null : JSON.stringify(note) } as const],
    );
  }

  /** Returns the changes of records that move the note of a key to its successor, as long as it is this note or none. */
  moved(accessKey: string, successor: string): readonly RecordChange[] {
    const expected = this.#records.of('notes').get(accessKey) ?? null;
    // Another gateway may have put one that does not show here yet.
    if (expected === null)
      return this.#records.isShared ? [{ kind: 'notes', id: accessKey, body: null, expected }] : [];
    return this.changesOf([{ op: 'moved', accessKey, successor }]).map((change) =>
      change.id === accessKey ? { ...change, expected } : change,
    );
  }

  /** Removes the notes of keys that were not there at the last look either: an edit of the file may bring one back. */
  async sweep(keys: Pick<KeyReader, 'get'>): Promise<void> {
    const absent = [...this.#records.of('notes').keys()].filter((accessKey) => keys.get(accessKey) === undefined);
    const gone = absent.filter((accessKey) => this.#missing.has(accessKey));
    this.#missing = new Set(absent);
    await this.gone(gone);
  }

  #of(accessKey: string): string | null {
    const body = this.#records.of('notes').get(accessKey);
    return body === undefined ? null : JSON.parse(body);
  }

  async #change(changes: readonly RecordChange[]): Promise<void> {
    if (changes.length > 0) await this.#records.change(changes);
  }
}

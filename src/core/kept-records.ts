/** The kinds of records that Keyway keeps for itself, apart from the state of the server. */
export type RecordKind =
  | 'tokens'
  | 'makers'
  | 'imported'
  | 'notes'
  | 'jobs'
  | 'rotations'
  | 'usage'
  | 'events'
  | 'addresses'
  | 'starts'
  | 'clients'
  | 'sessions';

/** The change of a record: put or removed. */
export interface RecordChange {
  readonly kind: RecordKind;
  readonly id: string;
  /** JSON, as its kind has it; null removes the record. */
  readonly body: string | null;
  /** The body that the record must have for the change to be made; null for no record, absent for any. */
  readonly expected?: string | null;
}

/**
 * Records of Keyway's own, held where the state is held, and in memory by every gateway of it. What another gateway
 * changed shows within a second.
 */
export interface KeptRecords {
  /** False if they end with this process. */
  readonly outliveProcess: boolean;
  /** True if other gateways may change them, too. */
  readonly isShared: boolean;
  /**
   * Resolves once all that other gateways had changed before the call shows: one look for all who ask meanwhile.
   * Rejects with `backendAway`. Absent where nobody else changes records.
   */
  readonly lookUp?: () => Promise<void>;
  /** The bodies of a kind by their ids; always the same map. */
  of(kind: RecordKind): ReadonlyMap<string, string>;
  /**
   * Makes all of the changes or none, each of another record. Resolves once they outlive a crash and show in `of`: to
   * false, with nothing changed, where a record is not as expected. Rejects with `saveFailed` or `outcomeUnknown`;
   * after these a change may yet show.
   */
  change(changes: readonly RecordChange[]): Promise<boolean>;
  /** Calls back with the ids of records of the kind, in the turn of the event loop in which anyone changed them. */
  onChange(kind: RecordKind, listener: (ids: readonly string[]) => void): void;
}

/** The records in memory, and their listeners. */
export class RecordTable {
  readonly #kinds = new Map<RecordKind, Map<string, string>>();
  readonly #listeners = new Map<RecordKind, ((ids: readonly string[]) => void)[]>();

  of(kind: RecordKind): ReadonlyMap<string, string> {
    return this.#kindOf(kind);
  }

  onChange(kind: RecordKind, listener: (ids: readonly string[]) => void): void {
    this.#listeners.set(kind, [...(this.#listeners.get(kind) ?? []), listener]);
  }

  /** Takes in changes, and tells the listeners. */
  take(changes: readonly RecordChange[]): void {
    const changed = new Map<RecordKind, string[]>();
    for (const { kind, id, body } of changes) {
      const records = this.#kindOf(kind);
      if (records.get(id) === (body ?? undefined)) continue;
      if (body === null) records.delete(id);
      else records.set(id, body);
      const ids = changed.get(kind) ?? [];
      ids.push(id);
      changed.set(kind, ids);
    }
    for (const [kind, ids] of changed) for (const listener of this.#listeners.get(kind) ?? []) listener(ids);
  }

  /** Replaces all records. */
  replaceAll(all: readonly RecordChange[]): void {
    const there = new Map<RecordKind, Set<string>>();
    for (const { kind, id } of all) there.set(kind, (there.get(kind) ?? new Set()).add(id));
    const gone = this.all().filter(({ kind, id }) => there.get(kind)?.has(id) !== true);
    this.take([...gone.map(({ kind, id }) => ({ kind, id, body: null })), ...all]);
  }

  /** Returns all records, as changes that put them. */
  all(): readonly RecordChange[] {
    return [...this.#kinds].flatMap(([kind, records]) => [...records].map(([id, body]) => ({ kind, id, body })));
  }

  #kindOf(kind: RecordKind): Map<string, string> {
    const records = this.#kinds.get(kind) ?? new Map<string, string>();
    this.#kinds.set(kind, records);
    return records;
  }
}

/** A change of several records that waits to be made. */
interface Waiting {
  readonly changes: readonly RecordChange[];
  readonly resolve: (isMade: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes changes outlive a crash, all of them or none. Rejects as `change` does. */
export type SaveRecords = (changes: readonly RecordChange[]) => Promise<void>;

/** Records that only this process changes. Changes that wait for a write go together with the next. */
export class LocalRecords implements KeptRecords {
  readonly outliveProcess: boolean;
  readonly isShared = false;
  readonly #table: RecordTable;
  readonly #save: SaveRecords;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | null = null;

  /** Without `save` they end with the process. */
  constructor(table = new RecordTable(), save: SaveRecords | null = null) {
    this.outliveProcess = save !== null;
    this.#table = table;
    this.#save = save ?? (async () => undefined);
  }

  of(kind: RecordKind): ReadonlyMap<string, string> {
    return this.#table.of(kind);
  }

  onChange(kind: RecordKind, listener: (ids: readonly string[]) => void): void {
    this.#table.onChange(kind, listener);
  }

  change(changes: readonly RecordChange[]): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ changes, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Resolves once all requested changes are made. */
  async close(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    // Changes of the same turn share the first write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      await this.#write(waiting);
    }
    // In the turn of the last look at what waits.
    this.#writing = null;
  }

  async #write(waiting: readonly Waiting[]): Promise<void> {
    const later = new Map<string, RecordChange>();
    const made: Waiting[] = [];
    for (const each of waiting) {
      if (!each.changes.every((change) => isExpected(change, later.get(nameOf(change)) ?? this.#present(change)))) {
        each.resolve(false);
        continue;
      }
      for (const change of each.changes) later.set(nameOf(change), change);
      made.push(each);
    }
    const changes = [...later.values()];
    try {
      if (changes.length > 0) await this.#save(changes);
      this.#table.take(changes);
      for (const { resolve } of made) resolve(true);
    } catch (error) {
      for (const { reject } of made) reject(error);
    }
  }

  #present({ kind, id }: RecordChange): Pick<RecordChange, 'body'> {
    return { body: this.#table.of(kind).get(id) ?? null };
  }
}

const nameOf = ({ kind, id }: RecordChange): string => `${kind} ${id}`;

const isExpected = ({ expected }: RecordChange, present: Pick<RecordChange, 'body'>): boolean =>
  expected === undefined || expected === present.body;

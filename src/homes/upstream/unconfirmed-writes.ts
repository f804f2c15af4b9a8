import { onMonotonicClock } from '../../core/kept-time.js';
import type { LogPort } from '../../core/ports.js';
import { failureWords } from '../../platform/failure-words.js';
import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import type { UpstreamContext } from './context.js';
import { type KeyState, sameState, type Tells } from './key-state.js';
import { namedInLog } from './reverted-report.js';
import type { JournalEntry, WriteJournal } from './write-journal.js';

/** A write that the server has taken, into its memory at least, and that it may still lose. */
export interface UnconfirmedWrite {
  readonly after: KeyState;
  /** The key before this write, and before those that were pending when it came, newest first; none is the same as `after`. */
  readonly previousStates: readonly KeyState[];
  /** The time of its answer; monotonic, ms. */
  readonly answeredAt: number;
  /** The time at which this process found it, which an earlier one may have made again until then; monotonic, ms. */
  readonly foundAt?: number;
}

/** An unconfirmed write with what was seen of its key since. */
export interface PendingWrite extends UnconfirmedWrite, Pick<JournalEntry, 'isUnsafe'> {
  /** The number of times that it was made again. */
  readonly retries: number;
  /** True if an earlier process acknowledged it too long ago to blame the server for what is seen now. */
  readonly isOld: boolean;
  /** Seen long enough afterwards. It stays pending where the server would not start with it. */
  readonly isConfirmed: boolean;
  /** The time of the last list or read that showed it so once it was confirmed; monotonic, ms. */
  readonly seenAt?: number;
  /** Seen so but for its name, which the configuration alone tells. */
  readonly isListed: boolean;
  /** The previous name, if the configuration had that instead. */
  readonly previousName?: string | null;
}

export interface Acknowledged {
  readonly accessKey: string;
  /** The states that may have stood there before it. */
  readonly befores: readonly KeyState[];
  readonly after: KeyState;
  readonly answeredAt: number;
  /** The server did not say that it saved it. */
  readonly isSaveUnknown?: boolean;
}

interface UnconfirmedWritesOptions extends UpstreamContext {
  readonly journal: WriteJournal;
  /** Tells whether the server is slow, so that it may lose what it acknowledges. */
  readonly isSlow: () => boolean;
  /** Called for a key that is to be written again; soon, and again while it stays so. */
  readonly onReverted: (accessKey: string) => void;
}

/** The most retries of one write; after them somebody is assumed to want it reverted. */
const MOST_RETRIES = 8;
/** The age from which writes of an earlier process are left as they are found, ms. */
const MOST_ABSENCE = 10 * 60 * 1000;

/** The most previous states of one write, the newest and the oldest: a key may be changed again and again. */
const MOST_PREVIOUS = 32;

const UNSEEN = { isConfirmed: false, isListed: false };

/** The writes that the server has taken and may still lose (design: "When a write is settled"). */
export class UnconfirmedWrites {
  readonly #options: UnconfirmedWritesOptions;
  /** In the order in which they were acknowledged. */
  readonly #pending = new Map<string, PendingWrite>();
  /** Found reverted, and not made again yet. */
  readonly #reverted = new Set<string>();

  constructor(options: UnconfirmedWritesOptions) {
    this.#options = options;
    const { journal, clock } = options;
    for (const { accessKey, at, ...entry } of journal.found) {
      const answeredAt = onMonotonicClock(clock, at);
      const foundAt = clock.monotonic();
      const isOld = foundAt - answeredAt > MOST_ABSENCE;
      this.#pending.set(accessKey, { ...entry, answeredAt, foundAt, ...UNSEEN, retries: 0, isOld });
    }
  }

  /** The pending writes by access key. */
  pending(): ReadonlyMap<string, PendingWrite> {
    return this.#pending;
  }

  /**
   * Tells whether the server starts with the keys that its API made. Nobody knows it of a later version, which would
   * never confirm them.
   */
  #startsWithKeys(): boolean {
    const { server } = this.#options;
    return server.isLater() || (server.line()?.storing.startsWithKeys ?? false);
  }

  /** Records the state of a key at that moment. Returns false where it must not be shown. */
  see(accessKey: string, state: KeyState, sentAt: number): boolean {
    const write = this.#pending.get(accessKey);
    if (write === undefined) return true;
    const { tells, readsNames } = this.#options;
    // The server's line is known only now.
    if (write.isOld && this.#startsWithKeys()) {
      this.drop(accessKey);
      return true;
    }
    const outcome = writeOutcome(write, state, sentAt, tells);
    const lacksName = readsNames() && write.previousName !== undefined && outcome !== 'superseded';
    switch (lacksName ? 'reverted' : outcome) {
      case 'reverted':
        return !this.#revert(accessKey, write);
      case 'confirmed':
        this.#listed(accessKey, write, sentAt);
        return true;
      case 'superseded':
        this.supersede(accessKey, write);
        return true;
      case 'pending':
        this.#reverted.delete(accessKey);
        return true;
    }
  }

  /**
   * Records the name that the configuration has, on lines whose lists tell none; undefined where it has no such key.
   * Returns the name to show.
   */
  seeName(accessKey: string, name: string | null | undefined, sentAt: number): string | null {
    const seen = name ?? null;
    const write = this.#pending.get(accessKey);
    if (write === undefined) return seen;
    const wanted = write.after?.name ?? null;
    switch (nameOutcome(write, name, sentAt)) {
      case 'reverted':
        return this.#revert(accessKey, { ...write, previousName: seen }) ? wanted : seen;
      case 'confirmed':
        this.#named(accessKey, write, sentAt);
        return seen;
      case 'superseded':
        this.supersede(accessKey, write);
        return seen;
      case 'pending':
        return wanted;
    }
  }

  /** Takes in acknowledged writes. Resolves when a crash of this process does not take them back. */
  acknowledged(writes: readonly Acknowledged[]): Promise<void> {
    const { journal, clock, isSlow } = this.#options;
    const kept = writes.flatMap(({ accessKey, isSaveUnknown = false, ...write }) => {
      const earlier = this.#pending.get(accessKey);
      const next = mergeWrites(earlier, write);
      const retries = isRetry(earlier, write) ? (earlier?.retries ?? 0) + 1 : 0;
      this.#reverted.delete(accessKey);
      this.#pending.delete(accessKey);
      if (next === null) {
        journal.drop([accessKey]);
        return [];
      }
      const { after, previousStates } = next;
      const entry = { after, previousStates, isUnsafe: earlier?.isUnsafe === true || isSaveUnknown || isSlow() };
      this.#pending.set(accessKey, { ...entry, answeredAt: next.answeredAt, ...UNSEEN, retries, isOld: false });
      return [{ accessKey, ...entry, at: clock.now() }];
    });
    return kept.length === 0 ? Promise.resolve() : journal.keep(kept);
  }

  /** Forgets a write, confirmed or not: what is seen of its key stays so. */
  drop(accessKey: string): void {
    this.#pending.delete(accessKey);
    this.#reverted.delete(accessKey);
    this.#options.journal.drop([accessKey]);
  }

  /** A deletion of the key was not answered: where the key is gone from now on, no write of it was lost. */
  mayBeDeleted(accessKey: string): void {
    const write = this.#pending.get(accessKey);
    if (write === undefined || write.after === null) return;
    const previousStates = write.previousStates.filter((previous) => previous !== null);
    if (previousStates.length === 0) {
      this.drop(accessKey);
      return;
    }
    const next = { ...write, previousStates };
    this.#pending.set(accessKey, next);
    this.#note(accessKey, next);
  }

  /** Forgets a write, since somebody else has changed the key. */
  supersede(accessKey: string, write: PendingWrite): void {
    const key = namedInLog(accessKey, write);
    this.#options.log.info({ key }, 'somebody else has changed a key that was just changed here');
    this.drop(accessKey);
  }

  /**
   * Returns when a list must have been sent, so that the oldest write is confirmed; monotonic, ms; null where none
   * needs one.
   */
  neededAt(): number | null {
    if (this.#reverted.size > 0) return this.#options.clock.monotonic();
    for (const write of this.#pending.values()) if (!write.isConfirmed) return settledAt(write);
    return null;
  }

  /**
   * Drops every write up to that moment: the server starts with them, which a list has shown once it had read them
   * back.
   */
  stored(answeredUntil: number): void {
    for (const [accessKey, write] of this.#pending) if (write.answeredAt <= answeredUntil) this.drop(accessKey);
  }

  /** Forgets all writes: a configuration as a whole took the place of everything. */
  clear(): void {
    const all = [...this.#pending.keys()];
    this.#pending.clear();
    this.#reverted.clear();
    this.#options.journal.drop(all);
  }

  #confirm(accessKey: string, write: PendingWrite, sentAt: number): void {
    this.#reverted.delete(accessKey);
    if (this.#startsWithKeys()) {
      this.drop(accessKey);
      return;
    }
    const confirmed = { ...write, isUnsafe: false, isConfirmed: true, seenAt: sentAt, retries: 0 };
    this.#pending.set(accessKey, confirmed);
    if (write.isUnsafe) this.#note(accessKey, confirmed);
  }

  /** Notes what has changed of a pending write. */
  #note(accessKey: string, { after, previousStates, isUnsafe, answeredAt }: PendingWrite): void {
    const { journal, clock } = this.#options;
    const at = clock.now() - (clock.monotonic() - answeredAt);
    void journal.keep([{ accessKey, after, previousStates, isUnsafe, at }]);
  }

  #listed(accessKey: string, write: PendingWrite, sentAt: number): void {
    this.#reverted.delete(accessKey);
    if (this.#options.readsNames() && mayLackName(write)) this.#pending.set(accessKey, { ...write, isListed: true });
    else this.#confirm(accessKey, write, sentAt);
  }

  /** The configuration shows its name, or has no say in it. */
  #named(accessKey: string, { previousName: _, ...write }: PendingWrite, sentAt: number): void {
    if (write.isListed) this.#confirm(accessKey, write, sentAt);
    else this.#pending.set(accessKey, write);
  }

  /** Returns whether the write is to be made again; false where that was done too often. */
  #revert(accessKey: string, write: PendingWrite): boolean {
    const { log, onReverted } = this.#options;
    if (write.retries >= MOST_RETRIES) {
      const key = namedInLog(accessKey, write);
      log.error({ key, times: write.retries }, 'a change is undone again and again, and is given up');
      this.drop(accessKey);
      return false;
    }
    this.#pending.set(accessKey, { ...write, isListed: false });
    this.#reverted.add(accessKey);
    onReverted(accessKey);
    return true;
  }
}

/** Tells whether a write was already pending. */
function isRetry(
  earlier: PendingWrite | undefined,
  { befores, after }: Pick<Acknowledged, 'befores' | 'after'>,
): boolean {
  return earlier !== undefined && sameState(earlier.after, after) && !befores.some((each) => sameState(each, after));
}

/**
 * `reverted`: the key is exactly what it was before. `superseded`: it is something else again, somebody else's change.
 */
export type WriteOutcome = 'pending' | 'confirmed' | 'reverted' | 'superseded';

/** Returns from when on a list that shows a write confirms it; monotonic, ms. */
const settledAt = ({ answeredAt, foundAt = answeredAt }: UnconfirmedWrite): number => foundAt + SETTLED_AFTER;

export function writeOutcome(write: UnconfirmedWrite, seen: KeyState, sentAt: number, tells?: Tells): WriteOutcome {
  if (sentAt <= write.answeredAt) return 'pending';
  if (sameState(seen, write.after, tells)) return sentAt >= settledAt(write) ? 'confirmed' : 'pending';
  return write.previousStates.some((previous) => sameState(seen, previous, tells)) ? 'reverted' : 'superseded';
}

/** Returns whether a key may look as the write left it, and have the name of before. */
function mayLackName({ after, previousStates }: UnconfirmedWrite): boolean {
  return after !== null && previousStates.some((previous) => previous !== null && previous.name !== after.name);
}

/**
 * Returns the same by the name alone, where only the configuration tells it; undefined where that has no such key, or
 * cannot be read. A list tells whether there is a key, so that one which still stands in no configuration twice as long
 * afterwards is confirmed.
 */
function nameOutcome(write: UnconfirmedWrite, name: string | null | undefined, sentAt: number): WriteOutcome {
  const { after, previousStates } = write;
  if (sentAt < settledAt(write)) return 'pending';
  if (name === undefined) return sentAt >= settledAt(write) + SETTLED_AFTER ? 'confirmed' : 'pending';
  if (!mayLackName(write) || name === after?.name) return 'confirmed';
  return previousStates.some((previous) => previous !== null && previous.name === name) ? 'reverted' : 'superseded';
}

/** Merges a write into the pending one of its key; null where nothing can be reverted. */
export function mergeWrites(
  earlier: UnconfirmedWrite | undefined,
  { befores, after, answeredAt }: Pick<Acknowledged, 'befores' | 'after' | 'answeredAt'>,
): UnconfirmedWrite | null {
  const known = earlier === undefined ? befores : [...befores, earlier.after, ...earlier.previousStates];
  const previousStates: KeyState[] = [];
  for (const previous of known) {
    if (sameState(previous, after) || previousStates.some((each) => sameState(each, previous))) continue;
    previousStates.push(previous);
  }
  // The oldest is what the server has most surely stored.
  if (previousStates.length > MOST_PREVIOUS)
    previousStates.splice(MOST_PREVIOUS - 1, previousStates.length - MOST_PREVIOUS);
  return previousStates.length === 0 ? null : { after, previousStates, answeredAt };
}

/**
 * Makes reverted writes again, one after the other, with `retry`, which does so where the key still is reverted. Calls
 * `onDone` once all that were found are made, or some cannot be yet.
 */
export function createWriteRetries(retry: (accessKey: string) => Promise<void>, onDone: () => void, log: LogPort) {
  const found = new Set<string>();
  let isFailing = false;
  let working: Promise<void> | null = null;

  async function work(): Promise<void> {
    while (found.size > 0) {
      const those = [...found];
      found.clear();
      const areDone = await retryAll(those);
      if (found.size === 0 || !areDone) onDone();
    }
    working = null;
  }

  async function retryAll(those: readonly string[]): Promise<boolean> {
    let count = 0;
    let reason = '';
    for (const accessKey of those) {
      // It stays reverted: the next list that shows it tries again.
      await retry(accessKey).catch((error: unknown) => {
        count += 1;
        reason = failureWords(error);
      });
      // Its own read has reported the key again; only a list may do that.
      found.delete(accessKey);
    }
    if (count > 0 && !isFailing) log.warn({ count, reason }, 'lost changes could not be made again yet');
    isFailing = count > 0;
    return !isFailing;
  }

  return {
    found(accessKey: string): void {
      found.add(accessKey);
      working ??= Promise.resolve().then(work);
    },
    async idle(): Promise<void> {
      await working;
    },
  };
}

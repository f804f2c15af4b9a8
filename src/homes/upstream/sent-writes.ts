import type { Sent } from '../../client/server.js';
import { mayHaveHappened } from '../../client/upstream-error.js';
import { DomainError, isInMemory, unlessInMemory } from '../../core/errors.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { KeySnapshot } from '../../core/model.js';
import type { UpstreamContext } from './context.js';
import type { KeyFreshness } from './freshness.js';
import { type KeyState, sameState, stateOf } from './key-state.js';
import type { KeyWrite, KeyWriteKinds } from './key-write.js';
import type { LostCreates } from './lost-creates.js';
import type { KeyReplica } from './replica.js';
import { namedInLog, type RevertedReport } from './reverted-report.js';
import type { Acknowledged, PendingWrite, UnconfirmedWrites } from './unconfirmed-writes.js';

export type SentWrites = ReturnType<typeof createSentWrites>;

export interface SentWritesOptions extends UpstreamContext {
  readonly kinds: KeyWriteKinds;
  readonly keys: KeyReader;
  readonly freshness: KeyFreshness;
  readonly replica: KeyReplica;
  readonly unconfirmed: UnconfirmedWrites;
  readonly lostCreates: LostCreates;
  readonly report: Pick<RevertedReport, 'add'>;
  /** Returns the states in which a start of the server may find the key; none where it starts with what its API made. */
  readonly startStates: (accessKey: string, before: KeyState) => readonly KeyState[];
  /** Called after every write that the server has taken, and for one that somebody has undone. */
  readonly onWritten: () => void;
}

/** Sends writes to the server and follows their outcome. Each must run in a turn of the queue. */
export function createSentWrites(options: SentWritesOptions) {
  const {
    server,
    kinds,
    keys,
    freshness,
    replica,
    unconfirmed,
    lostCreates,
    report,
    clock,
    tells,
    onWritten,
    startStates,
  } = options;

  /** Resolves to the server's record of the key. A lost write is made again first, a deletion by somebody else stays. */
  async function present(accessKey: string): Promise<KeyState> {
    const read = await server.getUser(accessKey);
    const write = unconfirmed.pending().get(accessKey);
    const found = withKnownName(stateOf(read.value), write);
    if (write === undefined || unconfirmed.see(accessKey, found, read.sentAt)) {
      replica.takeRead(accessKey, read);
      return found;
    }
    const mayBeOthers = found === null || write.isConfirmed || write.isOld;
    if (mayBeOthers && !(await lostCreates.mayBe(write))) {
      leave(accessKey, write, read);
      return found;
    }
    await perform(kinds.restores(accessKey, write, found), found).catch(unlessInMemory);
    report.add('madeAgain', namedInLog(accessKey, write));
    return write.after;
  }

  /** Somebody has deleted a key that was made here, or has undone another change. */
  function leave(accessKey: string, write: PendingWrite, read: Sent<KeySnapshot | undefined>): void {
    if (read.value === undefined) {
      unconfirmed.drop(accessKey);
      report.add('left', namedInLog(accessKey, write));
    } else unconfirmed.supersede(accessKey, write);
    replica.takeRead(accessKey, read);
    onWritten();
  }

  function withKnownName(state: KeyState, write: PendingWrite | undefined): KeyState {
    if (state === null || tells('name')) return state;
    if (write?.previousName !== undefined) return { ...state, name: write.previousName };
    return { ...state, name: keys.get(state.accessKey)?.name ?? state.name };
  }

  /**
   * Sends a write and follows its outcome. Resolves once it is acknowledged, with a promise for when that is recorded.
   */
  async function perform(write: KeyWrite, before: KeyState): Promise<{ noted: Promise<void> }> {
    const { accessKey } = write;
    const begun = clock.monotonic();
    freshness.writeBegins(accessKey);
    try {
      const { serverMilliseconds } = await write.send();
      if (!isReset(write)) lostCreates.took(serverMilliseconds);
    } catch (error) {
      const hasHappened = await afterFailure(write, before, { error, begun });
      if (!hasHappened) throw error;
      return { noted: took(write, before, true) };
    }
    return { noted: took(write, before) };
  }

  /** Follows a write that the server has done, perhaps without saying that it saved it. */
  function took(write: KeyWrite, before: KeyState, isSaveUnknown = false): Promise<void> {
    const after = write.after(before);
    const answeredAt = clock.monotonic();
    freshness.writeEnds(write.accessKey, 'answered', answeredAt);
    replica.follow(write.effect(after));
    if (isReset(write)) return Promise.resolve();
    // One that is the same as after the write would make each retry of it count as the first.
    const undone = startStates(write.accessKey, before).filter((state) => !sameState(state, after));
    // What a create was made over may have been lost already, or be lost with it.
    const befores = [...(isCreate(write) ? [null] : []), before, ...undone];
    return acknowledged([{ accessKey: write.accessKey, befores, after, answeredAt, isSaveUnknown }]);
  }

  /** Takes in writes that another call has made. Resolves when they are recorded. */
  function acknowledged(writes: readonly Acknowledged[]): Promise<void> {
    const noted = unconfirmed.acknowledged(writes);
    onWritten();
    return noted;
  }

  /** Ends a write that was not acknowledged. Resolves to whether it counts as done all the same. */
  async function afterFailure(
    write: KeyWrite,
    before: KeyState,
    { error, begun }: { readonly error: unknown; readonly begun: number },
  ): Promise<boolean> {
    const { accessKey } = write;
    if (mayHaveHappened(error)) {
      const read = await server.getUser(accessKey).catch(() => null);
      const isDone =
        read !== null && sameState(stateOf(read.value), write.after(before), tells) && write.shows(read.value, before);
      if (isDone) return true;
      freshness.writeEnds(accessKey, 'lost', clock.monotonic());
      if (write.after(before) === null) unconfirmed.mayBeDeleted(accessKey);
      if (read !== null) replica.takeRead(accessKey, read);
      return false;
    }
    // What it has in memory alone may be lost even sooner, with what it was written over.
    if (isInMemory(error)) {
      await took(write, before, true);
      return false;
    }
    freshness.writeEnds(accessKey, 'refused', clock.monotonic());
    if (isUnknownKey(error) && !isReset(write)) {
      replica.takeRead(accessKey, { value: undefined, sentAt: begun, serverMilliseconds: 0 });
    }
    return false;
  }

  return { present, perform, acknowledged };
}

/** Tells whether a write makes a key where none is. */
const isCreate = (write: KeyWrite): boolean => write.after(null) !== null;

/** Tells whether a write resets counters, which no server stores with its keys. */
function isReset(write: KeyWrite): boolean {
  return write.effect(null).kind === 'reset';
}

function isUnknownKey(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'userNotFound';
}

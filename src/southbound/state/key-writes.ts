import type { Backend } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { keyDigest } from '../../core/key-digest.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { AccessKey, KeySnapshot } from '../../core/model.js';
import type { ClockPort, LogPort, ProgressPort } from '../../core/ports.js';
import type { Purpose, Sent, UpstreamServer } from '../server.js';
import { UpstreamError } from '../upstream-error.js';
import type { KeyFacts } from './key-facts.js';
import { type KeyState, sameState, stateOf } from './key-state.js';
import type { Effect, KeyReplica } from './replica.js';
import type { Acknowledged, Settling } from './settling.js';
import type { WriteQueue } from './write-queue.js';

/** What changes keys on the server, and makes again what it lost. */
export interface KeyWrites
  extends Pick<Backend, 'createKey' | 'createBareKeys' | 'updateKey' | 'deleteKey' | 'resetKey'> {
  /** Makes an acknowledged write again, if it still is undone; a failure leaves that to the next look. */
  again(accessKey: string): Promise<void>;
}

export interface KeyWritesOptions {
  readonly server: UpstreamServer;
  readonly keys: KeyReader;
  readonly facts: KeyFacts;
  readonly replica: KeyReplica;
  readonly settling: Settling;
  readonly queue: WriteQueue;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly tellsNames: () => boolean;
  /** Called after every write that the server has taken. */
  readonly onWritten: () => void;
  /** Called for every write that was lost there and is made again. */
  readonly onMadeAgain: () => void;
  readonly progress?: ProgressPort;
}

/** One change of one key. */
interface KeyWrite {
  readonly accessKey: string;
  send(purpose: Purpose): Promise<Sent<void>>;
  /** What the server has of the key then, by what it had before. */
  after(before: KeyState): KeyState;
  effect(after: KeyState): Effect;
  /** Whether a read shows that it has happened, its state apart. */
  shows(read: KeySnapshot | undefined, before: KeyState): boolean;
}

/** For so long, ms, what is known of a key counts as what a write finds. */
const RECENT = 1_000;

export function createKeyWrites(options: KeyWritesOptions): KeyWrites {
  const { server, keys, facts, replica, settling, queue, clock, log, tellsNames, progress } = options;
  const { onWritten, onMadeAgain } = options;

  /** Keys that a bulk made and nobody changed since; without counters, by the protocol. */
  const bare = new Set<string>();

  const creates = (record: AccessKey): KeyWrite => ({
    accessKey: record.accessKey,
    send: (purpose) => server.createUser(record, purpose),
    after: () => record,
    effect: () => ({ kind: 'created', record }),
    shows: hasNoTraffic,
  });
  const updates = (record: AccessKey): KeyWrite => ({
    accessKey: record.accessKey,
    send: (purpose) => server.updateUser(record, purpose),
    after: (before) => before && record,
    effect: () => ({ kind: 'changed', record }),
    shows: () => true,
  });
  const limits = (accessKey: string, limitBytes: bigint | null): KeyWrite => ({
    accessKey,
    send: (purpose) => server.setLimit(accessKey, limitBytes, purpose),
    after: (before) => before && { ...before, limitBytes },
    effect: (after) => ({ kind: 'changed', record: after ?? { accessKey, name: null, limitBytes } }),
    shows: () => true,
  });
  const deletes = (accessKey: string): KeyWrite => ({
    accessKey,
    send: (purpose) => server.deleteUser(accessKey, purpose),
    after: () => null,
    effect: () => ({ kind: 'deleted', accessKey }),
    shows: (_read, before) => before !== null,
  });
  const resets = (accessKey: string): KeyWrite => ({
    accessKey,
    send: (purpose) => server.resetUser(accessKey, purpose),
    after: (before) => before,
    effect: () => ({ kind: 'reset', accessKey }),
    shows: hasNoTraffic,
  });

  /** What the server has of the key now, asked for unless that is known. What it has lost is made again first. */
  async function present(accessKey: string, purpose: Purpose): Promise<KeyState> {
    const isWatched = settling.watched().has(accessKey);
    if (!isWatched && clock.monotonic() - facts.knownAt(accessKey) < RECENT) return stateOf(keys.get(accessKey));
    const read = await server.getUser(accessKey, purpose);
    const found = withKnownName(stateOf(read.value));
    const write = settling.watched().get(accessKey);
    if (write === undefined || settling.see(accessKey, found, read.sentAt)) {
      replica.takeRead(accessKey, read);
      return found;
    }
    log.warn({ key: keyDigest(accessKey) }, LOST);
    await perform(restores(write.after, found, accessKey), found, purpose);
    onMadeAgain();
    return write.after;
  }

  function withKnownName(state: KeyState): KeyState {
    if (state === null || tellsNames()) return state;
    return { ...state, name: keys.get(state.accessKey)?.name ?? state.name };
  }

  function restores(wanted: KeyState, found: KeyState, accessKey: string): KeyWrite {
    if (wanted === null) return deletes(accessKey);
    return found === null ? creates(wanted) : updates(wanted);
  }

  /** Sends the write and follows what became of it. Resolves once it is acknowledged, and to when that is noted. */
  async function perform(write: KeyWrite, before: KeyState, purpose: Purpose): Promise<{ noted: Promise<void> }> {
    const { accessKey } = write;
    const begun = clock.monotonic();
    facts.writeBegins(accessKey);
    try {
      await write.send(purpose);
    } catch (error) {
      const hasHappened = await afterFailure(write, before, { error, begun, purpose });
      if (!hasHappened) throw error;
    }
    return { noted: took(write, before) };
  }

  /** The server has done it. */
  function took(write: KeyWrite, before: KeyState): Promise<void> {
    const after = write.after(before);
    const answeredAt = clock.monotonic();
    facts.writeEnds(write.accessKey, 'answered', answeredAt);
    replica.follow(write.effect(after));
    // A reset is of counters, which no server stores.
    if (write.effect(after).kind === 'reset') return Promise.resolve();
    return acknowledge([{ accessKey: write.accessKey, before, after, answeredAt }]);
  }

  function acknowledge(writes: readonly Acknowledged[]): Promise<void> {
    const noted = settling.acknowledged(writes);
    onWritten();
    return noted;
  }

  /** Ends a write that was not acknowledged. Resolves to whether it has happened all the same. */
  async function afterFailure(
    write: KeyWrite,
    before: KeyState,
    { error, begun, purpose }: { readonly error: unknown; readonly begun: number; readonly purpose: Purpose },
  ): Promise<boolean> {
    const { accessKey } = write;
    if (error instanceof UpstreamError && error.mayHaveHappened) {
      const read = await server.getUser(accessKey, purpose).catch(() => null);
      const isDone =
        read !== null &&
        sameState(stateOf(read.value), write.after(before), tellsNames()) &&
        write.shows(read.value, before);
      if (isDone) return true;
      facts.writeEnds(accessKey, 'lost', clock.monotonic());
      if (read !== null) replica.takeRead(accessKey, read);
      return false;
    }
    const isInMemory = error instanceof DomainError && error.code === 'saveFailed';
    facts.writeEnds(accessKey, isInMemory ? 'answered' : 'refused', clock.monotonic());
    if (isInMemory) replica.follow(write.effect(write.after(before)));
    else if (isUnknownKey(error) && write.effect(null).kind !== 'reset') {
      replica.takeRead(accessKey, { value: undefined, sentAt: begun, serverMilliseconds: 0 });
    }
    return false;
  }

  async function change(write: KeyWrite, isNew = false): Promise<void> {
    const { noted } = await queue.take(async () => {
      const before = isNew ? null : await present(write.accessKey, 'caller');
      return perform(write, before, 'caller');
    });
    await noted;
  }

  async function bulk(made: readonly AccessKey[]): Promise<readonly string[]> {
    const limitBytes = made[0]?.limitBytes ?? null;
    const { created, noted } = await queue.take(async () => {
      const { value } = await server.bulkCreateUsers(made.length, limitBytes);
      const answeredAt = clock.monotonic();
      const records = value.map((accessKey) => ({ accessKey, name: null, limitBytes }));
      for (const record of records) {
        facts.writeBegins(record.accessKey);
        facts.writeEnds(record.accessKey, 'answered', answeredAt);
        replica.follow({ kind: 'createdBare', record });
      }
      const writes = records.map((after) => ({ accessKey: after.accessKey, before: null, after, answeredAt }));
      return { created: value, noted: acknowledge(writes) };
    });
    await noted;
    return created;
  }

  /** For a line that takes keys one by one. */
  async function singly(made: readonly AccessKey[]): Promise<readonly string[]> {
    const done: string[] = [];
    try {
      for (const record of made) {
        progress?.show('creating keys on the server', done.length / made.length);
        await change(creates(record), true).catch(unlessSaving);
        bare.add(record.accessKey);
        done.push(record.accessKey);
      }
    } catch (error) {
      if (done.length === 0 || !(error instanceof Error)) throw error;
      const reason = error instanceof DomainError && error.detail !== '' ? error.detail : error.message;
      throw new DomainError('bulkIncomplete', `created ${done.length} of ${made.length}: ${reason}`);
    } finally {
      progress?.clear();
    }
    return done;
  }

  /** Whether the key is as it was made in bulk: it has counters here, because the line makes keys one by one. */
  function isBare(accessKey: string): boolean {
    const counters = keys.get(accessKey)?.counters;
    const isUsed = counters && (counters.bytesUp > 0n || counters.bytesDown > 0n || counters.connections > 0n);
    if (isUsed) bare.delete(accessKey);
    return bare.has(accessKey);
  }

  function changeRecord(write: KeyWrite): Promise<void> {
    bare.delete(write.accessKey);
    return change(write);
  }

  return {
    createKey: (record) => changeRecord(creates(record)),
    async createBareKeys(made) {
      const line = server.line() ?? (await server.find('caller'));
      return line.capabilities.bulk === true ? bulk(made) : singly(made);
    },
    updateKey: (accessKey, { name, limitBytes }) =>
      changeRecord(name === undefined ? limits(accessKey, limitBytes) : updates({ accessKey, name, limitBytes })),
    deleteKey: (accessKey) => changeRecord(deletes(accessKey)),
    async resetKey(accessKey) {
      if (isBare(accessKey)) throw new DomainError('userNotFound');
      await change(resets(accessKey));
    },
    async again(accessKey) {
      // What of it is still to be done is found out, and done, where a write would begin.
      await queue.take(async () => {
        if (settling.watched().has(accessKey)) await present(accessKey, 'poll');
      });
    },
  };
}

const LOST = 'a change that the server had acknowledged was lost there, and is made again';

function hasNoTraffic(read: KeySnapshot | undefined): boolean {
  const counters = read?.counters ?? null;
  return counters === null || (counters.bytesUp === 0n && counters.bytesDown === 0n);
}

/** A bulk is answered as done where its keys are live and not stored: the next write carries them. */
function unlessSaving(error: unknown): void {
  if (!(error instanceof DomainError) || error.code !== 'saveFailed') throw error;
}

function isUnknownKey(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'userNotFound';
}

import type { Backend, KeyChange, KeyUpdate } from '../../core/backend.js';
import { DomainError, unlessInMemory } from '../../core/errors.js';
import { recordOf } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';
import type { UpstreamContext } from './context.js';
import type { KeyState } from './key-state.js';
import type { KeyWrite } from './key-write.js';
import type { LostCreates } from './lost-creates.js';
import type { KeyReplica } from './replica.js';
import type { SentWrites, SentWritesOptions } from './sent-writes.js';
import type { UnconfirmedWrites } from './unconfirmed-writes.js';
import type { WriteQueue } from './write-queue.js';

/** Writes of keys to the server, with retries of those that it lost. */
export interface KeyWrites extends Required<Pick<Backend, 'createBareKeys' | 'adopt'>> {
  /** Makes one change. Rejects with why it was not made. */
  make(asked: OneCall): Promise<void>;
  /** Makes an acknowledged write again, if it still is reverted; a failure leaves that to the next look. */
  retry(accessKey: string): Promise<void>;
}

/** The changes that a server's API makes by one call. */
export type OneCall = Exclude<KeyChange, { readonly op: 'rotate' }>;

export interface KeyWritesOptions extends UpstreamContext, Pick<SentWritesOptions, 'kinds' | 'keys' | 'freshness'> {
  readonly sent: SentWrites;
  readonly replica: Pick<KeyReplica, 'follow'>;
  readonly unconfirmed: Pick<UnconfirmedWrites, 'pending'>;
  readonly lostCreates: Pick<LostCreates, 'took'>;
  readonly queue: WriteQueue;
  /** Awaited before something is taken away. */
  readonly keepVersion: () => Promise<void>;
  /** Resolves to the record of a key with which the server would start, or null. Rejects where the server is away. */
  readonly storedRecord: (accessKey: string) => Promise<KeyState>;
}

export function createKeyWrites(options: KeyWritesOptions): KeyWrites {
  const {
    server,
    kinds,
    sent,
    keys,
    freshness,
    replica,
    unconfirmed,
    lostCreates,
    queue,
    clock,
    progress,
    keepVersion,
    storedRecord,
  } = options;

  /** Keys that a bulk made and nobody changed since; without counters, by the protocol. */
  const bare = new Set<string>();

  async function change(write: KeyWrite, isNew = false): Promise<void> {
    await changeBy(write.accessKey, () => write, isNew);
  }

  /** Makes the write that what is there now asks for. */
  async function changeBy(accessKey: string, writeOf: (before: KeyState) => KeyWrite, isNew = false): Promise<void> {
    const { noted } = await queue.take(async () => {
      if (keys.get(accessKey) !== undefined) await keepVersion();
      const before = isNew ? null : await sent.present(accessKey);
      return sent.perform(writeOf(before), before);
    });
    await noted;
  }

  /** A server overwrites name and limit together, so that a new name alone is sent with the limit that is there. */
  function updateOf(accessKey: string, update: KeyUpdate, before: KeyState): KeyWrite {
    const { name, limitBytes = before?.limitBytes ?? null } = update;
    return name === undefined
      ? kinds.limits(accessKey, limitBytes)
      : kinds.updates({ ...update, accessKey, name, limitBytes });
  }

  async function bulk(made: readonly AccessKey[]): Promise<readonly string[]> {
    const limitBytes = made[0]?.limitBytes ?? null;
    const { created, noted } = await queue.take(async () => {
      const { value, serverMilliseconds } = await server.bulkCreateUsers(made.length, limitBytes);
      lostCreates.took(serverMilliseconds);
      const answeredAt = clock.monotonic();
      const records = value.map((accessKey) => recordOf(accessKey, { limitBytes }));
      for (const record of records) {
        freshness.writeBegins(record.accessKey);
        freshness.writeEnds(record.accessKey, 'answered', answeredAt);
        replica.follow({ kind: 'createdBare', record });
      }
      // Its answer is the same where the server could not save it.
      const more = { befores: [null], answeredAt, isSaveUnknown: true };
      const noted = sent.acknowledged(records.map((after) => ({ accessKey: after.accessKey, after, ...more })));
      return { created: value, noted };
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
        await change(kinds.creates(record), true).catch(unlessInMemory);
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

  /** Returns whether the key is as it was made in bulk: it has counters here, because the line makes keys one by one. */
  function isBare(accessKey: string): boolean {
    const counters = keys.get(accessKey)?.counters;
    const isUsed = counters && (counters.bytesUp > 0n || counters.bytesDown > 0n || counters.connections > 0n);
    if (isUsed) bare.delete(accessKey);
    return bare.has(accessKey);
  }

  /**
   * Has what became of a key join the writes that the server may yet lose. Resolves to false where it became something
   * else again since, as by a reload of the server's file.
   */
  async function adopt(accessKey: string, isGone: boolean): Promise<boolean> {
    const adopted = await queue.take(async () => {
      const after = await sent.present(accessKey);
      if ((after === null) !== isGone) return null;
      const befores = [null, await storedRecord(accessKey)];
      const answeredAt = clock.monotonic();
      return { noted: sent.acknowledged([{ accessKey, befores, after, answeredAt }]) };
    });
    await adopted?.noted;
    return adopted !== null;
  }

  return {
    async make(asked) {
      const accessKey = asked.op === 'create' ? asked.key.accessKey : asked.accessKey;
      if (asked.op === 'reset') {
        if (isBare(accessKey)) throw new DomainError('userNotFound');
        return change(kinds.resets(accessKey));
      }
      bare.delete(accessKey);
      switch (asked.op) {
        case 'create':
          return change(kinds.creates(asked.key));
        case 'update':
          return changeBy(accessKey, (before) => updateOf(accessKey, asked.update, before));
        case 'delete':
          return change(kinds.deletes(accessKey));
      }
    },
    async adopt(change) {
      // No server stores counters with its keys.
      if (change.op === 'reset') return true;
      const accessKey = change.op === 'create' ? change.key.accessKey : change.accessKey;
      const isAdopted = await adopt(accessKey, change.op === 'delete' || change.op === 'rotate');
      return change.op === 'rotate' ? (await adopt(change.successor, false)) && isAdopted : isAdopted;
    },
    async createBareKeys(made) {
      const line = server.line() ?? (await server.find());
      return line.capabilities.bulk === true ? bulk(made) : singly(made);
    },
    async retry(accessKey) {
      // Its turn finds out what is still to be done, and does it.
      await queue.take(async () => {
        if (unconfirmed.pending().has(accessKey)) await sent.present(accessKey);
      });
    },
  };
}

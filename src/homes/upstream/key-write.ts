import type { Sent, UpstreamServer } from '../../client/server.js';
import { changedRecord, recordOf } from '../../core/keys/key-record.js';
import type { AccessKey, KeySnapshot } from '../../core/model.js';
import type { KeyState } from './key-state.js';
import type { Effect } from './replica.js';
import type { UnconfirmedWrite } from './unconfirmed-writes.js';

export interface KeyWrite {
  readonly accessKey: string;
  send(): Promise<Sent<void>>;
  /** Returns the server's record of the key after the write, by the one before. */
  after(before: KeyState): KeyState;
  effect(after: KeyState): Effect;
  /** Tells whether a read shows that it has happened, apart from the record. */
  shows(read: KeySnapshot | undefined, before: KeyState): boolean;
}

export type KeyWriteKinds = ReturnType<typeof createKeyWriteKinds>;

/** The changes of one key that a server's API can make. */
export function createKeyWriteKinds(
  server: Pick<UpstreamServer, 'createUser' | 'updateUser' | 'setLimit' | 'deleteUser' | 'resetUser'>,
) {
  const creates = (record: AccessKey): KeyWrite => ({
    accessKey: record.accessKey,
    send: () => server.createUser(record),
    after: () => record,
    effect: () => ({ kind: 'created', record }),
    shows: hasNoTraffic,
  });
  const updates = (record: AccessKey): KeyWrite => ({
    accessKey: record.accessKey,
    send: () => server.updateUser(record),
    after: (before) => before && changedRecord(before, record),
    effect: (after) => ({ kind: 'changed', record: after ?? recordOf(record.accessKey, record) }),
    shows: () => true,
  });
  const limits = (accessKey: string, limitBytes: bigint | null): KeyWrite => ({
    accessKey,
    send: () => server.setLimit(accessKey, limitBytes),
    after: (before) => before && { ...before, limitBytes },
    effect: (after) => ({ kind: 'changed', record: after ?? recordOf(accessKey, { limitBytes }) }),
    shows: () => true,
  });
  const deletes = (accessKey: string): KeyWrite => ({
    accessKey,
    send: () => server.deleteUser(accessKey),
    after: () => null,
    effect: () => ({ kind: 'deleted', accessKey }),
    shows: (_read, before) => before !== null,
  });
  const resets = (accessKey: string): KeyWrite => ({
    accessKey,
    send: () => server.resetUser(accessKey),
    after: (before) => before,
    effect: () => ({ kind: 'reset', accessKey }),
    shows: hasNoTraffic,
  });

  return {
    creates,
    updates,
    limits,
    deletes,
    resets,
    /** Returns the write that makes a `found` key what it was to be. */
    restores(accessKey: string, { after: wanted, previousStates }: UnconfirmedWrite, found: KeyState): KeyWrite {
      if (wanted === null) return deletes(accessKey);
      if (found === null) return creates(wanted);
      const changesName = previousStates.some((each) => each !== null && each.name !== wanted.name);
      // A name that nobody has read stays.
      return changesName ? updates(wanted) : limits(accessKey, wanted.limitBytes);
    },
  };
}

function hasNoTraffic(read: KeySnapshot | undefined): boolean {
  const counters = read?.counters ?? null;
  return counters === null || (counters.bytesUp === 0n && counters.bytesDown === 0n);
}

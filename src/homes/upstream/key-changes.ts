import type { HowChanged, KeyChange, KeyChanges } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { eachByItself, outcomeOf } from '../../core/keys/change-key.js';
import { recordOf } from '../../core/keys/key-record.js';
import type { KeySnapshot } from '../../core/model.js';
import type { KeyWrites } from './key-writes.js';
import type { LastKey } from './last-key.js';

export interface KeyChangesOptions {
  readonly writes: Pick<KeyWrites, 'make'>;
  readonly lastKey: Pick<LastKey, 'deleteKey'>;
  /** Resolves to a key as the server has it. */
  readonly find: (accessKey: string) => Promise<KeySnapshot | undefined>;
}

/** Changes of keys, each of which is a call of its own, or two. */
export function createKeyChanges({ writes, lastKey, find }: KeyChangesOptions): KeyChanges {
  async function make(asked: KeyChange, { refuses }: HowChanged): Promise<void> {
    if (asked.op === 'rotate') return replace(asked.accessKey, asked.successor);
    if (asked.op === 'delete') return lastKey.deleteKey(asked.accessKey, refuses);
    await writes.make(asked);
  }

  /** Makes a successor and takes the key away. No API sets counters, so that the new limit is what was left of the old one. */
  async function replace(accessKey: string, successor: string): Promise<void> {
    const present = await find(accessKey);
    if (present === undefined) throw new DomainError('userNotFound');
    if ((await find(successor)) === undefined)
      await writes.make({ op: 'create', key: recordOf(successor, { ...present, limitBytes: leftOf(present) }) });
    await lastKey.deleteKey(accessKey, false);
  }

  return {
    most: 1,
    areNoted: false,
    apply: (changes, how) => eachByItself(changes, (asked) => outcomeOf(make(asked, how))),
    rotate: null,
  };
}

/** Bytes that are left of a key's limit; null for no limit. */
function leftOf({ limitBytes, counters }: KeySnapshot): bigint | null {
  if (limitBytes === null || counters === null) return limitBytes;
  const left = limitBytes - counters.bytesUp - counters.bytesDown;
  return left > 0n ? left : 0n;
}

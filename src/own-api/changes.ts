import type { Backend, ChangeOutcome, KeyChange } from '../core/backend.js';
import type { Core } from '../core/core.js';
import { DomainError } from '../core/errors.js';
import { keyFields, recordOf } from '../core/keys/key-record.js';
import type { KeySnapshot } from '../core/model.js';

/** Makes one change as a call of its own. Rejects as the backend's change does. */
export async function changeKey(backend: Backend, asked: KeyChange): Promise<void> {
  switch (asked.op) {
    case 'create':
      return backend.createKey(asked.key);
    case 'update':
      return backend.updateKey(asked.accessKey, asked.update);
    case 'delete':
      return backend.deleteKey(asked.accessKey);
    case 'reset':
      return backend.resetKey(asked.accessKey);
    case 'rotate':
      return replaceKey(backend, asked.accessKey, asked.successor);
  }
}

/**
 * Makes a successor of a key and takes that away, where each is a call of its own. No API sets counters, so that the new limit
 * is what was left of the old one.
 */
async function replaceKey(backend: Backend, accessKey: string, successor: string): Promise<void> {
  const find = async (key: string) => (await backend.live?.key(key)) ?? backend.keys.get(key);
  const present = await find(accessKey);
  if (present === undefined) throw new DomainError('userNotFound');
  if ((await find(successor)) === undefined)
    await backend.createKey(recordOf(successor, { ...present, limitBytes: leftOf(present) }));
  await backend.deleteKey(accessKey);
}

/** Bytes that are left of a key's limit; null for no limit. */
function leftOf({ limitBytes, counters }: KeySnapshot): bigint | null {
  if (limitBytes === null || counters === null) return limitBytes;
  const left = limitBytes - counters.bytesUp - counters.bytesDown;
  return left > 0n ? left : 0n;
}

/**
 * The outcome of a change that was perhaps sent: null where it shows, undefined where it was not made for certain, and the error
 * `outcomeUnknown` where nobody can tell.
 */
export async function whatBecameOf(core: Pick<Core, 'key'>, asked: KeyChange): Promise<ChangeOutcome | undefined> {
  const found = await core.key(asked.op === 'create' ? asked.key.accessKey : asked.accessKey);
  switch (asked.op) {
    case 'create':
      if (found === undefined) return undefined;
      return found.limitBytes === asked.key.limitBytes ? null : new DomainError('outcomeUnknown');
    case 'update': {
      if (found === undefined) return undefined;
      const isAsGiven = keyFields.every(
        ({ name }) => asked.update[name] === undefined || asked.update[name] === found[name],
      );
      return isAsGiven ? null : undefined;
    }
    case 'delete':
      return found === undefined ? null : undefined;
    case 'reset': {
      if (found?.counters == null) return undefined;
      const { bytesUp, bytesDown } = found.counters;
      return bytesUp + bytesDown === 0n ? null : new DomainError('outcomeUnknown');
    }
    case 'rotate': {
      const successor = await core.key(asked.successor);
      return successor !== undefined && found === undefined ? null : undefined;
    }
  }
}

/** The places of deletions that do nothing: their keys are not there when it is their turn. */
export async function vainDeletions(
  core: Pick<Core, 'key' | 'keys'>,
  changes: readonly KeyChange[],
): Promise<readonly number[]> {
  const vain: number[] = [];
  /** Whether keys are there behind the changes so far. */
  const after = new Map<string, boolean>();
  for (const [index, asked] of changes.entries()) {
    if (asked.op === 'create') after.set(asked.key.accessKey, true);
    if (asked.op !== 'delete' && asked.op !== 'rotate') continue;
    const { accessKey } = asked;
    const isThere =
      after.get(accessKey) ?? (core.keys.get(accessKey) !== undefined || (await core.key(accessKey)) !== undefined);
    if (asked.op === 'delete' && !isThere) vain.push(index);
    after.set(accessKey, false);
  }
  return vain;
}

import type { ChangeOutcome, KeyChange } from '../core/backend.js';
import type { Core } from '../core/core.js';
import { DomainError } from '../core/errors.js';
import { keyFields } from '../core/keys/key-record.js';

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
  /** True by key if it is there after the changes so far. */
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

import type { ChangeOutcome, KeyBatches, KeyChange } from '../../core/backend.js';
import { outcomesIn } from '../../core/batch-outcomes.js';
import { DomainError } from '../../core/errors.js';
import type { KeptRecords } from '../../core/kept-records.js';
import { textProblem } from './limits.js';
import type { OwnWrites } from './own-writes.js';
import { WRITES } from './statements.js';

/** Changes in one transaction: it holds up the writes of others for some 0.2 s. */
const MOST_CHANGES = 1000;

/**
 * Changes of many keys in one transaction. It leaves its outcomes as a record, so that a second one of the same note, by
 * whichever gateway, makes nothing again. `keepVersion` is awaited before something is taken away.
 */
export function createBatches(
  own: Pick<OwnWrites, 'saveExpecting'>,
  records: KeptRecords,
  keepVersion: () => Promise<void>,
): KeyBatches {
  return {
    most: MOST_CHANGES,
    areNoted: true,
    async apply(changes, note) {
      const refusals = changes.map(refusalOf);
      const sent = changes.filter((_, index) => refusals[index] === null);
      if (sent.some(({ op }) => op !== 'create' && op !== 'reset')) await keepVersion();
      await own.saveExpecting(WRITES.changeKeys(sent, note));
      const told = outcomesIn(records.of('jobs').get(note) ?? '[]')[Symbol.iterator]();
      return refusals.map((refusal) => refusal ?? nextOf(told));
    },
    async rotate(accessKey, successor, changed) {
      if (accessKey.includes('\0')) throw new DomainError('userNotFound');
      await keepVersion();
      return own.saveExpecting(WRITES.rotateKey(accessKey, successor, changed));
    },
  };
}

function nextOf(told: Iterator<ChangeOutcome>): ChangeOutcome {
  const next = told.next();
  // The record is another one's, or cannot be read.
  return next.done === true ? new DomainError('outcomeUnknown') : next.value;
}

/** Why the database cannot hold what is asked for; null where it can. */
function refusalOf(asked: KeyChange): ChangeOutcome {
  if (asked.op === 'create') return invalid(textProblem(asked.key.accessKey, asked.key.name));
  if (asked.accessKey.includes('\0')) return new DomainError('userNotFound');
  return asked.op === 'update' ? invalid(textProblem('', asked.update.name ?? null)) : null;
}

const invalid = (problem: string | null): ChangeOutcome =>
  problem === null ? null : new DomainError('invalidBody', problem);

import type { ChangeOutcome, KeyChange, KeyChanges } from '../../core/backend.js';
import { outcomesIn } from '../../core/batch-outcomes.js';
import { DomainError } from '../../core/errors.js';
import type { KeptRecords } from '../../core/kept-records.js';
import { eachByItself, outcomeOf } from '../../core/keys/change-key.js';
import { textProblem } from './limits.js';
import type { OwnWrites } from './own-writes.js';
import { WRITES } from './statements.js';

/** The most changes in one transaction, which holds up writes of others for some 0.2 s. */
const MOST_CHANGES = 1000;

export interface KeyChangesOptions {
  readonly own: Pick<OwnWrites, 'saveExpecting'>;
  readonly records: KeptRecords;
  /** Makes a single change, which leaves no record. Rejects with why it was not made. */
  readonly changeOne: (asked: KeyChange) => Promise<void>;
  /** Awaited before something is removed. */
  readonly keepVersion: () => Promise<void>;
}

/**
 * Changes keys. Changes under a note are one transaction, which stores its outcomes as a record, so that repeating the
 * note, through any gateway, makes no change again.
 */
export function createKeyChanges({ own, records, changeOne, keepVersion }: KeyChangesOptions): KeyChanges {
  return {
    most: MOST_CHANGES,
    areNoted: true,
    async apply(changes, { note }) {
      if (note === null) return eachByItself(changes, async (asked) => refusalOf(asked) ?? outcomeOf(changeOne(asked)));
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

/** Returns why the database cannot hold what is asked for; null if it can. */
function refusalOf(asked: KeyChange): ChangeOutcome {
  if (asked.op === 'create') return invalid(textProblem(asked.key.accessKey, asked.key.name));
  if (asked.accessKey.includes('\0')) return new DomainError('userNotFound');
  return asked.op === 'update' ? invalid(textProblem('', asked.update.name ?? null)) : null;
}

const invalid = (problem: string | null): ChangeOutcome =>
  problem === null ? null : new DomainError('invalidBody', problem);

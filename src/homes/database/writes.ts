import { setTimeout as pause } from 'node:timers/promises';
import type { ClockPort, LogPort, RandomPort } from '../../core/ports.js';
import { type Connections, type Row, StatementError } from './connection.js';
import { createJitter } from './jitter.js';
import { type Seen, sentWrite, settle, type WriteStatement } from './statements.js';

export type Written =
  /** It is committed. `rest` are the columns after number and outcome, empty if it had to be asked about. */
  | {
      readonly kind: 'done';
      readonly operation: string;
      readonly outcome: string;
      readonly number: bigint;
      readonly rest: Row;
    }
  /** It has not happened, and will not. */
  | { readonly kind: 'nothing'; readonly reason: string; readonly sqlState: string | null }
  /** It could not be determined in time whether it has happened. */
  | { readonly kind: 'unknown'; readonly reason: string };

export type Done = Extract<Written, { readonly kind: 'done' }>;
export type NotDone = Exclude<Written, Done>;

export type Writes = ReturnType<typeof createWrites>;

/** The time, in milliseconds of the monotonic clock, by which the outcome must be known; read again each time. */
export interface Patience {
  readonly until: number;
  /** Milliseconds until one statement is given up; default 4 s. */
  readonly statement?: number;
}

export interface WritesOptions {
  readonly connections: Pick<Connections, 'run' | 'unanswered'>;
  /** The connections for asking about the outcome of a write, which waiting writes never use. */
  readonly asking: Pick<Connections, 'run'>;
  /** Returns the numbers and marks of the state in memory. */
  readonly seen: () => Pick<Seen, 'state' | 'counters'>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

/** Milliseconds until the outcome of a write is known. */
export const WRITE_PATIENCE = 10_000;
/** Milliseconds until a statement, or the question about its outcome, is given up. */
const DEADLINE = 4_000;
const SETTLE_DEADLINE = 2_000;
/** Milliseconds that giving up a write and asking about it once take at most. */
export const LEAST_PATIENCE = DEADLINE + SETTLE_DEADLINE;
/**
 * Serialization failure, deadlock, lock not available, too many connections, cannot connect now (starting or stopping):
 * errors that pass by themselves.
 */
const PASSING = /^(?:40001|40P01|55P03|53300|57P03)$/;
/** The schema's own states and a repeated id concern the write itself; starting and stopping show in reads. */
const SAYS_NOTHING_OF_OTHERS = /^(?:KW...|23505|57P..)$/;
const UNANSWERED = 'the database has not answered an earlier write, and does not say what became of it';

/** Makes writes, each of which ends in one of three ways, whatever happens to the connection. */
export function createWrites({ connections, asking, seen, clock, random, log }: WritesOptions) {
  const jitter = createJitter(random);
  /** The number of writes whose outcome is still being asked for after a failed question. */
  let doubtful = 0;
  let refused: string | null = null;
  let hasNewRefusal = false;

  const isInDoubt = (): boolean => doubtful > 0 || connections.unanswered() > 0;

  const hasTime = ({ until }: Patience): boolean => clock.monotonic() + DEADLINE / 2 <= until;

  /** Asks for the outcome of a write; null if it cannot be known. */
  async function settled(question: string, patience: Patience): Promise<Row | null> {
    let isDoubtful = false;
    try {
      for (;;) {
        const left = patience.until - clock.monotonic();
        if (left <= 0) return null;
        try {
          const [row = null] = (await asking.run(question, Math.min(SETTLE_DEADLINE, left))).at(-1) ?? [];
          return row?.[1] === 'forgotten' ? null : row;
        } catch {
          if (!isDoubtful) doubtful += 1;
          isDoubtful = true;
          await pause(jitter(150));
        }
      }
    } finally {
      if (isDoubtful) doubtful -= 1;
    }
  }

  async function attempt(statement: WriteStatement, patience: Patience): Promise<Written> {
    for (let isFirst = true; ; isFirst = false) {
      // The outcome of this write itself is known by now, and its connection will soon be free.
      while (isInDoubt() && !isFirst && hasTime(patience)) await pause(jitter(100));
      if (isInDoubt()) return { kind: 'nothing', reason: UNANSWERED, sqlState: null };
      const operation = random.uuid();
      const question = settle(operation, seen());
      const left = patience.until - clock.monotonic();
      try {
        const answers = await connections.run(
          sentWrite(statement(operation)),
          Math.max(1, Math.min(patience.statement ?? DEADLINE, left)),
        );
        return doneBy(operation, answers.at(-1)?.[0] ?? []);
      } catch (error) {
        if (!(error instanceof StatementError)) throw error;
        const { reached, message: reason, sqlState } = error;
        if (reached === 'unknown') {
          const found = await settled(question, patience);
          if (found === null) {
            log.error({ reason }, 'what became of a write could not be found out');
            return { kind: 'unknown', reason };
          }
          if (found[1] !== 'prevented') return doneBy(operation, found);
        }
        // A write that has not happened is tried again while there is time for it.
        const mayPass = reached === 'unknown' || PASSING.test(sqlState ?? '');
        if (!mayPass || !hasTime(patience)) return { kind: 'nothing', reason, sqlState };
        await pause(jitter(reached === 'not sent' ? 200 : 20));
      }
    }
  }

  function note(written: Written): void {
    if (written.kind === 'done') refused = null;
    if (written.kind !== 'nothing' || written.sqlState === null) return;
    if (SAYS_NOTHING_OF_OTHERS.test(written.sqlState)) return;
    refused = written.reason;
    hasNewRefusal = true;
  }

  return {
    /**
     * Executes one statement, and again if it certainly did not happen for a reason that passes. Never rejects. By
     * default its outcome is known within 10 s. While the outcome of an earlier write cannot be determined, it returns
     * at once without having happened.
     */
    async write(
      statement: WriteStatement,
      patience: Patience = { until: clock.monotonic() + WRITE_PATIENCE },
    ): Promise<Written> {
      const written = await attempt(statement, patience);
      note(written);
      return written;
    },
    /** Returns why the database refuses these writes, judging by the last ones; null if it does not. */
    refusal: (): string | null => refused ?? (isInDoubt() ? UNANSWERED : null),
    /**
     * Notes that the database has accepted a write of another kind. It is taken to accept these again if it has refused
     * none since the last such note.
     */
    othersAreTaken(): void {
      if (!hasNewRefusal) refused = null;
      hasNewRefusal = false;
    },
  };
}

function doneBy(operation: string, [number, outcome, ...rest]: Row): Written {
  return { kind: 'done', operation, outcome: outcome ?? '', number: BigInt(number ?? 0), rest };
}

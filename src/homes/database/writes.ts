import { setTimeout as pause } from 'node:timers/promises';
import type { ClockPort, LogPort, RandomPort } from '../../core/ports.js';
import { type Connections, type Row, StatementError } from './connection.js';
import { createJitter } from './jitter.js';
import { type Seen, sentWrite, settle, type WriteStatement } from './statements.js';

export type Written =
  /** It is committed. `rest` are the columns behind its number and outcome, none where it had to be asked for. */
  | {
      readonly kind: 'done';
      readonly operation: string;
      readonly outcome: string;
      readonly number: bigint;
      readonly rest: Row;
    }
  /** It has not happened, and will not. */
  | { readonly kind: 'nothing'; readonly reason: string; readonly sqlState: string | null }
  /** Nobody could be asked in time whether it has happened. */
  | { readonly kind: 'unknown'; readonly reason: string };

export type Done = Extract<Written, { readonly kind: 'done' }>;
export type NotDone = Exclude<Written, Done>;

export type Writes = ReturnType<typeof createWrites>;

/** The time, by the monotonic clock in milliseconds, by which the outcome of a write must be known; read anew each time. */
export interface Patience {
  readonly until: number;
  /** Milliseconds until one statement is given up; default 4 s. */
  readonly statement?: number;
}

export interface WritesOptions {
  readonly connections: Pick<Connections, 'run' | 'unanswered'>;
  /** Over which it is asked what became of a write: never taken by writes that wait. */
  readonly asking: Pick<Connections, 'run'>;
  /** Returns the numbers and marks of the state in memory. */
  readonly seen: () => Pick<Seen, 'state' | 'counters'>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

/** Milliseconds until what became of a write is known. */
export const WRITE_PATIENCE = 10_000;
/** Milliseconds until a statement or the question what became of it is given up. */
const DEADLINE = 4_000;
const SETTLE_DEADLINE = 2_000;
/** Milliseconds in which a write may be given up and asked for once. */
export const LEAST_PATIENCE = DEADLINE + SETTLE_DEADLINE;
/**
 * Serialization failure, deadlock, lock not available, too many connections, cannot connect now (it starts or ends): what
 * passes by itself.
 */
const PASSING = /^(?:40001|40P01|55P03|53300|57P03)$/;
/** The schema's own states and that of a repeated id are about the write; that it starts or ends, reads tell as well. */
const SAYS_NOTHING_OF_OTHERS = /^(?:KW...|23505|57P..)$/;
const UNANSWERED = 'the database has not answered an earlier write, and does not say what became of it';

/** Writes, each of which ends in one of three ways, whatever happens to the connection. */
export function createWrites({ connections, asking, seen, clock, random, log }: WritesOptions) {
  const jitter = createJitter(random);
  /** Writes that were asked for in vain, and are asked for again. */
  let doubtful = 0;
  let refused: string | null = null;
  let isRefusedAnew = false;

  const isInDoubt = (): boolean => doubtful > 0 || connections.unanswered() > 0;

  const hasTime = ({ until }: Patience): boolean => clock.monotonic() + DEADLINE / 2 <= until;

  /** Asks for the outcome of a write; null where it cannot be known. */
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
      // The outcome of this write itself is known by now, and its connection is free soon.
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
    isRefusedAnew = true;
  }

  return {
    /**
     * Carries out one statement, and again where it certainly did not happen for a reason that passes. Never rejects.
     * By default what became of it is known within 10 s. While it cannot be found out what became of an earlier one, it ends at
     * once and has not happened.
     */
    async write(
      statement: WriteStatement,
      patience: Patience = { until: clock.monotonic() + WRITE_PATIENCE },
    ): Promise<Written> {
      const written = await attempt(statement, patience);
      note(written);
      return written;
    },
    /** Why the database takes no writes of these, as far as the last ones tell; null where it does. */
    refusal: (): string | null => refused ?? (isInDoubt() ? UNANSWERED : null),
    /** The database has taken a write of another kind. It takes these again, where none was refused since it last did. */
    othersAreTaken(): void {
      if (!isRefusedAnew) refused = null;
      isRefusedAnew = false;
    },
  };
}

function doneBy(operation: string, [number, outcome, ...rest]: Row): Written {
  return { kind: 'done', operation, outcome: outcome ?? '', number: BigInt(number ?? 0), rest };
}

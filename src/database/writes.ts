import { setTimeout as pause } from 'node:timers/promises';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import { type Connections, type Row, StatementError } from './connection.js';
import { createJitter } from './jitter.js';
import { type Seen, settle, type WriteStatement } from './statements.js';

/** How a write ended. */
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

/** Writes, each of which ends in one of three ways, whatever happens to the connection. */
export interface Writes {
  /**
   * Carries out one statement, and again where it certainly did not happen for a reason that passes. Never rejects.
   * By default what became of it is known within 10 s.
   */
  write(statement: WriteStatement, patience?: Patience): Promise<Written>;
}

/** When, by the monotonic clock in milliseconds, what became of a write must be known; read anew each time. */
export interface Patience {
  readonly until: number;
  /** Milliseconds until one statement is given up; default 4 s. */
  readonly statement?: number;
}

export interface WritesOptions {
  readonly connections: Pick<Connections, 'run'>;
  /** What is in memory. */
  readonly seen: () => Pick<Seen, 'state' | 'counters'>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

const PATIENCE = 10_000;
/** Milliseconds until a statement or the question what became of it is given up. */
const DEADLINE = 4_000;
const SETTLE_DEADLINE = 2_000;
/** Serialization failure, deadlock, lock not available: what passes by itself. */
const PASSING = /^(?:40001|40P01|55P03)$/;

export function createWrites({ connections, seen, clock, random, log }: WritesOptions): Writes {
  const jitter = createJitter(random);

  /** What became of the write, null where that cannot be known. */
  async function settled(question: string, patience: Patience): Promise<Row | null> {
    for (;;) {
      const left = patience.until - clock.monotonic();
      if (left <= 0) return null;
      try {
        const [rows] = await connections.run(question, Math.min(SETTLE_DEADLINE, left));
        const [row = null] = rows ?? [];
        return row?.[1] === 'forgotten' ? null : row;
      } catch {
        await pause(jitter(150));
      }
    }
  }

  async function write(
    statement: WriteStatement,
    patience: Patience = { until: clock.monotonic() + PATIENCE },
  ): Promise<Written> {
    for (;;) {
      const operation = random.uuid();
      const question = settle(operation, seen());
      const left = patience.until - clock.monotonic();
      try {
        const [rows] = await connections.run(
          statement(operation),
          Math.max(1, Math.min(patience.statement ?? DEADLINE, left)),
        );
        return doneBy(operation, rows?.[0] ?? []);
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
        // What has not happened is tried again while there is time for it.
        const mayPass = reached === 'unknown' || PASSING.test(sqlState ?? '');
        if (!mayPass || clock.monotonic() + DEADLINE / 2 > patience.until) return { kind: 'nothing', reason, sqlState };
        await pause(jitter(20));
      }
    }
  }

  return { write };
}

function doneBy(operation: string, [number, outcome, ...rest]: Row): Written {
  return { kind: 'done', operation, outcome: outcome ?? '', number: BigInt(number ?? 0), rest };
}

import { Counter, Histogram, type Registry } from 'prom-client';

/** Observes every call to the server behind this gateway. */
export interface UpstreamCalls {
  called(call: { readonly operation: string; readonly outcome: string; readonly milliseconds: number }): void;
  sessionLost(): void;
}

/** Seconds: a small read on loopback, a write of a large server, one that is silent. */
const CALLS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 5, 10];

/** Counts calls as they happen. Without a server behind the gateway no series appears: the first call creates it. */
export function registerUpstreamCalls(registry: Registry): UpstreamCalls {
  let made: Recorder | null = null;
  const recorder = (): Recorder => {
    made ??= createRecorder(registry);
    return made;
  };
  return {
    called({ operation, outcome, milliseconds }) {
      const { calls, durations } = recorder();
      calls.inc({ operation, outcome });
      durations.observe({ operation }, milliseconds / 1000);
    },
    sessionLost: () => recorder().sessions.inc(),
  };
}

interface Recorder {
  readonly calls: Counter<'operation' | 'outcome'>;
  readonly durations: Histogram<'operation'>;
  readonly sessions: Counter;
}

function createRecorder(registry: Registry): Recorder {
  const registers = [registry];
  return {
    calls: new Counter({
      name: 'keyway_upstream_calls_total',
      help: 'Calls to the server behind Keyway, by operation, and whether it answered, was away or silent, or refused to let Keyway in.',
      labelNames: ['operation', 'outcome'],
      registers,
    }),
    durations: new Histogram({
      name: 'keyway_upstream_call_duration_seconds',
      help: 'Time that a call to the server took, by operation.',
      labelNames: ['operation'],
      buckets: CALLS,
      registers,
    }),
    sessions: new Counter({
      name: 'keyway_upstream_sessions_lost_total',
      help: 'Sessions of Keyway’s that the server no longer took.',
      registers,
    }),
  };
}

/** Seconds: a statement on the same machine, a commit that waits for a standby, a lock, and what is given up. */
const STATEMENTS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 5, 10];

/** Counts how long looks, writes and batches took, as they happen. Without a database no series appears. */
export function registerDatabaseDurations(registry: Registry): (operation: string, milliseconds: number) => void {
  let made: Histogram<'operation'> | null = null;
  return (operation, milliseconds) => {
    made ??= new Histogram({
      name: 'keyway_database_duration_seconds',
      help: 'Time until a look at the database had been taken in, or it was known what became of a write or a batch of counters.',
      labelNames: ['operation'],
      buckets: STATEMENTS,
      registers: [registry],
    });
    made.observe({ operation }, milliseconds / 1000);
  };
}

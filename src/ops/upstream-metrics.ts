import { Counter, Histogram, type Registry } from 'prom-client';
import type { Family } from './family.js';

/** Told of every call to the server behind this gateway. */
export interface UpstreamCalls {
  called(call: { readonly operation: string; readonly outcome: string; readonly milliseconds: number }): void;
  sessionLost(): void;
}

/** What is read of the state that a running server holds; counts are since the start. */
export interface UpstreamFigures {
  readonly renewals: number;
  readonly failed: number;
  /** Null before the first list. */
  readonly ageMilliseconds: number | null;
  readonly unsettled: number;
  readonly madeAgain: number;
  readonly left: number;
  readonly writesWaiting: number;
}

/** Seconds: a small read on loopback, a write of a large server, one that is silent. */
const DURATIONS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 5, 10];

/** Counts calls as they happen. A gateway in front of no server has none of these: they begin with the first call. */
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
      buckets: DURATIONS,
      registers,
    }),
    sessions: new Counter({
      name: 'keyway_upstream_sessions_lost_total',
      help: 'Sessions of Keyway’s that the server no longer took.',
      registers,
    }),
  };
}

export function upstreamFamilies(figures: () => UpstreamFigures): readonly Family[] {
  return [
    {
      name: 'keyway_upstream_list_age_seconds',
      help: 'Time since the list of keys that is known was asked for; it grows while nobody looks.',
      type: 'gauge',
      read() {
        const { ageMilliseconds } = figures();
        return ageMilliseconds === null ? [] : [{ value: ageMilliseconds / 1000 }];
      },
    },
    {
      name: 'keyway_upstream_renewals_total',
      help: 'Lists of keys that were asked for, and whether they were taken in.',
      type: 'counter',
      labelNames: ['outcome'],
      read() {
        const { renewals, failed } = figures();
        return [
          { labels: { outcome: 'taken' }, value: renewals },
          { labels: { outcome: 'failed' }, value: failed },
        ];
      },
    },
    {
      name: 'keyway_upstream_unsettled_writes',
      help: 'Keys whose last write was acknowledged and may still be lost by the server.',
      type: 'gauge',
      read: () => figures().unsettled,
    },
    {
      name: 'keyway_upstream_lost_writes_total',
      help: 'Acknowledged writes that the server had lost and that were made again.',
      type: 'counter',
      read: () => figures().madeAgain,
    },
    {
      name: 'keyway_upstream_left_deletions_total',
      help: 'Keys made through Keyway that somebody else deleted at the server within 7 s, which was left so.',
      type: 'counter',
      read: () => figures().left,
    },
    {
      name: 'keyway_upstream_waiting_writes',
      help: 'Writes that wait for their turn at the server, the one under way included.',
      type: 'gauge',
      read: () => figures().writesWaiting,
    },
  ];
}

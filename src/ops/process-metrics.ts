import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { collectDefaultMetrics, type Registry } from 'prom-client';
import { counter, type Family } from './family.js';
import { registerFamilies } from './register-families.js';

/** Milliseconds. Waking more often takes too much of an idle processor: 0.5 % at 10 ms, 0.3 % at 20 ms. */
const RESOLUTION = 20;
/** The library's own measure counts the time between two wakings as delay, so it is not exposed. */
const UNUSED_RESOLUTION = 60_000;
const UNUSED = 'nodejs_eventloop_lag';

export interface ProcessFigures {
  /** Keyway's version. */
  readonly version: string;
  /** Returns the lines of the log that could not be written since the start. */
  linesLost(): number;
}

/**
 * Registers figures of the process, and how long its event loop keeps work waiting. Returns a function that ends the
 * measuring.
 */
export function registerProcess(registry: Registry, { version, linesLost }: ProcessFigures): () => void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: UNUSED_RESOLUTION });
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith(UNUSED)) registry.removeSingleMetric(name);
  }
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  delays.enable();
  const build: Family = {
    name: 'keyway_build_info',
    help: 'Which Keyway this is; always 1.',
    type: 'gauge',
    labelNames: ['version'],
    read: () => [{ labels: { version }, value: 1 }],
  };
  const delay: Family = {
    name: 'keyway_event_loop_delay_seconds',
    help: 'How much later than due timers came since the last reading: the median, the 99th percentile and the longest.',
    type: 'gauge',
    labelNames: ['statistic'],
    async read() {
      // After a blocked loop, this request may run before the timer whose delay is to be measured.
      await sleep(1);
      const figures = { p50: delays.percentile(50), p99: delays.percentile(99), max: delays.max };
      delays.reset();
      return Object.entries(figures).map(([statistic, value]) => ({ labels: { statistic }, value: lateness(value) }));
    },
  };
  const lines = counter(
    'keyway_log_lines_lost_total',
    'Lines of the log that could not be written: a full disk, or a reader that was too slow or has gone.',
    () => linesLost(),
  );
  registerFamilies(registry, [build, delay, lines]);
  return () => delays.disable();
}

/** Converts nanoseconds between two wakings into seconds of delay. */
function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - RESOLUTION / 1000);
}

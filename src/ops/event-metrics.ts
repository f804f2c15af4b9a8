import { Counter, Histogram, type Registry } from 'prom-client';
import type { ConfigurationObserverPort } from '../core/configuration-observer.js';

/** Changes in a batch, from one key to a bulk creation and beyond. */
const SIZES = [1, 2, 5, 10, 50, 100, 1000, 10_000];
/** Seconds; a write waits for the disk. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

const REASONS = ['edited', 'replaced', 'restored'] as const;

/** Counts writes of the configuration file, and contents from outside, as they happen. */
export function registerConfiguration(registry: Registry): ConfigurationObserverPort {
  const registers = [registry];
  const sizes = new Histogram({
    name: 'keyway_config_write_changes',
    help: 'Keys, rule lists and DNS settings that one write of the configuration file was to change.',
    buckets: SIZES,
    registers,
  });
  const durations = new Histogram({
    name: 'keyway_config_write_duration_seconds',
    help: 'Time that a write of the configuration file took, by kind: gathered changes, or the whole file.',
    labelNames: ['kind'],
    buckets: DURATIONS,
    registers,
  });
  const failures = new Counter({
    name: 'keyway_config_write_failures_total',
    help: 'Writes of the configuration file of which some or all is not in the file.',
    labelNames: ['kind'],
    registers,
  });
  const reloads = new Counter({
    name: 'keyway_config_reloads_total',
    help: 'Contents of the configuration file that came from outside, by reason, and whether they were applied.',
    labelNames: ['reason', 'outcome'],
    registers,
  });
  const again = new Counter({
    name: 'keyway_config_changes_given_again_total',
    help: 'Changes that another program took back from the configuration file, made again.',
    registers,
  });
  // Series start at zero, so that the first event of its kind shows as an increase.
  for (const kind of ['changes', 'whole']) {
    durations.zero({ kind });
    failures.inc({ kind }, 0);
  }
  for (const reason of REASONS) for (const outcome of ['applied', 'refused']) reloads.inc({ reason, outcome }, 0);
  return {
    wrote({ kind, changes, milliseconds, failed }) {
      if (kind === 'changes') sizes.observe(changes);
      durations.observe({ kind }, milliseconds / 1000);
      if (failed) failures.inc({ kind });
    },
    reloaded(reason, outcome) {
      reloads.inc({ reason, outcome });
    },
    gaveAgain(changes) {
      again.inc(changes);
    },
  };
}

export interface MountLabels {
  readonly mount: string;
  readonly revision: string;
}

const OUTCOMES = ['begun', 'refused', 'waiting'];

export function registerLogins(registry: Registry) {
  const logins = new Counter({
    name: 'keyway_logins_total',
    help: 'Logins by mount and outcome: begun (a session), refused, or waiting (the login guard, the password unread).',
    labelNames: ['mount', 'revision', 'outcome'],
    registers: [registry],
  });
  return {
    count: (mount: MountLabels, outcome: string): void => logins.inc({ ...mount, outcome }),
    /** Makes a mount's series appear before anybody has logged in. */
    beginAtZero(mount: MountLabels): void {
      for (const outcome of OUTCOMES) logins.inc({ ...mount, outcome }, 0);
    },
  };
}

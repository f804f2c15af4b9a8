import type { ReloadReason } from './backend.js';

/** A write of the configuration file that has ended. */
export interface ConfigurationWrite {
  /** `changes`: what operations had gathered; `whole`: the file was replaced through the API or from a backup. */
  readonly kind: 'changes' | 'whole';
  /** The number of keys, rule lists and DNS settings that it was to change; a whole file counts once. */
  readonly changes: number;
  readonly milliseconds: number;
  /** True if some or all of it is not in the file. */
  readonly failed: boolean;
}

/** Observes the configuration file, for metrics. It must not throw. */
export interface ConfigurationObserverPort {
  wrote(write: ConfigurationWrite): void;
  /**
   * The file's content came from outside; `refused`: it is no configuration, or not one of a server, and the last stays
   * live.
   */
  reloaded(reason: ReloadReason, outcome: ReloadOutcome): void;
  /** Counts changes that another program took back and that are made again. */
  gaveAgain(changes: number): void;
}

export type ReloadOutcome = 'applied' | 'refused';

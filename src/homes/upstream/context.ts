import type { UpstreamServer } from '../../client/server.js';
import type { ClockPort, LogPort, ProgressPort } from '../../core/ports.js';
import type { Tells } from './key-state.js';
import type { TimersPort } from './timers.js';

/** The ports and facts that every part of this home is given. */
export interface UpstreamContext {
  readonly server: UpstreamServer;
  readonly tells: Tells;
  /** Tells whether names are read from the configuration. */
  readonly readsNames: () => boolean;
  readonly clock: ClockPort;
  readonly timers: TimersPort;
  readonly log: LogPort;
  readonly progress?: ProgressPort;
}

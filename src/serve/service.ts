import type { LogPort, ServiceManagerPort, ServiceState } from '../core/ports.js';
import { failureWords } from '../platform/failure-words.js';

/** Reports to a service manager. Nothing here rejects: a manager that cannot be told is one line in the log. */
export interface ServiceReports {
  /** Everything listens. From now on signs of life are sent. */
  ready(status: string): Promise<void>;
  /** Files are being read again, until the next `ready`. */
  reloading(): Promise<void>;
  stopping(): Promise<void>;
  /** No more signs of life. */
  end(): void;
}

/** The longest time that a timer takes, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Reports to the manager, or to nobody when there is none. Signs of life come from the event loop, twice as often as asked for. */
export function createServiceReports(manager: ServiceManagerPort | null, log: LogPort): ServiceReports {
  let failed = false;
  let timer: NodeJS.Timeout | null = null;

  async function tell(state: ServiceState, status?: string): Promise<void> {
    try {
      await manager?.tell(state, status);
      failed = false;
    } catch (error) {
      if (!failed) log.warn({ state, error }, `the service manager cannot be told: ${failureWords(error)}`);
      failed = true;
    }
  }

  function startSigns(): void {
    const { watchdog = null } = manager ?? {};
    if (watchdog === null || timer !== null) return;
    timer = setInterval(() => void tell('alive'), Math.min(watchdog / 2, LONGEST_TIMER));
    timer.unref();
  }

  return {
    async ready(status) {
      await tell('ready', status);
      startSigns();
    },
    reloading: () => tell('reloading'),
    stopping: () => tell('stopping'),
    end() {
      if (timer !== null) clearInterval(timer);
    },
  };
}

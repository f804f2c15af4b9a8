import type { LogPort, ServiceManagerPort, ServiceState } from '../core/ports.js';
import { failureWords } from '../platform/failure-words.js';

/** The longest time that a timer supports, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Reports to the service manager, if any. The event loop gives signs of life, twice as often as required. */
export function createServiceReports(manager: ServiceManagerPort | null, log: LogPort) {
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
    /** Reports that everything listens, and begins to send signs of life. */
    async ready(status: string): Promise<void> {
      await tell('ready', status);
      startSigns();
    },
    /** Reports that files are being read again, until the next `ready`. */
    reloading: (): Promise<void> => tell('reloading'),
    stopping: (): Promise<void> => tell('stopping'),
    /** Ends the signs of life. */
    end(): void {
      if (timer !== null) clearInterval(timer);
    },
  };
}

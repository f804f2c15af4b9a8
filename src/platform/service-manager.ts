import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ServiceManagerPort, ServiceState } from '../core/ports.js';
import { failureCode } from './failure-words.js';

const run = promisify(execFile);

/** The variables of sd_notify(3). */
const VARIABLES: Readonly<Record<ServiceState, string>> = {
  ready: 'READY=1',
  reloading: 'RELOADING=1',
  stopping: 'STOPPING=1',
  alive: 'WATCHDOG=1',
};

/** Milliseconds; systemd-notify itself waits for the manager for 5 seconds at most. */
const LONGEST_WAIT = 10_000;

/**
 * Returns the service manager that the environment names (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID), or null without
 * one. Messages go through systemd's own `systemd-notify`, because Node cannot send to a Unix datagram socket.
 */
export function createServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  pid: number,
): ServiceManagerPort | null {
  if ((environment.NOTIFY_SOCKET ?? '') === '') return null;
  return {
    watchdog: watchdogOf(environment, pid),
    async tell(state, status) {
      const words = [VARIABLES[state], ...(status === undefined ? [] : [`STATUS=${status}`])];
      try {
        await run('systemd-notify', words, { timeout: LONGEST_WAIT });
      } catch (error) {
        const reason = failureCode(error) === 'ENOENT' ? 'there is no systemd-notify' : 'systemd-notify failed';
        throw new Error(reason, { cause: error });
      }
    },
  };
}

/** Returns the watchdog's interval; none if WATCHDOG_PID names another process. */
function watchdogOf(environment: Readonly<Record<string, string | undefined>>, pid: number): number | null {
  const { WATCHDOG_USEC: microseconds = '', WATCHDOG_PID: watched = '' } = environment;
  if (!/^[1-9]\d{0,15}$/.test(microseconds) || (watched !== '' && watched !== String(pid))) return null;
  return Number(microseconds) / 1000;
}

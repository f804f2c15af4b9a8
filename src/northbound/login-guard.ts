import type { ClockPort } from '../core/ports.js';
import { RecentMap } from '../core/recent-map.js';

/**
 * The number of failures, and the milliseconds within which they must occur, that close the login for a network
 * (design: "Login guessing").
 */
export interface LoginGuardLimit {
  readonly failures: number;
  readonly window: number;
}

export const DEFAULT_LOGIN_GUARD: LoginGuardLimit = { failures: 5, window: 5 * 60_000 };

/** The most networks that are remembered, so that guesses from many networks cannot fill the memory. */
const MOST_NETWORKS = 10_000;

export type LoginGuard = ReturnType<typeof createLoginGuard>;

/** Makes a guard; with `off` it never closes the login. */
export function createLoginGuard(limit: LoginGuardLimit | 'off', clock: ClockPort) {
  const failures = new RecentMap<string, readonly number[]>(MOST_NETWORKS);

  function recent(network: string, window: number): readonly number[] {
    const since = clock.monotonic() - window;
    return (failures.get(network) ?? []).filter((time) => time > since);
  }

  return {
    /** Returns the seconds until the network may try again; null if it may now. */
    retryAfter(network: string): number | null {
      if (limit === 'off') return null;
      const times = recent(network, limit.window);
      const oldest = times.at(-limit.failures);
      if (oldest === undefined) return null;
      return Math.max(1, Math.ceil((oldest + limit.window - clock.monotonic()) / 1000));
    },
    failed(network: string): void {
      if (limit === 'off') return;
      const times = [...recent(network, limit.window), clock.monotonic()].slice(-limit.failures);
      failures.set(network, times);
    },
    succeeded(network: string): void {
      failures.delete(network);
    },
  };
}

import type { ClockPort } from '../core/ports.js';

/** The failures within so many milliseconds that close the login for a network (design: "Login guessing"). */
export interface LoginGuardLimit {
  readonly failures: number;
  readonly window: number;
}

export const DEFAULT_LOGIN_GUARD: LoginGuardLimit = { failures: 5, window: 5 * 60_000 };

/** Networks remembered at most, so that guessing from many does not fill the memory. */
const MOST_NETWORKS = 10_000;

export type LoginGuard = ReturnType<typeof createLoginGuard>;

/** Without a limit it never closes. */
export function createLoginGuard(limit: LoginGuardLimit | 'off', clock: ClockPort) {
  const failures = new Map<string, readonly number[]>();

  function recent(network: string, window: number): readonly number[] {
    const since = clock.monotonic() - window;
    return (failures.get(network) ?? []).filter((time) => time > since);
  }

  return {
    /** Seconds until the network may try again, or null when it may now. */
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
      failures.delete(network);
      failures.set(network, times);
      for (const oldest of failures.keys()) {
        if (failures.size <= MOST_NETWORKS) break;
        failures.delete(oldest);
      }
    },
    succeeded(network: string): void {
      failures.delete(network);
    },
  };
}

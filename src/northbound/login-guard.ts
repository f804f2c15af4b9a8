import type { ClockPort } from '../core/ports.js';

/** How many failures within how many milliseconds close the login for an address (design: "login guessing"). */
export interface LoginGuardLimit {
  readonly failures: number;
  readonly window: number;
}

export const DEFAULT_LOGIN_GUARD: LoginGuardLimit = { failures: 5, window: 5 * 60_000 };

/** Addresses remembered at most, so that guessing from many does not fill the memory. */
const MOST_ADDRESSES = 10_000;

/** Slows the guessing of passwords, per address. */
export interface LoginGuard {
  /** Seconds until the address may try again, or null when it may now. */
  retryAfter(address: string): number | null;
  failed(address: string): void;
  succeeded(address: string): void;
}

/** A null limit never closes. */
export function createLoginGuard(limit: LoginGuardLimit | null, clock: ClockPort): LoginGuard {
  const failures = new Map<string, readonly number[]>();

  function recent(address: string, window: number): readonly number[] {
    const since = clock.monotonic() - window;
    return (failures.get(address) ?? []).filter((time) => time > since);
  }

  return {
    retryAfter(address) {
      if (limit === null) return null;
      const times = recent(address, limit.window);
      const oldest = times.at(-limit.failures);
      if (oldest === undefined) return null;
      return Math.max(1, Math.ceil((oldest + limit.window - clock.monotonic()) / 1000));
    },
    failed(address) {
      if (limit === null) return;
      const times = [...recent(address, limit.window), clock.monotonic()].slice(-limit.failures);
      failures.delete(address);
      failures.set(address, times);
      for (const oldest of failures.keys()) {
        if (failures.size <= MOST_ADDRESSES) break;
        failures.delete(oldest);
      }
    },
    succeeded(address) {
      failures.delete(address);
    },
  };
}

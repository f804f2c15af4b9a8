/** A kept version of the configuration file, as its name tells it. */
export interface KeptVersion {
  /** The id that `restoreVersion` takes: the time and the beginning of the content's SHA-256. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly keptAt: number;
  readonly forever: boolean;
}

const LAST = 10;
const DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * The ids of the versions that stay: the very first and those marked for ever, the last 10, and the last one of each day
 * (UTC) of the past 30 days. `versions` may come in any order.
 */
export function retainedVersions(versions: readonly KeptVersion[], now: number): ReadonlySet<string> {
  const newestFirst = sorted(versions).reverse();
  return new Set([...lastingVersions(versions, now), ...newestFirst.slice(0, LAST).map(({ id }) => id)]);
}

/** The ids of the versions that stay however many more are kept today. */
export function lastingVersions(versions: readonly KeptVersion[], now: number): ReadonlySet<string> {
  const oldestFirst = sorted(versions);
  const ofDay = new Map<number, string>();
  for (const { id, keptAt } of oldestFirst)
    if (now - keptAt < DAYS * DAY_MS) ofDay.set(Math.floor(keptAt / DAY_MS), id);
  const forever = oldestFirst.filter((version, index) => index === 0 || version.forever);
  return new Set([...forever.map(({ id }) => id), ...ofDay.values()]);
}

/** Oldest first; within a millisecond in the order of their ids. */
export function sorted(versions: readonly KeptVersion[]): KeptVersion[] {
  return [...versions].sort((a, b) => a.keptAt - b.keptAt || (a.id < b.id ? -1 : 1));
}

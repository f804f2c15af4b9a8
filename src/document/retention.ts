/** A kept version of the configuration file, as its name tells it. */
export interface KeptVersion {
  /** The id that `restoreVersion` takes: the time and the beginning of the content's SHA-256. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly keptAt: number;
  readonly forever: boolean;
}

const LAST = 10;
const HOURS = 24;
const HOUR_MS = 3_600_000;
const DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * The ids of the versions that stay: the very first and those marked for ever, the last 10, and the last one of each hour
 * of the past day and of each day (UTC) of the past 30. `versions` may come in any order.
 */
export function retainedVersions(versions: readonly KeptVersion[], now: number): ReadonlySet<string> {
  const newestFirst = sorted(versions).reverse();
  return new Set([...lastingVersions(versions, now), ...newestFirst.slice(0, LAST).map(({ id }) => id)]);
}

/** The ids of the versions that stay however many more are kept today. */
export function lastingVersions(versions: readonly KeptVersion[], now: number): ReadonlySet<string> {
  const oldestFirst = sorted(versions);
  const lastOfEach = (milliseconds: number, count: number) =>
    new Map(
      oldestFirst
        .filter(({ keptAt }) => now - keptAt < count * milliseconds)
        .map(({ id, keptAt }) => [Math.floor(keptAt / milliseconds), id]),
    ).values();
  const forever = oldestFirst.filter((version, index) => index === 0 || version.forever);
  return new Set([...forever.map(({ id }) => id), ...lastOfEach(HOUR_MS, HOURS), ...lastOfEach(DAY_MS, DAYS)]);
}

/** Oldest first; within a millisecond in the order of their ids. */
export function sorted(versions: readonly KeptVersion[]): KeptVersion[] {
  return [...versions].sort((a, b) => a.keptAt - b.keptAt || (a.id < b.id ? -1 : 1));
}

/** The version of this id, which may be shortened as long as one version alone begins so. Throws an `Error` for people. */
export function versionNamed(versions: readonly KeptVersion[], id: string): KeptVersion {
  const found = versions.filter((version) => version.id.startsWith(id));
  const [version] = found;
  if (version === undefined) throw new Error(`There is no kept version ${id}.`);
  if (found.length > 1) throw new Error(`${found.length} kept versions begin with ${id}: give more of the id.`);
  return version;
}

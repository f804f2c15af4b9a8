import { webcrypto } from 'node:crypto';
import type { KeptVersion } from '../core/backend.js';

/** The beginning of the content's SHA-256, by which the ids of versions end. Another thread of Node's computes it. */
export async function contentDigest(bytes: Buffer): Promise<string> {
  const digest = await webcrypto.subtle.digest('SHA-256', bytes);
  return Buffer.from(digest, 0, 16).toString('hex');
}

/** Returns the digest with which the id of a version ends. */
export const digestIn = (id: string): string => id.slice(id.lastIndexOf('-') + 1);

/** Returns the id of a version: `20251121T032400123Z-<digest>`. `keptAt` is in milliseconds since the epoch. */
export function versionId(keptAt: number, digest: string): string {
  return `${new Date(keptAt).toISOString().replaceAll(/[-:.]/g, '')}-${digest}`;
}

const LAST = 10;
const HOURS = 24;
const HOUR_MS = 3_600_000;
const DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * Returns the ids of the versions that stay: the very first and those kept forever, the last 10, and the last one of
 * each hour of the past day and of each day (UTC) of the past 30. `versions` may be in any order.
 */
export function retainedVersions(versions: readonly KeptVersion[], now: number): ReadonlySet<string> {
  const newestFirst = sorted(versions).reverse();
  return new Set([...lastingVersions(versions, now), ...newestFirst.slice(0, LAST).map(({ id }) => id)]);
}

/** Returns the ids of the versions that stay however many more are kept today. */
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

/** Sorts versions, oldest first; within a millisecond by id. */
export function sorted(versions: readonly KeptVersion[]): KeptVersion[] {
  return [...versions].sort((a, b) => a.keptAt - b.keptAt || (a.id < b.id ? -1 : 1));
}

/** Returns the version with this id, which may be shortened as long as it is unique. Throws an `Error` for the user. */
export function versionNamed(versions: readonly KeptVersion[], id: string): KeptVersion {
  const found = versions.filter((version) => version.id.startsWith(id));
  const [version] = found;
  if (version === undefined) throw new Error(`There is no kept version ${id}.`);
  if (found.length > 1) throw new Error(`${found.length} kept versions begin with ${id}: give more of the id.`);
  return version;
}

import type { User } from '../api/wire.js';
import { add, type Whole } from '../text/exact-json.js';

/** What is said of a key in one word, in the order in which the first that holds is taken. */
export const STATUSES = ['over', 'near', 'online', 'active', 'unused'] as const;
export type KeyStatus = (typeof STATUSES)[number];

/** The part of the limit from which a key counts as near it. */
export const NEAR = 0.9;

export function usedBytes(user: User): Whole {
  return add(user.bytes_up, user.bytes_down);
}

/** The part of the limit that is used, 1 being all of it; null without a limit. */
export function usedPart(user: User): number | null {
  const { limit_bytes: limit } = user;
  if (limit === null) return null;
  const used = usedBytes(user);
  if (used >= limit) return Math.max(1, limit === 0 ? 1 : Number(used) / Number(limit));
  return Math.min(Number(used) / Number(limit), 0.9999);
}

/** Whether `online` says that the key is connected; older servers say by it that the key has counters. */
export function tellsOnline(user: User): boolean {
  return user.last_seen !== undefined;
}

export function isConnected(user: User): boolean {
  return user.online && tellsOnline(user);
}

export function statusOf(user: User): KeyStatus {
  const part = usedPart(user);
  if (part !== null && part >= 1) return 'over';
  if (part !== null && part >= NEAR) return 'near';
  if (isConnected(user)) return 'online';
  return usedBytes(user) > 0 ? 'active' : 'unused';
}

/** How many keys have each status; every key counts once. */
export function countStatuses(users: readonly User[]): Readonly<Record<KeyStatus, number>> {
  const counts = { over: 0, near: 0, online: 0, active: 0, unused: 0 };
  for (const user of users) counts[statusOf(user)] += 1;
  return counts;
}

import type { Whole } from '../../src/text/whole.js';
import type { User } from '../api/wire.js';
import { add } from '../text/exact-json.js';
import type { Steps } from '../text/steps.js';
import { visible } from '../text/visible.js';

/** A key's states, each with its word; the first that holds is taken. */
const STATUSES = ['over', 'near', 'online', 'used', 'unused'] as const;
type KeyStatus = (typeof STATUSES)[number];

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

/** Returns true where `online` says that the key is connected; older servers say by it that the key has counters. */
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
  return usedBytes(user) > 0 ? 'used' : 'unused';
}

/** Every key, those of one state, all that are online whatever their state, or those without a limit. */
export const FILTERS = ['all', ...STATUSES, 'unlimited'] as const;
export type Filter = (typeof FILTERS)[number];

/** Counts the keys that each filter lets through. */
export function countFilters(users: readonly User[]): Readonly<Record<Filter, number>> {
  const counts = { all: users.length, over: 0, near: 0, online: 0, used: 0, unused: 0, unlimited: 0 };
  for (const user of users) {
    const status = statusOf(user);
    counts[status] += 1;
    if (status !== 'online' && isConnected(user)) counts.online += 1;
    if (user.limit_bytes === null) counts.unlimited += 1;
  }
  return counts;
}

export interface Sorting {
  readonly column: Column;
  readonly descending: boolean;
}

/** A search: for a part of a name or key, or for whole names and keys that were pasted as lines. */
export type Query =
  | { readonly kind: 'part'; readonly text: string }
  | { readonly kind: 'lines'; readonly lines: readonly string[] };

/** An empty key as `keyway keys list` shows it. */
const EMPTY_KEY = '(digest e3b0c442)';

/** The key's name, else the key itself. */
export function titleOf(user: Pick<User, 'access_key' | 'name'>): string {
  return visible(user.name || user.access_key) || EMPTY_KEY;
}

function passes(user: User, filter: Filter): boolean {
  if (filter === 'all') return true;
  if (filter === 'online') return isConnected(user);
  return filter === 'unlimited' ? user.limit_bytes === null : statusOf(user) === filter;
}

/** Keys that are gone through in one step. */
const STEP = 2_000;

/** The keys that a filter and a query let through, in the order of the list. */
export function* filterUsers(users: readonly User[], filter: Filter, query: Query): Steps<readonly User[]> {
  const fits = matcher(query);
  if (filter === 'all' && fits === null) return users;
  const found: User[] = [];
  for (let from = 0; from < users.length; from += STEP) {
    const some = users.slice(from, from + STEP);
    found.push(...some.filter((user) => passes(user, filter) && (fits === null || fits(user))));
    yield;
  }
  return found;
}

function matcher(query: Query): ((user: User) => boolean) | null {
  if (query.kind === 'lines') {
    const lines = new Set(query.lines.map((line) => line.toLowerCase()));
    return (user) => lines.has(user.access_key.toLowerCase()) || lines.has((user.name ?? '').toLowerCase());
  }
  const part = query.text.trim().toLowerCase();
  if (part === '') return null;
  return ({ access_key: key, name, note }) => [key, name, note].some((text) => text?.toLowerCase().includes(part));
}

interface KeyColumn {
  /** The value that it is sorted by. */
  readonly value: (user: User) => string | Whole;
  /** Begins with the smallest: text does, numbers begin with the largest. */
  readonly isRising?: true;
  /** Its values do not move by themselves, so that sorting by them again disturbs nobody. */
  readonly isSteady?: true;
}

export type Column = 'status' | 'name' | 'key' | 'down' | 'up' | 'used' | 'limit' | 'connections';

/** The columns of the list, as they stand in it. */
export const COLUMNS: Readonly<Record<Column, KeyColumn>> = {
  status: { value: (user) => (isConnected(user) ? 1 : 0) - 2 * STATUSES.indexOf(statusOf(user)) },
  name: { value: (user) => (user.name ?? '').toLowerCase(), isRising: true, isSteady: true },
  key: { value: (user) => user.access_key, isRising: true, isSteady: true },
  down: { value: (user) => user.bytes_down },
  up: { value: (user) => user.bytes_up },
  used: { value: (user) => usedPart(user) ?? -1 },
  limit: { value: (user) => user.limit_bytes ?? -1, isSteady: true },
  connections: { value: (user) => user.connections },
};
export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly Column[]; // The members of a constant.

/** A key while it is sorted. */
interface SortRow {
  readonly user: User;
  readonly index: number;
  readonly value: string | Whole;
}

/** A sorted copy; equal values stay in the order of the list, and keys without a name come last. */
export function* sortUsers(users: readonly User[], { column, descending }: Sorting): Steps<readonly User[]> {
  const { value } = COLUMNS[column];
  const sign = descending ? -1 : 1;
  const compare = (a: SortRow, b: SortRow): number => {
    if (a.value === b.value) return a.index - b.index;
    if (a.value === '') return 1;
    if (b.value === '') return -1;
    return a.value < b.value ? -sign : sign;
  };
  let runs: SortRow[][] = [];
  for (let from = 0; from < users.length; from += STEP) {
    const some = users.slice(from, from + STEP);
    runs.push(some.map((user, place) => ({ user, index: from + place, value: value(user) })).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: SortRow[][] = [];
    for (let place = 0; place < runs.length; place += 2)
      merged.push(yield* mergeRuns(runs[place] ?? [], runs[place + 1] ?? [], compare));
    runs = merged;
  }
  return (runs[0] ?? []).map(({ user }) => user);
}

function* mergeRuns<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  const merged: T[] = [];
  let taken = 0;
  while (merged.length < a.length + b.length) {
    const one = a[taken];
    const other = b[merged.length - taken];
    if (one !== undefined && (other === undefined || compare(one, other) <= 0)) {
      merged.push(one);
      taken += 1;
    } else if (other !== undefined) merged.push(other);
    if (merged.length % STEP === 0) yield;
  }
  return merged;
}

/** The first of a list by an order, without sorting all of it; equal ones stay in the order of the list. */
export function largest<T>(items: readonly T[], count: number, isLarger: (a: T, b: T) => boolean): readonly T[] {
  const found: T[] = [];
  for (const item of items) {
    const last = found.at(-1);
    if (found.length === count && last !== undefined && !isLarger(item, last)) continue;
    const place = found.findIndex((other) => isLarger(item, other));
    found.splice(place < 0 ? found.length : place, 0, item);
    if (found.length > count) found.pop();
  }
  return found;
}

/** The new list, which `byKey` may have by its keys, in the order that is on the screen: what went is left out, what came stands at the end. */
export function keepOrder(
  shown: readonly User[],
  now: readonly User[],
  byKey: ReadonlyMap<string, User> = new Map(now.map((user) => [user.access_key, user])),
): readonly User[] {
  const kept: User[] = [];
  for (const { access_key: key } of shown) {
    const fresh = byKey.get(key);
    if (fresh !== undefined) kept.push(fresh);
  }
  if (kept.length === now.length) return kept;
  const known = new Set(shown.map(({ access_key: key }) => key));
  return [...kept, ...now.filter(({ access_key: key }) => !known.has(key))];
}

import type { User } from '../api/wire.js';
import { add, type Whole } from '../text/exact-json.js';

export const FILTERS = ['all', 'online', 'near', 'over', 'unlimited'] as const;
export type Filter = (typeof FILTERS)[number];

export const COLUMNS = ['name', 'key', 'down', 'up', 'used', 'limit', 'connections', 'online'] as const;
export type Column = (typeof COLUMNS)[number];

export interface Sorting {
  readonly column: Column;
  readonly descending: boolean;
}

/** Columns whose values do not move by themselves, so that sorting by them again disturbs nobody. */
export const STEADY: ReadonlySet<Column> = new Set(['name', 'key', 'limit']);

/** A part of the limit from which a key counts as near it. */
const NEAR = 0.8;

/** What is looked for: a part of a name or key, or whole names and keys that were pasted as lines. */
export type Query =
  | { readonly kind: 'part'; readonly text: string }
  | { readonly kind: 'lines'; readonly lines: readonly string[] };

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

export function isOver(user: User): boolean {
  return user.limit_bytes !== null && usedBytes(user) >= user.limit_bytes;
}

export function isNear(user: User): boolean {
  return !isOver(user) && (usedPart(user) ?? 0) >= NEAR;
}

/** What people call the key: its name, else the key. */
export function titleOf(user: Pick<User, 'access_key' | 'name'>): string {
  return user.name === undefined || user.name === null || user.name === '' ? user.access_key : user.name;
}

const MATCHES: Readonly<Record<Filter, (user: User) => boolean>> = {
  all: () => true,
  online: (user) => user.online,
  near: isNear,
  over: isOver,
  unlimited: (user) => user.limit_bytes === null,
};

/** The keys that a filter and a query let through, in the order of the list. */
export function filterUsers(users: readonly User[], filter: Filter, query: Query): readonly User[] {
  const fits = matcher(query);
  if (filter === 'all' && fits === null) return users;
  return users.filter((user) => MATCHES[filter](user) && (fits === null || fits(user)));
}

function matcher(query: Query): ((user: User) => boolean) | null {
  if (query.kind === 'lines') {
    const lines = new Set(query.lines.map((line) => line.toLowerCase()));
    return (user) => lines.has(user.access_key.toLowerCase()) || lines.has((user.name ?? '').toLowerCase());
  }
  const part = query.text.trim().toLowerCase();
  if (part === '') return null;
  return (user) => user.access_key.toLowerCase().includes(part) || (user.name ?? '').toLowerCase().includes(part);
}

type Sortable = string | Whole;

const VALUES: Readonly<Record<Column, (user: User) => Sortable>> = {
  name: (user) => (user.name ?? '').toLowerCase(),
  key: (user) => user.access_key,
  down: (user) => user.bytes_down,
  up: (user) => user.bytes_up,
  used: (user) => usedPart(user) ?? -1,
  limit: (user) => user.limit_bytes ?? -1,
  connections: (user) => user.connections,
  online: (user) => (user.online ? 1 : 0),
};

/** A sorted copy; equal values stay in the order of the list, and keys without a name come last. */
export function sortUsers(users: readonly User[], { column, descending }: Sorting): readonly User[] {
  const value = VALUES[column];
  const sign = descending ? -1 : 1;
  const rows = users.map((user, index) => ({ user, index, value: value(user) }));
  rows.sort((a, b) => {
    if (a.value === b.value) return a.index - b.index;
    if (a.value === '') return 1;
    if (b.value === '') return -1;
    return a.value < b.value ? -sign : sign;
  });
  return rows.map(({ user }) => user);
}

/** The new list in the order that is on the screen: what went is left out, what came stands at the end. */
export function keepOrder(shown: readonly User[], now: readonly User[]): readonly User[] {
  const byKey = new Map(now.map((user) => [user.access_key, user]));
  const kept = shown.flatMap((user) => {
    const fresh = byKey.get(user.access_key);
    if (fresh === undefined) return [];
    byKey.delete(user.access_key);
    return [fresh];
  });
  return byKey.size === 0 ? kept : [...kept, ...byKey.values()];
}

import type { KeyChanges } from '../api/own-keys.js';
import { usersIn } from '../api/user-list.js';
import type { ChangedKey, User } from '../api/wire.js';
import { createStore } from '../store/store.js';
import type { Tab } from '../store/tab.js';
import { encodeExact } from '../text/exact-json.js';
import { inTurns, type Steps } from '../text/steps.js';
import { createHistory } from './history.js';
import type { createKeyNames } from './key-names.js';

export interface UsersState {
  /** Null until the first list has come. */
  readonly users: readonly User[] | null;
  /** The same map until a key comes or goes: a copy of 100,000 for each change would stop the page. */
  readonly byKey: ReadonlyMap<string, User>;
  /** True where the notes of these keys are told. */
  readonly hasNotes: boolean;
  /** Milliseconds since the epoch. */
  readonly loadedAt: number;
  readonly error: unknown;
}

/** Keys of one event at most. */
export const PIECE = 1_000;

/** Characters. A longer answer is not kept for comparison with the next. */
const LONGEST_KEPT = 32_000_000;

const NOTHING_SEEN: UsersState = { users: null, byKey: new Map(), hasNotes: false, loadedAt: 0, error: null };

/**
 * The list of keys as last seen, and what it was before. The traffic that was seen is kept for this tab over a reload of the
 * page.
 */
export function createSeenKeys(root: string, names: ReturnType<typeof createKeyNames>, tab: Tab) {
  const state = createStore<UsersState>(NOTHING_SEEN);
  /** The map of `state`, changed here alone. */
  let byKey = new Map<string, User>();
  const name = `keyway:traffic:${root}`;
  const history = createHistory(tab.kept.read(name));
  const keep = () => tab.kept.write(name, history.since === null ? null : history.kept());
  tab.onLeave(keep);
  let lastText = '';
  let lastNotes = '';
  /** True where the server's list has no names. */
  let tellsNone = false;

  /** Takes the whole list, and the notes of its keys where they are told. */
  async function take(
    text: string,
    isDue: boolean,
    watched: AbortSignal,
    told?: ReadonlyMap<string, string>,
  ): Promise<void> {
    if (watched.aborted) return;
    const hasNotes = told !== undefined;
    const notes = told ?? new Map<string, string>();
    const before = state.get();
    const isNameless = before.users?.[0] !== undefined && tellsNone;
    const notesText = encodeExact([...notes]);
    const isKnown = text === lastText && notesText === lastNotes;
    if (isKnown && before.users !== null && !(isNameless && (isDue || names.areDue()))) {
      const loadedAt = Date.now();
      history.record(before.users, byKey, loadedAt);
      state.patch({ hasNotes, loadedAt, error: null });
      return;
    }
    const listed = await inTurns(usersIn(text), watched);
    if (listed === null) return;
    tellsNone = listed[0] !== undefined && listed[0].name === undefined;
    const named = tellsNone ? await names.named(listed, isDue) : listed;
    const noted = (user: User) => {
      const note = notes.get(user.access_key);
      return note === undefined ? user : { ...user, note };
    };
    const users = notes.size === 0 ? named : named.map(noted);
    const mapped = await inTurns(mapByKey(users), watched);
    if (mapped === null || watched.aborted) return;
    const loadedAt = Date.now();
    history.record(users, before.users === null ? null : byKey, loadedAt);
    byKey = mapped;
    lastText = text.length <= LONGEST_KEPT ? text : '';
    lastNotes = notesText;
    state.set({ users, byKey, hasNotes, loadedAt, error: null });
  }

  /** Puts changes into the list; false where that takes the whole list. */
  function apply({ keys, removed }: KeyChanges, shortest?: number): boolean {
    const { users } = state.get();
    if (users === null) return false;
    const loadedAt = Date.now();
    const [sample] = users;
    const isUnclear = (key: ChangedKey) => !byKey.has(key.access_key) && key.limit_bytes === undefined;
    if (keys.length > 0 && (sample === undefined || keys.some(isUnclear))) return false;
    const changed = new Map(
      keys.map((key) => [key.access_key, changedUser(byKey.get(key.access_key), key, sample)] as const),
    );
    history.record([...changed.values()], byKey, loadedAt, shortest);
    if (keys.length + removed.length === 0) {
      state.patch({ loadedAt, error: null });
      return true;
    }
    lastText = '';
    const gone = new Set(removed);
    const came = [...changed.values()].filter((user) => !byKey.has(user.access_key));
    const now = users.map((user) => changed.get(user.access_key) ?? user);
    const stayed = gone.size === 0 ? now : now.filter((user) => !gone.has(user.access_key));
    if (gone.size + came.length > 0) byKey = new Map(byKey);
    for (const key of removed) byKey.delete(key);
    for (const [key, user] of changed) byKey.set(key, user);
    state.patch({ users: [...stayed, ...came], byKey, loadedAt, error: null });
    return true;
  }

  return {
    state,
    history,
    take,
    apply,
    /** Drops what was seen, also what would be kept over a reload. */
    forget() {
      state.set(NOTHING_SEEN);
      byKey = new Map();
      lastText = '';
      history.clear();
      keep();
    },
  };
}

function* mapByKey(users: readonly User[]): Steps<Map<string, User>> {
  const byKey = new Map<string, User>();
  for (const user of users) {
    byKey.set(user.access_key, user);
    if (byKey.size % PIECE === 0) yield;
  }
  return byKey;
}

/** A key after a change, with the members that the server's list has. */
function changedUser(known: User | undefined, key: ChangedKey, sample: User | undefined): User {
  const { access_key, bytes_up, bytes_down, connections, online } = key;
  const counters = { access_key, bytes_up, bytes_down, connections, online };
  const limit = key.limit_bytes === undefined ? (known?.limit_bytes ?? null) : key.limit_bytes;
  const isNamed = sample?.name !== undefined && key.name !== undefined;
  const seen = sample?.last_seen === undefined ? {} : { last_seen: null };
  const noted = key.note !== undefined && { note: key.note };
  return { ...seen, ...known, ...counters, limit_bytes: limit, ...(isNamed ? { name: key.name } : {}), ...noted };
}

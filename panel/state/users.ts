import { dataOf } from '../api/http.js';
import type { Server } from '../api/server.js';
import { readUsers, type User } from '../api/wire.js';
import { keptInTab } from '../store/kept.js';
import { createStore, type Store } from '../store/store.js';
import { createHistory, type TrafficHistory } from './history.js';

export interface UsersState {
  /** Null until the first list has come. */
  readonly users: readonly User[] | null;
  readonly byKey: ReadonlyMap<string, User>;
  /** Milliseconds since the epoch. */
  readonly loadedAt: number;
  readonly error: unknown;
}

/** The list of keys as last seen. */
export interface Users {
  readonly state: Store<UsersState>;
  readonly history: TrafficHistory;
  /** Rejects as the call did; the last good list stays. */
  load(): Promise<void>;
  /** Drops what was seen, also what would be kept over a reload. */
  forget(): void;
}

/** Characters. A longer answer is not kept for comparison with the next. */
const LONGEST_KEPT = 32_000_000;

/** The traffic that was seen is kept for this tab over a reload of the page. */
export function createUsers(server: Server, root: string): Users {
  const state = createStore<UsersState>({ users: null, byKey: new Map(), loadedAt: 0, error: null });
  const name = `keyway:traffic:${root}`;
  const history = createHistory(keptInTab.read(name));
  const keep = () => keptInTab.write(name, history.since === null ? null : history.kept());
  window.addEventListener('pagehide', keep);
  let lastText = '';

  function take(text: string): void {
    const before = state.get();
    const loadedAt = Date.now();
    if (text === lastText && before.users !== null) {
      history.record(before.users, before.byKey, loadedAt);
      state.patch({ loadedAt, error: null });
      return;
    }
    const users = readUsers(dataOf(text));
    const byKey = new Map(users.map((user) => [user.access_key, user]));
    history.record(users, before.users === null ? null : before.byKey, loadedAt);
    lastText = text.length <= LONGEST_KEPT ? text : '';
    state.set({ users, byKey, loadedAt, error: null });
  }

  return {
    state,
    history,
    async load() {
      try {
        take(await server.usersText());
      } catch (error) {
        state.patch({ error });
        throw error;
      }
    },
    forget() {
      history.clear();
      keep();
    },
  };
}

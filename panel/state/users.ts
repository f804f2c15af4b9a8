import { dataOf } from '../api/http.js';
import type { Server } from '../api/server.js';
import { readUsers, type User } from '../api/wire.js';
import { keptInTab } from '../store/kept.js';
import { createStore } from '../store/store.js';
import { createHistory } from './history.js';

interface UsersState {
  /** Null until the first list has come. */
  readonly users: readonly User[] | null;
  readonly byKey: ReadonlyMap<string, User>;
  /** Milliseconds since the epoch. */
  readonly loadedAt: number;
  readonly error: unknown;
}

/** Characters. A longer answer is not kept for comparison with the next. */
const LONGEST_KEPT = 32_000_000;

/** The list of keys as last seen. The traffic that was seen is kept for this tab over a reload of the page. */
export function createUsers(server: Server, root: string) {
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
    /** Rejects as the call did; the last good list stays. */
    async load(): Promise<void> {
      try {
        take(await server.usersText());
      } catch (error) {
        state.patch({ error });
        throw error;
      }
    },
    /** Drops what was seen, also what would be kept over a reload. */
    forget() {
      history.clear();
      keep();
    },
  };
}

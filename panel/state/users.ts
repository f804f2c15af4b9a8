import { ApiFailure, isAbsent } from '../api/failure.js';
import type { OwnInterface } from '../api/own-interface.js';
import { type KeyChanges, keyChangesSince, presentKeyCursor } from '../api/own-keys.js';
import type { Server } from '../api/server.js';
import { usersIn } from '../api/user-list.js';
import type { ChangedKey, User } from '../api/wire.js';
import { keptInTab } from '../store/kept.js';
import { createStore } from '../store/store.js';
import { inTurns, type Steps } from '../text/steps.js';
import { createHistory } from './history.js';
import { createKeyNames } from './key-names.js';
import { createKeyStream } from './key-stream.js';

interface UsersState {
  /** Null until the first list has come. */
  readonly users: readonly User[] | null;
  /** The same map until a key comes or goes: a copy of 100,000 for each change would stop the page. */
  readonly byKey: ReadonlyMap<string, User>;
  /** Milliseconds since the epoch. */
  readonly loadedAt: number;
  readonly error: unknown;
}

/** Characters. A longer answer is not kept for comparison with the next. */
const LONGEST_KEPT = 32_000_000;

/** Milliseconds after which a list is asked for though nothing was told: longer than the counters take to be told. */
const QUIET = 12_000;
/** Milliseconds of which the stream's counters are, apart from rounding. */
const TOLD_EVERY = 9_500;

const NOTHING_SEEN: UsersState = { users: null, byKey: new Map(), loadedAt: 0, error: null };

/** The way to a server's keys. */
interface KeySource {
  readonly server: Server;
  readonly own: OwnInterface;
  /** Tells whether Keyway's own interface lets the credential see keys. */
  readonly tellsChanges: () => boolean;
  /** Tells whether the server shows its configuration. */
  readonly tellsConfiguration: () => boolean;
  readonly root: string;
}

/**
 * The list of keys as last seen: whole at first, then by its changes where Keyway's own interface tells them. The traffic that
 * was seen is kept for this tab over a reload of the page.
 */
export function createUsers({ server, own, tellsChanges, tellsConfiguration, root }: KeySource) {
  const state = createStore<UsersState>(NOTHING_SEEN);
  /** The map of `state`, changed here alone. */
  let byKey = new Map<string, User>();
  const name = `keyway:traffic:${root}`;
  const history = createHistory(keptInTab.read(name));
  const keep = () => keptInTab.write(name, history.since === null ? null : history.kept());
  window.addEventListener('pagehide', keep);
  let lastText = '';
  const names = createKeyNames(server, tellsConfiguration);
  /** True where the server's list has no names. */
  let tellsNone = false;
  /** Up to where changes were seen; null while the whole list is asked for. */
  let cursor: string | null = null;
  /** True where the interface, or what it tells of keys, has turned out to be not for this credential. */
  let isWithoutChanges = false;
  /** The time at which all changes were last known. */
  let toldAt = 0;
  /** Ends with the watch over the list: an answer that comes later is nobody's. */
  let watch = AbortSignal.abort();
  let endWatch = () => {};
  const stream = createKeyStream(own, (changes) => {
    if (changes.whole || !apply(changes, TOLD_EVERY)) lose();
    // Of changes in several events the last alone is gone on from.
    else if (changes.keys.length + changes.removed.length < PIECE) cursor = changes.cursor;
  });
  document.addEventListener('visibilitychange', () => document.hidden && stream.stop());

  /** Takes the whole list. */
  async function take(text: string, isDue: boolean, watched: AbortSignal): Promise<void> {
    if (watched.aborted) return;
    const before = state.get();
    const isNameless = before.users?.[0] !== undefined && tellsNone;
    if (text === lastText && before.users !== null && !(isNameless && (isDue || names.areDue))) {
      const loadedAt = Date.now();
      history.record(before.users, byKey, loadedAt);
      state.patch({ loadedAt, error: null });
      return;
    }
    const told = await inTurns(usersIn(text), watched);
    if (told === null) return;
    tellsNone = told[0] !== undefined && told[0].name === undefined;
    const users = tellsNone ? await names.named(told, isDue) : told;
    const mapped = await inTurns(mapByKey(users), watched);
    if (mapped === null || watched.aborted) return;
    const loadedAt = Date.now();
    history.record(users, before.users === null ? null : byKey, loadedAt);
    byKey = mapped;
    lastText = text.length <= LONGEST_KEPT ? text : '';
    state.set({ users, byKey, loadedAt, error: null });
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
    toldAt = loadedAt;
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
    state.set({ users: [...stayed, ...came], byKey, loadedAt, error: null });
    return true;
  }

  /** Has the whole list asked for again. */
  function lose(): void {
    stream.stop();
    cursor = null;
  }

  /** Asks for what changed, or for the whole list where that is not known. */
  async function follow(isDue: boolean, watched: AbortSignal): Promise<void> {
    if (cursor === null || state.get().users === null) {
      // Changes that come while the list is under way come again, as changes.
      const now = await presentKeyCursor(own);
      await take(await server.usersText(), isDue, watched);
      if (watched.aborted) return;
      [cursor, toldAt] = [now, Date.now()];
    } else if (isDue || !stream.isOpen || Date.now() - toldAt > QUIET) {
      // What it told meanwhile might be newer than the answer.
      stream.stop();
      const changes = await keyChangesSince(own, cursor);
      if (watched.aborted) return;
      if (changes === null || !apply(changes)) {
        lose();
        return follow(true, watched);
      }
      cursor = changes.cursor;
    } else state.patch({ loadedAt: Date.now() });
    stream.keep(cursor);
  }

  async function refresh(isDue: boolean, watched: AbortSignal): Promise<void> {
    if (tellsChanges() && !isWithoutChanges) {
      try {
        return await follow(isDue, watched);
      } catch (error) {
        if (watched.aborted) return;
        if (!isAbsent(error) && !(error instanceof ApiFailure && error.kind === 'refused')) throw error;
        isWithoutChanges = true;
      }
    }
    lose();
    await take(await server.usersText(), isDue, watched);
  }

  function startAnew(): void {
    lose();
    isWithoutChanges = false;
  }

  return {
    state,
    history,
    /** Rejects as the call did; the last good list stays. `isDue` asks also where changes come by themselves. */
    async load(isDue: boolean): Promise<void> {
      const watched = watch;
      if (watched.aborted) return;
      try {
        await refresh(isDue, watched);
      } catch (error) {
        if (watched.aborted) return;
        state.patch({ error });
        throw error;
      }
    },
    /** Begins to watch the list: before, and after `rest`, nothing is asked for. */
    watch(): void {
      if (!watch.aborted) return;
      const controller = new AbortController();
      watch = controller.signal;
      endWatch = () => controller.abort();
    },
    /** Ends what goes on by itself, and what is under way. */
    rest(): void {
      endWatch();
      stream.stop();
    },
    /** Has all asked for again: somebody else may see other keys. */
    startAnew,
    /** Drops what was seen, also what would be kept over a reload. */
    forget() {
      startAnew();
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

/** Keys of one event at most. */
const PIECE = 1_000;

/** A key after a change, with the members that the server's list has. */
function changedUser(known: User | undefined, key: ChangedKey, sample: User | undefined): User {
  const { access_key, bytes_up, bytes_down, connections, online } = key;
  const counters = { access_key, bytes_up, bytes_down, connections, online };
  const limit = key.limit_bytes === undefined ? (known?.limit_bytes ?? null) : key.limit_bytes;
  const isNamed = sample?.name !== undefined && key.name !== undefined;
  const seen = sample?.last_seen === undefined ? {} : { last_seen: null };
  return { ...seen, ...known, ...counters, limit_bytes: limit, ...(isNamed ? { name: key.name } : {}) };
}

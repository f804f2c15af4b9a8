import { hasFailed } from '../api/failure.js';
import { isNotLetIn, type OwnInterface } from '../api/own-interface.js';
import { type KeyChanges, keyChangesSince, keyNotes, presentKeyCursor } from '../api/own-keys.js';
import type { Server } from '../api/server.js';
import type { Tab } from '../store/tab.js';
import { createKeyNames } from './key-names.js';
import { createKeyStream } from './key-stream.js';
import { createSeenKeys, PIECE } from './seen-keys.js';

/** Milliseconds after which a list is asked for though nothing was told: longer than the counters take to be told. */
const QUIET = 12_000;
/** Milliseconds of which the stream's counters are, apart from rounding. */
const TOLD_EVERY = 9_500;

/** The way to a server's keys. */
interface KeySource {
  readonly server: Server;
  readonly own: OwnInterface;
  /** Tells whether Keyway's own interface lets the credential see keys. */
  readonly tellsChanges: () => boolean;
  /** Tells whether the server shows its configuration. */
  readonly tellsConfiguration: () => boolean;
  readonly root: string;
  readonly tab: Tab;
}

/** Asks for the list of keys: whole at first, then for its changes where Keyway's own interface tells them. */
export function createUsers({ server, own, tellsChanges, tellsConfiguration, root, tab }: KeySource) {
  const seen = createSeenKeys(root, createKeyNames(server, tellsConfiguration), tab);
  const { state } = seen;
  /** Up to where changes were seen; null while the whole list is asked for. */
  let cursor: string | null = null;
  /** True where the interface, or what it tells of keys, has turned out to be not for this credential. */
  let isWithoutChanges = false;
  /** The time at which all changes were last known. */
  let toldAt = Number.NEGATIVE_INFINITY;
  /** Ends with the watch over the list: an answer that comes later is nobody's. */
  let watch = AbortSignal.abort();
  let endWatch = () => {};
  const stream = createKeyStream(own, tab, (changes) => {
    if (changes.whole || !apply(changes, TOLD_EVERY)) lose();
    // Of changes in several events the last alone is gone on from.
    else if (changes.keys.length + changes.removed.length < PIECE) cursor = changes.cursor;
  });
  tab.onSight(() => tab.isHidden() && stream.stop());

  function apply(changes: KeyChanges, shortest?: number): boolean {
    const isApplied = seen.apply(changes, shortest);
    if (isApplied) toldAt = performance.now();
    return isApplied;
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
      const notes = await notesOf(own);
      await seen.take(await server.usersText(), isDue, watched, notes);
      if (watched.aborted) return;
      [cursor, toldAt] = [now, performance.now()];
    } else if (isDue || !stream.isOpen || performance.now() - toldAt > QUIET) {
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
        if (!isNotLetIn(error)) throw error;
        // Too many calls at once may be fewer at the next load.
        isWithoutChanges = error.status !== 429;
      }
    }
    lose();
    await seen.take(await server.usersText(), isDue, watched);
  }

  function startAnew(): void {
    lose();
    isWithoutChanges = false;
  }

  return {
    state,
    history: seen.history,
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
      seen.forget();
    },
  };
}

/** The notes of keys; none where the Keyway is an older one, that has none. */
async function notesOf(own: OwnInterface): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    return await keyNotes(own);
  } catch (error) {
    if (hasFailed(error, 400)) return undefined;
    throw error;
  }
}

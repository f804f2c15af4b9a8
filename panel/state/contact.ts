import { ApiFailure, isAway } from '../api/failure.js';
import { createStore } from '../store/store.js';
import type { Tab } from '../store/tab.js';

/** Milliseconds between refreshes, and between the beginnings of two tries while the server is away. */
const INTERVAL = 5_000;
const RETRY = 4_000;
/** At least between two tries, and at most between two refreshes. */
const BREATH = 500;
const LONGEST = 60_000;
/** A refresh that takes long (a list of 100,000 keys) is given this many times its own duration to rest. */
const REST = 8;

/** The state of the connection. Times are milliseconds since the epoch. */
export interface ContactState {
  readonly reachedAt: number | null;
  readonly failingSince: number | null;
  readonly failure: ApiFailure | null;
}

/** Asks for something; `isDue` where somebody wants it now, and not because some time has passed. */
type Task = (isDue: boolean) => Promise<void>;

/**
 * Refreshes what the page shows: every 5 s, not in a hidden tab. While the server is away it is only asked whether it is
 * back. `probe` asks little, and gives up soon.
 */
export function createContact(probe: () => Promise<void>, tab: Tab) {
  const state = createStore<ContactState>({ reachedAt: null, failingSince: null, failure: null });
  const tasks = new Set<Task>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = false;
  let leaveSight = () => {};
  let turn: Promise<void> | null = null;
  let following: Promise<void> | null = null;

  const isGone = () => probe().then(() => false, isAway);

  async function run(isDue: boolean): Promise<void> {
    const began = { at: Date.now(), clock: performance.now() };
    const took = () => performance.now() - began.clock;
    if (state.get().failingSince !== null && (await isGone())) {
      schedule(Math.max(BREATH, RETRY - took()));
      return;
    }
    const results = await Promise.allSettled([...tasks].map((task) => task(isDue)));
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    const away = reasons.find(isAway);
    const before = state.get();
    state.set({
      reachedAt: away === undefined && results.length > 0 ? Date.now() : before.reachedAt,
      failingSince: away === undefined ? null : (before.failingSince ?? began.at),
      failure: away instanceof ApiFailure ? away : null,
    });
    const patience = away === undefined || before.failingSince !== null ? INTERVAL : RETRY;
    schedule(Math.min(LONGEST, Math.max(patience, took() * REST)));
  }

  function schedule(wait: number): void {
    clearTimeout(timer);
    if (running && !tab.isHidden()) timer = setTimeout(() => void now(false), wait);
  }

  function begin(isDue: boolean): Promise<void> {
    clearTimeout(timer);
    turn = run(isDue).finally(() => {
      turn = null;
    });
    return turn;
  }

  /** A turn under way may have asked before what the caller has just done: another follows it. */
  function now(isDue = true): Promise<void> {
    if (!running) return Promise.resolve();
    if (turn === null) return begin(isDue);
    following ??= turn.then(() => {
      following = null;
      return running ? begin(true) : undefined;
    });
    return following;
  }

  const onSight = () => {
    if (tab.isHidden()) clearTimeout(timer);
    else void now();
  };

  return {
    state,
    /** Refreshes now. */
    now: () => now(),
    /** Adds something to refresh, and refreshes it at once. Returns what ends it. */
    add(task: Task): () => void {
      tasks.add(task);
      if (running) task(true).catch(() => now());
      return () => tasks.delete(task);
    },
    start() {
      if (running) return;
      running = true;
      leaveSight = tab.onSight(onSight);
      void now();
    },
    stop() {
      running = false;
      clearTimeout(timer);
      leaveSight();
    },
    /** Returns true where the server was reached just now without a break before. */
    isContinuous() {
      const { reachedAt, failingSince } = state.get();
      return failingSince === null && reachedAt !== null && Date.now() - reachedAt < 4 * INTERVAL;
    },
  };
}

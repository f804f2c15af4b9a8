import type { OwnInterface } from '../api/own-interface.js';
import { type KeyChanges, readKeyChanges } from '../api/own-keys.js';
import type { Tab } from '../store/tab.js';
import { parseExact } from '../text/exact-json.js';
import { nextTask } from '../text/steps.js';

/** Milliseconds from the end of a stream to the next one: doubled each time that it brings nothing. */
const FIRST_BREATH = 2_000;
const LONGEST_BREATH = 60_000;

/**
 * The stream of changes of keys. It is begun by `keep`, which is called at every refresh, and ends in a hidden tab: a browser
 * has few connections to one server.
 */
export function createKeyStream(own: OwnInterface, tab: Tab, take: (changes: KeyChanges) => void) {
  let running: AbortController | null = null;
  let breath = FIRST_BREATH;
  let endedAt = Number.NEGATIVE_INFINITY;

  async function read(cursor: string, { signal }: AbortController): Promise<void> {
    try {
      for await (const { data } of own.stream(`/keys?since=${encodeURIComponent(cursor)}`, signal)) {
        // One that was stopped may have more to tell.
        if (signal.aborted) return;
        breath = FIRST_BREATH;
        take(readKeyChanges(parseExact(data)));
        // A hundred that come at once are no one task.
        await nextTask();
      }
    } catch {
      // Why it ended is told by the refreshes, which go on.
    }
  }

  return {
    /** Tells whether changes come by themselves. */
    get isOpen() {
      return running !== null;
    },
    /** Begins it after a cursor, unless it is there, the tab is hidden, or the last one has ended just now. */
    keep(cursor: string): void {
      if (running !== null || tab.isHidden() || performance.now() - endedAt < breath) return;
      const controller = new AbortController();
      running = controller;
      breath = Math.min(2 * breath, LONGEST_BREATH);
      void read(cursor, controller).finally(() => {
        if (running !== controller) return;
        running = null;
        endedAt = performance.now();
      });
    },
    stop(): void {
      running?.abort();
      running = null;
      breath = FIRST_BREATH;
      endedAt = Number.NEGATIVE_INFINITY;
    },
  };
}

import { laterEvents, newestEvents, type ServerEvent } from '../api/events.js';
import type { OwnInterface } from '../api/own-interface.js';
import { pause } from '../store/pause.js';
import { type Store, until } from '../store/store.js';

/** Milliseconds until an ended stream is opened again: doubled each time that nothing was answered. */
const BREATH = 2_000;
const LONGEST_BREATH = 60_000;

export interface EventFeed {
  /** Newest first; null until they have come. */
  readonly events: readonly ServerEvent[] | null;
  /** There may be older ones. */
  readonly hasMore: boolean;
  readonly error: unknown;
}

/** The server that events are told by, and how it is reached. */
interface Teller {
  readonly own: OwnInterface;
  readonly contact: { readonly state: Watched<{ readonly failingSince: number | null }> };
  readonly session: { readonly state: Watched<{ readonly phase: string }> };
}

type Watched<T> = Pick<Store<T>, 'get' | 'subscribe'>;

/** Follows the newest events, up to a number of them, until the signal ends it. */
export async function followEvents(
  { own, contact, session }: Teller,
  limit: number,
  setFeed: (change: (feed: EventFeed) => EventFeed) => void,
  signal: AbortSignal,
): Promise<void> {
  let breath = BREATH;
  while (!signal.aborted) {
    try {
      const { cursor, events } = await newestEvents(own, limit);
      if (signal.aborted) return;
      breath = BREATH;
      setFeed(() => ({ events: events.toReversed(), hasMore: events.length >= limit, error: null }));
      for await (const event of laterEvents(own, cursor, signal)) {
        setFeed((feed) => {
          const known = [event, ...(feed.events ?? [])];
          return { ...feed, events: known.slice(0, limit), hasMore: feed.hasMore || known.length > limit };
        });
      }
    } catch (error) {
      if (!signal.aborted) setFeed((feed) => ({ ...feed, error }));
    }
    await pause(breath, signal);
    breath = Math.min(2 * breath, LONGEST_BREATH);
    // That the server is away is asked for elsewhere already.
    await until(session.state, ({ phase }) => signal.aborted || phase === 'signedIn');
    await until(contact.state, ({ failingSince }) => signal.aborted || failingSince === null);
  }
}

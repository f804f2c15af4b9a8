import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ApiFailure } from '../../panel/api/failure.js';
import type { OwnInterface } from '../../panel/api/own-interface.js';
import { type EventFeed, followEvents } from '../../panel/state/follow-events.js';
import { createStore } from '../../panel/store/store.js';

const event = (id: number) => ({ id: String(id), time: '2026-11-23T12:00:00Z', type: 'server.back', data: {} });

/** Follows events that this interface tells, with a clock of its own. */
function followed(own: Pick<OwnInterface, 'ask' | 'stream'>, limit = 3) {
  vi.useFakeTimers();
  const ended = new AbortController();
  onTestFinished(() => {
    ended.abort();
    vi.useRealTimers();
  });
  const session = { state: createStore({ phase: 'signedIn' }) };
  const contact = { state: createStore({ failingSince: null }) };
  const exchange = () => Promise.reject(new Error('not asked for here'));
  let feed: EventFeed = { events: null, hasMore: false, error: null };
  const setFeed = (change: (feed: EventFeed) => EventFeed) => {
    feed = change(feed);
  };
  void followEvents({ own: { ...own, exchange }, session, contact }, limit, setFeed, ended.signal);
  return { session, feed: () => feed };
}

describe('the events as they happen', () => {
  it('asks for nothing while nobody is signed in, and for what is new then', async () => {
    let asked = 0;
    const ask = () => {
      asked += 1;
      return Promise.reject(new ApiFailure('unauthorized', '', 401));
    };
    const { session } = followed({ ask, stream: async function* () {} });
    session.state.set({ phase: 'lost' });
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(asked).toBe(1);
    session.state.set({ phase: 'signedIn' });
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toBe(2);
    // Refused for another reason it is asked less and less.
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(asked).toBeLessThan(70);
  });

  it('keeps the newest of those that come, and says that there are older ones', async () => {
    const ask = async () => ({ cursor: 'c', events: [event(1)] });
    const { feed } = followed({
      ask,
      async *stream(_, signal) {
        for (const id of [2, 3, 4]) yield { event: 'message', data: JSON.stringify(event(id)) };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(feed().events?.map(({ id }) => id)).toEqual(['4', '3', '2']);
    expect(feed().hasMore).toBe(true);
  });
});

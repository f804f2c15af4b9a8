import { useEffect, useState } from 'preact/hooks';
import { type EventFeed, followEvents } from './follow-events.js';
import { useWorkspace } from './workspace.js';

/** The newest events, up to a number of them, with those that happen while the component is there. */
export function useEventFeed(limit: number): EventFeed {
  const workspace = useWorkspace();
  const [feed, setFeed] = useState<EventFeed>({ events: null, hasMore: false, error: null });
  useEffect(() => {
    const ended = new AbortController();
    void followEvents(workspace, limit, setFeed, ended.signal);
    return () => ended.abort();
  }, [workspace, limit]);
  return feed;
}

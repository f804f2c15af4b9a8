import { type Kept, keptForGood, keptInTab } from './kept.js';

/** Messages to the other tabs of the same origin, and from them. */
export interface TabChannel {
  post(message: unknown): void;
  /** Returns what ends it. */
  onMessage(listener: (message: unknown) => void): () => void;
}

/** The browser's tab as stores see it. */
export interface Tab {
  /** Until the tab is closed. */
  readonly kept: Kept;
  /** Until the browser forgets, for all tabs. */
  readonly keptForGood: Kept;
  isHidden(): boolean;
  /** Calls back when the tab is hidden or seen, and when the network is there again. Returns what ends that. */
  onSight(listener: () => void): () => void;
  /** Calls back before the page is left. */
  onLeave(listener: () => void): void;
  channel(name: string): TabChannel;
}

export const browserTab: Tab = {
  kept: keptInTab,
  keptForGood,
  isHidden: () => document.hidden,
  onSight(listener) {
    document.addEventListener('visibilitychange', listener);
    window.addEventListener('online', listener);
    return () => {
      document.removeEventListener('visibilitychange', listener);
      window.removeEventListener('online', listener);
    };
  },
  onLeave: (listener) => window.addEventListener('pagehide', listener),
  channel(name) {
    const channel = new BroadcastChannel(name);
    return {
      post: (message) => channel.postMessage(message),
      onMessage(listener) {
        const hear = ({ data }: MessageEvent<unknown>) => listener(data);
        channel.addEventListener('message', hear);
        return () => channel.removeEventListener('message', hear);
      },
    };
  },
};

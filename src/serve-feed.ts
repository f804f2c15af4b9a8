import { hostAndPort } from './bind-address.js';
import type { Gateway } from './compose.js';
import type { LogPort } from './core/ports.js';
import { createFeed, type Feed } from './feed/feed.js';
import { type FeedAddress, listenFeed } from './feed/listen.js';
import { systemRandom } from './local/system-ports.js';
import { StartError } from './start-error.js';

const SOCKET = 'unix:';

export interface FeedSettings {
  /** `host:port`, or `unix:` and a path. */
  readonly bind: string;
  /** Null asks for none. */
  readonly token: string | null;
}

/** A feed that listens; it closes before the gateway's counters do. */
export interface RunningFeed {
  /** `http://host:port` or `unix:PATH`. */
  readonly url: string;
  readonly feed: Feed;
}

/** Opens the data plane's door beside a gateway. Rejects with a `StartError` when the address cannot be had. */
export async function startFeed(gateway: Gateway, settings: FeedSettings, log: LogPort): Promise<RunningFeed> {
  const { keys, usage, store } = gateway.counters;
  const feed = createFeed({ keys, usage, counters: store, token: settings.token, random: systemRandom, log });
  // Before the counters' own: hooks of this kind run in the reverse order.
  gateway.app.addHook('onClose', () => feed.app.close());
  try {
    const url = await listenFeed(feed.app, addressOf(settings.bind));
    if (store === null) log.warn({ feed: url }, 'reports are kept in memory alone: there is no data folder');
    log.info({ feed: url }, `the feed listens on ${url}`);
    return { url, feed };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new StartError([
      `the feed cannot listen on ${settings.bind} (${error.code}): give it another address with --feed-bind`,
    ]);
  }
}

function addressOf(bind: string): FeedAddress {
  if (bind.startsWith(SOCKET)) return { kind: 'socket', path: bind.slice(SOCKET.length) };
  return { kind: 'port', ...hostAndPort(bind) };
}

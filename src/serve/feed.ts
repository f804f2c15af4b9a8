import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import { createFeed } from '../feed/feed.js';
import type { Gateway } from '../gateway/compose.js';
import type { Settings } from '../settings/table.js';
import type { CreateServer } from '../sockets/followed-connections.js';
import { listenAt } from './listen.js';

const WORDS = { subject: 'the feed', remedy: 'give it another address with --feed-bind' };

export interface FeedSettings extends Pick<Settings, 'feedToken'> {
  readonly feedBind: string;
  /** Makes the server that listens; a plain one if absent. */
  readonly createServer?: CreateServer;
}

/**
 * Opens the data plane's listener next to a gateway; it closes before the gateway's counters do. `url` is
 * `http://host:port` or `unix:PATH`. Rejects with a `StartError` if it cannot listen on the address.
 */
export async function startFeed(
  gateway: Gateway,
  settings: FeedSettings,
  ports: { readonly clock: ClockPort; readonly random: RandomPort; readonly log: LogPort },
) {
  const { backend, home } = gateway;
  const { feedBind, feedToken: token, createServer } = settings;
  const { log } = ports;
  const feed = createFeed({
    backend,
    token,
    tokens: gateway.tokens,
    networkOf: (request) => gateway.callerOf(request).network,
    ...(createServer === undefined ? {} : { createServer }),
    ...ports,
  });
  // Registered after the counters' hook, because hooks of this kind run in reverse order.
  gateway.app.addHook('onClose', () => feed.app.close());
  const url = await listenAt(feed.app, feedBind, WORDS, log);
  if (!home.keepsReports) log.warn({ feed: url }, 'reports are kept in memory alone: there is no data folder');
  log.info({ feed: url }, `the feed listens on ${url}`);
  return { url, feed };
}

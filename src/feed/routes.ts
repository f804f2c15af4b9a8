/** Bytes of a body; some 40,000 entries. Reading it is one turn of the event loop, in which nobody else is answered. */
export const BODY_LIMIT = 4 * 1024 * 1024;
/** Bytes of a body with all keys of a server: some 400,000, read some at a time. */
export const COUNTERS_BODY_LIMIT = 64 * 1024 * 1024;
/** Seconds that a caller of `GET /v1/keys` may offer to wait; it is answered after 55 at the latest. */
export const MOST_WAIT = 300;

/** The routes of the feed, and their `Allow`. */
export const FEED_ROUTES = {
  '/v1/counters': { method: 'POST', allow: 'POST', bodyLimit: COUNTERS_BODY_LIMIT },
  '/v1/usage': { method: 'POST', allow: 'POST', bodyLimit: BODY_LIMIT },
  '/v1/keys': { method: 'GET', allow: 'GET, HEAD', bodyLimit: BODY_LIMIT },
  '/v1/admit': { method: 'POST', allow: 'POST', bodyLimit: BODY_LIMIT },
} as const;

export type FeedRoute = keyof typeof FEED_ROUTES;

export function isFeedRoute(path: string): path is FeedRoute {
  return Object.hasOwn(FEED_ROUTES, path);
}

export const FEED_PATHS: readonly FeedRoute[] = Object.keys(FEED_ROUTES).filter(isFeedRoute);

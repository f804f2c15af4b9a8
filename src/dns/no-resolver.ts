import type { ResolverPort } from '../core/ports.js';

/** Stands where nothing resolves (`--no-resolver`, the library entry): an empty query log, and no list to refresh. */
export const noResolver: ResolverPort = {
  configure() {},
  queries: () => [],
  refreshBlocklists() {},
};

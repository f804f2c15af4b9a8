import type { ResolverPort } from '../core/ports.js';

/** Stands where nothing resolves (`--no-resolver`, the library entry): an empty query log, and no list to refresh. */
export const noResolver: ResolverPort = {
  configure() {},
  queries: () => [],
  refreshBlocklists() {},
  figures: () => ({
    enabled: false,
    since: 0,
    total: 0,
    blocked: 0,
    rewritten: 0,
    cached: 0,
    failed: 0,
    averageUpstream: null,
    lists: [],
    upstreams: [],
    topNames: [],
    topBlocked: [],
    topClients: [],
  }),
  log: () => [],
  clearLog() {},
  updateLists: async () => [],
  explain: (name) => ({ name, outcome: 'failed', detail: 'no DNS server runs here', rule: null, source: null }),
};

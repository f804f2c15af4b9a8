import { resolverSettings } from '../core/dns-settings.js';
import { DEFAULT_DNS, type DnsConfig } from '../core/model.js';
import type { ResolverPort } from '../core/ports.js';
import { createBlocklist } from './blocklist.js';
import { readLineOfAnEngine } from './line-rules.js';
import { readRules } from './list-lines.js';
import { createPolicy, DIALECT_OF_AN_ENGINE } from './policy.js';
import { listsInUse, toldOfSettings, USER_RULES, usedLists } from './told-settings.js';

/**
 * Creates the port for a process without a resolver (`--no-resolver`, the library entry): it explains names by the
 * settings, and counts nothing.
 */
export function createNoResolver(): ResolverPort {
  let dns: DnsConfig = DEFAULT_DNS;
  return {
    configure(next) {
      dns = next;
    },
    queries: () => [],
    refreshBlocklists() {},
    figures: () => ({
      ...{ since: 0, total: 0, blocked: 0, rewritten: 0, cached: 0, failed: 0, averageUpstream: null },
      ...toldOfSettings(dns, resolverSettings(dns), []),
      ...{ topNames: [], topBlocked: [], topClients: [] },
    }),
    state: () => ({
      ...{ idle: 'none', isRefreshing: false, refreshedAt: null, today: null },
      lists: listsInUse(resolverSettings(dns), []),
    }),
    log: () => [],
    clearLog() {},
    updateLists: async () =>
      usedLists(resolverSettings(dns)).map(({ name, url }) => {
        return { name, url, ok: false, detail: 'no DNS server runs here' };
      }),
    explain(text) {
      const settings = resolverSettings(dns);
      const rules = readRules(settings.userRules, readLineOfAnEngine);
      const blocklist = createBlocklist([{ name: USER_RULES, rules, isAllowing: false }]);
      return createPolicy(settings, () => blocklist, DIALECT_OF_AN_ENGINE).explain(text);
    },
  };
}

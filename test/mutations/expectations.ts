import type { Mode, Mutation, Site } from './mutation.js';

/** Mutations that are noticed in another mode than that of their operation, or by nobody, and why. */
interface Exception {
  readonly names: RegExp;
  readonly when?: (site: Site) => boolean;
  /** Null: nobody notices. */
  readonly mode: Mode | null;
  readonly reason: string;
}

const EXCEPTIONS: readonly Exception[] = [
  {
    names: /: another (?:status|text) of "(?:failed to save|Failed to|No config path|Auth not configured)/,
    mode: null,
    reason: 'failures of a state in which the server is not, and into which no request puts it',
  },
  {
    names: /^GET \/audit: (?:\/data\/\*\/(?:event..|success) with another value|the list (?:is|lacks))/,
    mode: null,
    reason: 'what the audit list holds: no other answer shows it',
  },
  {
    names: /^GET \/dns\/queries: (?:\/data\/\*\/(?!failed).* with another value|the list (?:is empty|lacks|has))/,
    mode: null,
    reason: 'what the query log holds: no other answer shows it',
  },
  {
    names: /^GET \/dns\/queries: \/data\/\*\/failed/,
    mode: null,
    reason: 'a member that only Keyway has, and only where it is true',
  },
  {
    names: /uptime_seconds with another value/,
    mode: null,
    reason: 'the uptime of a server whose start nobody saw. That it goes on is seen',
  },
  {
    names: /: link with another scheme$/,
    mode: null,
    reason: 'the scheme of links: each server has its own',
  },
  {
    names: /: link with another query$/,
    when: ({ revision }) => revision.shareQuery.query('?a', false) === '?a',
    mode: null,
    reason: 'the query of links, where it is configured: each server has its own',
  },
  {
    names: /^POST \/users\/\{key\}\/reset: answered, and not done/,
    when: ({ revision }) => revision.capabilities.bulk === undefined,
    mode: null,
    reason: 'a reset: no request makes traffic, or a key without counters, by which one would be seen',
  },
  {
    names: /^POST \/dns\/blocklists\/refresh: answered, and not done/,
    mode: null,
    reason: 'whether blocklists are fetched again: no answer shows it',
  },
  {
    names: /^PUT \/router\/rules: another status of "Outbound/,
    when: ({ revision }) => !revision.storing.storesRules,
    mode: null,
    reason: 'failures of a state in which the server is not, and into which no request puts it',
  },
  {
    names: /^POST \/users\/bulk: the list is in the opposite order/,
    mode: null,
    reason: 'the order of keys that were made at random',
  },
];

const NOT_SEEN =
  'changes of configuration, rules, DNS settings and audit list: not seen, because that replaces what stands there';

/** The mode in which a mutation is noticed; null for nobody, with the reason. */
export interface Expectation {
  readonly mode: Mode | null;
  readonly reason: string | null;
}

export function expectationOf({ name, mode }: Mutation, site: Site): Expectation {
  const exception = EXCEPTIONS.find((each) => each.names.test(name) && each.when?.(site) !== false);
  if (exception === undefined) return { mode, reason: mode === null ? NOT_SEEN : null };
  return { mode: exception.mode, reason: exception.reason };
}

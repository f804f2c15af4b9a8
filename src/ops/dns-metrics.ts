import { counter, type Family, gauge } from './family.js';

/** Figures of the DNS server; counts are since the start. */
export interface DnsFigures {
  readonly listening: object | null;
  readonly queries: number;
  readonly blocked: number;
  readonly cacheHits: number;
  readonly upstreamErrors: number;
  readonly cachedAnswers: number;
  /** In the configuration's order. */
  readonly lists: readonly ListFigures[];
  /** Milliseconds since the epoch; null if never refreshed. */
  readonly lastRefresh: number | null;
}

export interface ListFigures {
  readonly names: number;
  readonly exceptions: number;
  readonly unsupported: number;
  /** Milliseconds since the epoch; null if never fetched. */
  readonly fetchedAt: number | null;
  readonly error: string | null;
}

/** A list's label is its position in the settings, from 1, because its URL may contain a secret. */
const LIST = ['list'] as const;

export function dnsFamilies(figures: () => DnsFigures): readonly Family[] {
  const ofLists = (read: (list: ListFigures) => number | null) => () =>
    figures().lists.flatMap((list, place) => {
      const value = read(list);
      return value === null ? [] : [{ labels: { list: String(place + 1) }, value }];
    });
  const seconds = (milliseconds: number | null) => (milliseconds === null ? null : milliseconds / 1000);
  return [
    ...answerFamilies(figures),
    gauge(
      'keyway_dns_list_names',
      'Names that a blocklist blocks, by its place in the settings.',
      ofLists(({ names }) => names),
      LIST,
    ),
    gauge(
      'keyway_dns_list_exceptions',
      'Names that a blocklist excepts, by its place in the settings.',
      ofLists(({ exceptions }) => exceptions),
      LIST,
    ),
    gauge(
      'keyway_dns_list_unsupported',
      'Lines of a blocklist that are not understood, by its place in the settings.',
      ofLists(({ unsupported }) => unsupported),
      LIST,
    ),
    gauge(
      'keyway_dns_list_failed',
      '1 where the last refresh of a blocklist failed, so that its old names stay, or where it is skipped.',
      ofLists(({ error }) => (error === null ? 0 : 1)),
      LIST,
    ),
    gauge(
      'keyway_dns_list_fetched_timestamp_seconds',
      "When a blocklist's names came, in seconds since the epoch.",
      ofLists(({ fetchedAt }) => seconds(fetchedAt)),
      LIST,
    ),
    gauge(
      'keyway_dns_last_refresh_timestamp_seconds',
      'When the last refresh of the blocklists ended, in seconds since the epoch; 0 for never.',
      () => seconds(figures().lastRefresh) ?? 0,
    ),
  ];
}

function answerFamilies(figures: () => DnsFigures): readonly Family[] {
  return [
    gauge('keyway_dns_listening', '1 while the DNS server listens; 0 where it is off or its port is not open.', () =>
      figures().listening === null ? 0 : 1,
    ),
    counter('keyway_dns_queries_total', 'DNS queries.', () => figures().queries),
    counter('keyway_dns_blocked_queries_total', 'DNS queries for blocked names.', () => figures().blocked),
    counter('keyway_dns_cache_hits_total', 'DNS queries answered from the cache.', () => figures().cacheHits),
    counter(
      'keyway_dns_upstream_errors_total',
      'Questions that the DNS upstream did not answer.',
      () => figures().upstreamErrors,
    ),
    gauge('keyway_dns_cached_answers', 'Answers in the DNS cache.', () => figures().cachedAnswers),
  ];
}

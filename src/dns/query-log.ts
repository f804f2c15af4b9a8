import type { DnsFigures, DnsLogEntry, DnsQuery, QuestionsOfDay, TopEntry } from '../core/model.js';
import type { ClockPort } from '../core/ports.js';

/** The last queries, and counts of all queries since the log was cleared. */
export type QueryLog = ReturnType<typeof createQueryLog>;

/** A query without an outcome so far. */
export type PendingEntry = { -readonly [K in keyof DnsLogEntry]: DnsLogEntry[K] };

export type QueryEnd = Pick<DnsLogEntry, 'outcome' | 'upstream' | 'elapsed'>;

/** The most names and clients that are counted; when there are more, the rarer half is forgotten. */
const MOST_COUNTED = 5_000;
const SHOWN = 10;
const DAY_MS = 24 * 3_600_000;

/** Keeps the last 1,000 queries, or as many as `resize` sets. */
export function createQueryLog(clock: ClockPort) {
  let ring: DnsLogEntry[] = [];
  let most = 1000;
  let next = 0;
  const startedAt = clock.monotonic();
  let total: Totals = newTotals();
  let day = newDay(clock.now());

  const list = (): readonly DnsLogEntry[] =>
    ring.length < most ? ring.slice() : [...ring.slice(next), ...ring.slice(0, next)];

  /** Returns the counts since midnight in UTC. */
  function today() {
    const midnight = midnightBefore(clock.now());
    if (midnightBefore(day.since) !== midnight) day = newDay(midnight);
    return day;
  }

  function clearEntries(): void {
    ring = [];
    next = 0;
  }

  return {
    /** Adds a query; `settle` adds its outcome. */
    add(entry: DnsLogEntry): void {
      total.counts.total += 1;
      today().questions += 1;
      count(total.names, entry.name);
      count(total.clients, entry.client);
      if (most === 0) return;
      ring[next] = entry;
      next = (next + 1) % most;
    },
    /** Records the outcome of a query, with the milliseconds that it took. */
    settle(entry: PendingEntry, { outcome, upstream, elapsed }: QueryEnd): void {
      Object.assign(entry, { outcome, upstream, elapsed: Math.round(elapsed) });
      const { counts } = total;
      if (outcome === 'blocked') {
        counts.blocked += 1;
        today().blocked += 1;
        count(total.blockedNames, entry.name);
      } else if (outcome === 'rewritten') counts.rewritten += 1;
      else if (outcome === 'cached') counts.cached += 1;
      else if (outcome === 'failed') counts.failed += 1;
      if (upstream === null) return;
      counts.upstream += 1;
      total.upstreamMilliseconds += entry.elapsed;
    },
    /** Limits the log to the last `wanted` queries. */
    resize(wanted: number): void {
      if (wanted === most) return;
      const kept = wanted === 0 ? [] : list().slice(-wanted);
      most = wanted;
      ring = [...kept];
      next = most === 0 ? 0 : ring.length % most;
    },
    /** Returns the queries, oldest first, in the form of the older endpoints. */
    queries: (): readonly DnsQuery[] => list().map(asQuery),
    /** Returns at most `limit` entries, newest first, whose name or client contains the text. */
    entries(limit: number, text: string): readonly DnsLogEntry[] {
      const found = list().filter(({ name, client }) => name.includes(text) || client.includes(text));
      return found.toReversed().slice(0, limit);
    },
    /** Forgets queries and counts. */
    clear(): void {
      clearEntries();
      total = newTotals();
      day = newDay(clock.now());
    },
    today: (): QuestionsOfDay => ({ ...today() }),
    figures(): Omit<DnsFigures, 'enabled' | 'lists' | 'upstreams'> {
      const { counts, names, blockedNames, clients, upstreamMilliseconds } = total;
      return {
        since: Math.floor((clock.monotonic() - startedAt) / 1000),
        total: counts.total,
        blocked: counts.blocked,
        rewritten: counts.rewritten,
        cached: counts.cached,
        failed: counts.failed,
        averageUpstream: counts.upstream === 0 ? null : Math.floor(upstreamMilliseconds / counts.upstream),
        topNames: top(names),
        topBlocked: top(blockedNames),
        topClients: top(clients),
      };
    },
  };
}

function asQuery({ time, name, client, outcome }: DnsLogEntry): DnsQuery {
  return {
    timestamp: Math.floor(time / 1000),
    domain: name,
    clientIp: client,
    blocked: outcome === 'blocked',
    failed: outcome === 'failed',
  };
}

interface Totals {
  readonly counts: Record<'total' | 'blocked' | 'rewritten' | 'cached' | 'failed' | 'upstream', number>;
  readonly names: Map<string, number>;
  readonly blockedNames: Map<string, number>;
  readonly clients: Map<string, number>;
  upstreamMilliseconds: number;
}

function newTotals(): Totals {
  return {
    counts: { total: 0, blocked: 0, rewritten: 0, cached: 0, failed: 0, upstream: 0 },
    names: new Map(),
    blockedNames: new Map(),
    clients: new Map(),
    upstreamMilliseconds: 0,
  };
}

const newDay = (since: number) => ({ since, questions: 0, blocked: 0 });
const midnightBefore = (time: number) => time - (time % DAY_MS);

/** Counts a text. Strangers choose the names, so their number is limited: beyond it the rarer half is forgotten. */
function count(of: Map<string, number>, text: string): void {
  of.set(text, (of.get(text) ?? 0) + 1);
  if (of.size <= MOST_COUNTED) return;
  const rarest = [...of].sort(([, a], [, b]) => a - b).slice(0, MOST_COUNTED / 2);
  for (const [name] of rarest) of.delete(name);
}

function top(of: ReadonlyMap<string, number>): readonly TopEntry[] {
  return [...of].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, SHOWN);
}

import type { ClockPort, LogPort } from '../core/ports.js';
import { type CachedAnswer, createAnswerCache } from './cache.js';
import type { Connections } from './connections.js';
import { createDohUpstream, type DohUpstream } from './doh.js';
import { reasonOf } from './failure-reason.js';
import { EDNS_DO, FLAG, HEADER_BYTES, lowerCased } from './message.js';
import type { Query } from './query.js';
import { UNREACHABLE } from './reply.js';
import { FAILURE_SECONDS, readUpstreamAnswer, type UpstreamAnswer } from './upstream-answer.js';

/** Answers out of the cache or from the upstream. */
export type Forwarder = ReturnType<typeof createForwarder>;

/** Counts what happened; the resolver's figures. */
export interface ForwarderCounts {
  cacheHits: number;
  upstreamErrors: number;
}

export interface ForwarderOptions {
  /** The DoH URL. */
  readonly upstream: string;
  readonly connections: Connections;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly counts: ForwarderCounts;
}

const CACHE_LIMITS = { entries: 50_000, bytes: 32 * 1024 * 1024 };
/** Two attempts stay below the five seconds after which clients give up. */
const ATTEMPT_MS = 2000;
/** More questions than these at the upstream at once mean that it does not keep up: further ones fail at once. */
const MOST_FLIGHTS = 2000;

/** Creates a forwarder with an empty cache. Throws when the upstream is no URL. */
export function createForwarder({ upstream, connections, clock, log, counts }: ForwarderOptions) {
  const cache = createAnswerCache(() => clock.monotonic(), CACHE_LIMITS);
  const flights = new Map<string, Promise<CachedAnswer>>();
  const doh = createDohUpstream(upstream, connections);
  const health = createHealth(upstream, log);
  const attempts = createAttempts(doh, connections, clock);

  async function fetch(key: string, query: Query): Promise<CachedAnswer> {
    const question = lowerCased(query.packet.subarray(HEADER_BYTES, query.questionEnd));
    const flags = query.packet.readUInt16BE(2);
    const asked = {
      bytes: question,
      dnssecOk: query.edns?.dnssecOk === true,
      checkingDisabled: (flags & FLAG.checkingDisabled) !== 0,
    };
    try {
      const { answer, ttl } = await attempts.ask(asked);
      health.answered();
      cache.put(key, answer, ttl);
      return { answer, age: 0 };
    } catch (error) {
      counts.upstreamErrors += 1;
      health.failed(error);
      cache.put(key, UNREACHABLE, FAILURE_SECONDS);
      return { answer: UNREACHABLE, age: 0 };
    } finally {
      flights.delete(key);
    }
  }

  return {
    /** Never rejects: SERVFAIL stands for every failure, within 5 seconds. At once when the cache has it. */
    resolve(query: Query): CachedAnswer | Promise<CachedAnswer> {
      const key = cacheKey(query);
      const cached = cache.get(key);
      if (cached !== null) {
        counts.cacheHits += 1;
        return cached;
      }
      const flight = flights.get(key);
      if (flight !== undefined) return flight;
      if (flights.size >= MOST_FLIGHTS) return { answer: UNREACHABLE, age: 0 };
      const started = fetch(key, query);
      flights.set(key, started);
      return started;
    },
    cache,
    /** Lets what is under way end, then closes. */
    async retire(): Promise<void> {
      await Promise.allSettled(flights.values());
      await connections.destroy();
    },
    /** Ends all connections now. */
    close: (): Promise<void> => connections.destroy(),
  };
}

/** Answers with and without DNSSEC records differ, and so do those that the upstream did not check. */
function cacheKey({ packet, name, type, edns }: Query): string {
  const bits = (packet.readUInt16BE(2) & FLAG.checkingDisabled) | (edns?.dnssecOk === true ? EDNS_DO : 0);
  return `${type} ${bits} ${name}`;
}

/** An exchange with one retry. */
function createAttempts(doh: DohUpstream, connections: Connections, clock: ClockPort) {
  let answeredAt = Number.NEGATIVE_INFINITY;

  async function attempt(question: Parameters<DohUpstream['ask']>[0]): Promise<UpstreamAnswer> {
    const startedAt = clock.monotonic();
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error('it does not answer')), ATTEMPT_MS);
    try {
      // The signal does not reach every way a connection can be made, so the wait itself ends too.
      const { message, age } = await Promise.race([doh.ask(question, abort.signal), rejection(abort.signal)]);
      answeredAt = clock.monotonic();
      return readUpstreamAnswer(message, question.bytes, age);
    } catch (error) {
      // A connection on which nothing came since the question left may be dead without anybody having said so.
      if (abort.signal.aborted && answeredAt < startedAt) connections.renew();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async ask(question: Parameters<DohUpstream['ask']>[0]): Promise<UpstreamAnswer> {
      try {
        return await attempt(question);
      } catch {
        return attempt(question);
      }
    },
  };
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** One line when the upstream begins to fail, one when it answers again. */
function createHealth(upstream: string, log: LogPort) {
  const host = new URL(upstream).host;
  let failures = 0;
  return {
    answered() {
      if (failures > 0) log.info({ upstream: host, failures }, 'the DNS upstream answers again');
      failures = 0;
    },
    failed(error: unknown) {
      failures += 1;
      const reason = reasonOf(error);
      if (failures === 1) log.warn({ upstream: host, reason }, 'the DNS upstream fails: clients get SERVFAIL');
    },
  };
}

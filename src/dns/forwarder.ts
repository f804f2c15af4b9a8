import type { ClockPort, LogPort } from '../core/ports.js';
import { type CachedAnswer, createAnswerCache } from './cache.js';
import type { Connections } from './connections.js';
import type { DohQuestion } from './doh.js';
import { reasonOf } from './failure-reason.js';
import { EDNS_DO, FLAG, HEADER_BYTES, lowerCasedQuestion, RCODE } from './message.js';
import type { Query } from './query.js';
import { UNREACHABLE } from './reply.js';
import type { Upstream } from './upstream.js';
import { FAILURE_SECONDS, readUpstreamAnswer, type UpstreamAnswer } from './upstream-answer.js';

/** Answers from the cache or from the upstream. */
export type Forwarder = ReturnType<typeof createForwarder>;

/** Counts events for the resolver's figures. */
export interface ForwarderCounts {
  cacheHits: number;
  upstreamErrors: number;
}

export interface ForwarderOptions {
  /** At least one. */
  readonly upstreams: readonly Upstream[];
  /** True to ask all at once, false to ask them in turn. */
  readonly isParallel: boolean;
  readonly cache: CacheSettings;
  readonly connections: Connections;
  /** Milliseconds for one upstream; two attempts may take twice as long together. */
  readonly attemptTimeout: number;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly counts: ForwarderCounts;
}

/** The limits for keeping answers. */
export interface CacheSettings {
  readonly entries: number;
  /** Seconds; an answer that may be kept is kept for no less and no longer. */
  readonly least: number;
  readonly most: number;
}

const MOST_ENTRIES = 200_000;
const MOST_BYTES = 32 * 1024 * 1024;
/** Milliseconds for which a failed upstream is asked after the others. */
const SET_BACK_MS = 30_000;
/** With more questions than this under way the upstream is not keeping up, and further ones fail at once. */
const MOST_FLIGHTS = 2000;

/** Creates a forwarder with an empty cache. */
export function createForwarder(options: ForwarderOptions) {
  const { upstreams, connections, clock, log, counts } = options;
  const limits = { entries: Math.min(options.cache.entries, MOST_ENTRIES), bytes: MOST_BYTES };
  const cache = createAnswerCache(() => clock.monotonic(), limits);
  const flights = new Map<string, Promise<ForwardedAnswer>>();
  const health = createHealth(upstreams.map(({ label }) => label).join(', '), log);
  const attempts = createAttempts(options);

  /** Limits the time of an answer that may be kept to the bounds of the settings. */
  function keptFor({ answer, ttl }: UpstreamAnswer): number {
    const isAnswer = answer.rcode === RCODE.noError || answer.rcode === RCODE.nxDomain;
    return ttl > 0 && isAnswer ? Math.min(Math.max(ttl, options.cache.least), options.cache.most) : ttl;
  }

  async function fetch(key: string, query: Query): Promise<ForwardedAnswer> {
    const question = lowerCasedQuestion(query.packet.subarray(HEADER_BYTES, query.questionEnd));
    const flags = query.packet.readUInt16BE(2);
    const asked = {
      bytes: question,
      dnssecOk: query.edns?.dnssecOk === true,
      checkingDisabled: (flags & FLAG.checkingDisabled) !== 0,
    };
    try {
      const { answered, upstream } = await attempts.ask(asked);
      health.answered();
      cache.put(key, answered.answer, keptFor(answered));
      return { answer: answered.answer, age: 0, upstream };
    } catch (error) {
      counts.upstreamErrors += 1;
      health.failed(error);
      cache.put(key, UNREACHABLE, FAILURE_SECONDS);
      return { answer: UNREACHABLE, age: 0, upstream: null };
    } finally {
      flights.delete(key);
    }
  }

  return {
    /**
     * Answers a query, immediately if the answer is cached. Never rejects: every failure becomes SERVFAIL, in the time of
     * two attempts.
     */
    resolve(query: Query): ForwardedAnswer | Promise<ForwardedAnswer> {
      const key = cacheKey(query);
      const cached = cache.get(key);
      if (cached !== null) {
        counts.cacheHits += 1;
        return { ...cached, upstream: CACHE };
      }
      const flight = flights.get(key);
      if (flight !== undefined) return flight;
      if (flights.size >= MOST_FLIGHTS) return { answer: UNREACHABLE, age: 0, upstream: null };
      const started = fetch(key, query);
      flights.set(key, started);
      return started;
    },
    cache,
    /** Waits for questions under way, then closes. */
    async retire(): Promise<void> {
      await Promise.allSettled(flights.values());
      await close();
    },
    /** Ends all connections immediately. */
    close,
  };

  async function close(): Promise<void> {
    for (const upstream of upstreams) upstream.close();
    await connections.destroy();
  }
}

/** An answer and its source: `CACHE`, the shown name of an upstream, or null if no upstream could be asked. */
export interface ForwardedAnswer extends CachedAnswer {
  readonly upstream: string | null;
}

/** Replaces an upstream's label if the answer was cached. */
export const CACHE = '';

/** Returns a key that separates answers with DNSSEC records, and those that the upstream did not check. */
function cacheKey({ packet, name, type, edns }: Query): string {
  const bits = (packet.readUInt16BE(2) & FLAG.checkingDisabled) | (edns?.dnssecOk === true ? EDNS_DO : 0);
  return `${type} ${bits} ${name}`;
}

interface Attempted {
  readonly answered: UpstreamAnswer;
  readonly upstream: string;
}

/** Makes exchanges with the upstreams; if there is only one, it is asked twice. */
function createAttempts({ upstreams, isParallel, connections, attemptTimeout, clock }: ForwarderOptions) {
  const allAttempts = 2 * attemptTimeout;
  let answeredAt = Number.NEGATIVE_INFINITY;
  const failedAt = new Map<Upstream, number>();

  async function attempt(upstream: Upstream, question: DohQuestion, milliseconds: number): Promise<Attempted> {
    const startedAt = clock.monotonic();
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new Error('it does not answer')), milliseconds);
    try {
      // The signal does not reach every kind of connecting, so the wait itself ends, too.
      const { message, age } = await Promise.race([upstream.ask(question, abort.signal), rejection(abort.signal)]);
      answeredAt = clock.monotonic();
      const answered = readUpstreamAnswer(message, question.bytes, age);
      failedAt.delete(upstream);
      return { answered, upstream: upstream.shown };
    } catch (error) {
      failedAt.set(upstream, clock.monotonic());
      // A connection without any data since the question was sent may have died silently.
      if (abort.signal.aborted && answeredAt < startedAt) connections.renew();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lists the upstreams in their order, but with recently failed ones last; a single one appears twice. */
  function inTurn(): readonly Upstream[] {
    const now = clock.monotonic();
    const isSetBack = (upstream: Upstream) => now - (failedAt.get(upstream) ?? Number.NEGATIVE_INFINITY) < SET_BACK_MS;
    const turns = [...upstreams.filter((one) => !isSetBack(one)), ...upstreams.filter(isSetBack)];
    return turns.length === 1 ? [...turns, ...turns] : turns;
  }

  async function oneByOne(question: DohQuestion): Promise<Attempted> {
    const startedAt = clock.monotonic();
    let failure: unknown;
    for (const upstream of inTurn()) {
      const left = allAttempts - (clock.monotonic() - startedAt);
      if (left <= 0) break;
      try {
        return await attempt(upstream, question, Math.min(left, attemptTimeout));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async function allAtOnce(question: DohQuestion): Promise<Attempted> {
    try {
      return await Promise.any(upstreams.map((upstream) => attempt(upstream, question, allAttempts)));
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }

  return { ask: isParallel && upstreams.length > 1 ? allAtOnce : oneByOne };
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Logs one line when the upstreams begin to fail, and one when one of them answers again. */
function createHealth(host: string, log: LogPort) {
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

import { DEFAULT_DNS, type DnsConfig, type DnsQuery, type OutboundSettings } from '../core/model.js';
import type { ClockPort, LogPort, RandomPort, ResolverPort } from '../core/ports.js';
import { hostOf, httpUrl } from '../wire/dns-values.js';
import { type AnsweringState, createResponder } from './answering.js';
import { createBlocklists, type ListState } from './blocklists.js';
import { type Connections, createConnections } from './connections.js';
import { reasonOf } from './failure-reason.js';
import { createForwarder, type Forwarder } from './forwarder.js';
import { createHostLookup } from './host-lookup.js';
import { createKeptListener } from './kept-listener.js';
import { MOST_LIST_BYTES } from './list-source.js';
import { createListStore, NO_STORE } from './list-store.js';
import { isLoopbackAddress } from './listener.js';
import { createCustomDomains } from './local-answers.js';
import { createQueryLog } from './query-log.js';
import { createRateLimit } from './rate-limit.js';
import { reservedForRedirects, reservedKind } from './reserved-addresses.js';

/** What the resolver did, for metrics. Counts are since its creation. */
export interface ResolverStats {
  /** Where it listens, or null. */
  readonly listening: { readonly address: string; readonly port: number } | null;
  readonly queries: number;
  readonly blocked: number;
  readonly cacheHits: number;
  readonly upstreamErrors: number;
  readonly cachedAnswers: number;
  readonly lists: readonly ListState[];
  /** Milliseconds since the epoch, null for never. */
  readonly lastRefresh: number | null;
  /** Why a list kept its old content at the last refresh; null when none did. */
  readonly lastRefreshError: string | null;
}

/** The embedded DNS server behind the DNS endpoints. */
export interface Resolver extends ResolverPort {
  /** From now on the settings are acted upon; before, they are only remembered. Nothing it meets is an error here. */
  start(): void;
  /** Resolves when what was ordered so far is done: sockets, kept lists. Refreshes go on in the background. */
  settled(): Promise<void>;
  /** Closes sockets and connections and gives up what is under way. */
  close(): Promise<void>;
  stats(): ResolverStats;
}

export interface ResolverOptions {
  /** Where the last good copies of lists are kept; made when the first is. Null: they are in memory alone. */
  readonly copyFolder: string | null;
  /** Below which `file:` lists are read, an absolute path; null: none is. */
  readonly fileFolder: string | null;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  /** Certificates to trust besides those that Node trusts (PEM). */
  readonly ca?: readonly string[];
  /** The machine's name servers; default: what the system says. */
  readonly nameServers?: () => readonly string[];
  /** The size of a list in bytes; default 100 MB. */
  readonly mostListBytes?: number;
  /** Milliseconds that the download of a list may take; default five minutes. */
  readonly listTimeout?: number;
  /** Milliseconds until a port that was taken is tried again; default 30 seconds. */
  readonly bindRetry?: number;
}

const LOGGED_QUERIES = 1000;
const CONNECT_MS = 2000;
const LIST_CONNECT_MS = 10_000;
const LIST_MS = 5 * 60_000;
const BIND_RETRY_MS = 30_000;
/** After a refresh in which a list failed. */
const FAILED_REFRESH_MS = 15 * 60_000;
const HOUR_MS = 3_600_000;
/** Replies that pass every network in one piece (RFC 9715); on this machine pieces are larger. */
const MOST_UDP_BYTES = { network: 1232, loopback: 4096 };
/** A household's bursts pass; a forged sender gets no flood. */
const RATE = { perSecond: 200, burst: 1000 };

/** Creates a resolver that does nothing until `start`. */
export function createResolver(options: ResolverOptions): Resolver {
  const { clock, log, random } = options;
  const counts = { queries: 0, blocked: 0, cacheHits: 0, upstreamErrors: 0 };
  const queryLog = createQueryLog(LOGGED_QUERIES);
  const blocklists = createBlocklists({
    store: options.copyFolder === null ? NO_STORE : createListStore(options.copyFolder, () => clock.now()),
    clock,
    log,
    seed: random.bytes(4).readUInt32LE(),
    fileFolder: options.fileFolder,
    mostBytes: options.mostListBytes ?? MOST_LIST_BYTES,
    listTimeout: options.listTimeout ?? LIST_MS,
  });
  const lookup = createHostLookup({
    custom: (host) => state.custom.address(host),
    own: () => listener.current(),
    nameServers: options.nameServers,
  });
  let dns: DnsConfig = DEFAULT_DNS;
  let outbound: OutboundSettings | null = null;
  let state: AnsweringState = stateFor(dns, null);
  let phase: 'new' | 'running' | 'closed' = 'new';
  let forwarding = '';
  let listed = '';
  let work: Promise<void> = Promise.resolve();
  let refreshTimer: NodeJS.Timeout | undefined;

  const respond = createResponder({
    state: () => state,
    isOwnLookup: (name) => lookup.underWay(name),
    queryLog,
    counts,
    clock,
    log,
  });
  const listener = createKeptListener({
    respond,
    log,
    retryAfter: options.bindRetry ?? BIND_RETRY_MS,
    retry: () => order(follow),
  });

  function stateFor(next: DnsConfig, forwarder: Forwarder | null): AnsweringState {
    const local = isLoopbackAddress(next.bind);
    return {
      custom: createCustomDomains(next.customDomains),
      blocklist: () => blocklists.current(),
      blockedAnswer: next.blockedAnswer,
      forwarder,
      rateLimit: local ? null : createRateLimit({ ...RATE, now: () => clock.monotonic() }),
      mostUdpBytes: local ? MOST_UDP_BYTES.loopback : MOST_UDP_BYTES.network,
    };
  }

  /** Orders asynchronous work after what was ordered before. */
  function order(task: () => Promise<void>): void {
    work = work.then(task).catch((error: unknown) => {
      log.error({ reason: reasonOf(error) }, 'the DNS server could not follow its settings');
    });
  }

  /** What counts from the next query on; the rest follows in its own time. */
  function apply(): void {
    const wanted = dns.enabled ? JSON.stringify([dns.dohUpstream, outbound]) : '';
    let { forwarder } = state;
    if (wanted !== forwarding) {
      void forwarder?.retire();
      forwarder = dns.enabled ? openForwarder() : null;
      forwarding = wanted;
    }
    state = stateFor(dns, forwarder);
    if (dns.enabled) reportIgnored();
    order(follow);
  }

  function openForwarder(): Forwarder | null {
    const url = httpUrl(dns.dohUpstream);
    if (url === null) {
      log.error({}, 'dns.doh_upstream: expected an http or https URL; nothing is forwarded');
      return null;
    }
    const reserved = reservedKind(hostOf(url));
    if (reserved !== null) {
      const reason = `it is at ${reserved}`;
      log.error({ upstream: url.host, reason }, 'dns.doh_upstream is skipped; nothing is forwarded');
      return null;
    }
    const connections = connectionsFor({ connectTimeout: CONNECT_MS, reserved: reservedKind });
    return createForwarder({ upstream: dns.dohUpstream, connections, clock, log, counts });
  }

  function connectionsFor(
    how: Pick<Parameters<typeof createConnections>[0], 'connectTimeout' | 'reserved'>,
  ): Connections {
    const ca = options.ca === undefined ? {} : { ca: options.ca };
    return createConnections({ outbound, addressesOf: (host) => lookup.addresses(host), ...how, ...ca });
  }

  function reportIgnored(): void {
    const { ignored } = state.custom;
    if (ignored.length > 0) log.warn({ ignored }, 'dns.custom_domains: entries without a name or address are ignored');
  }

  /** Brings lists and sockets to where the settings want them. */
  async function follow(): Promise<void> {
    if (!dns.enabled || phase === 'closed') {
      clearTimeout(refreshTimer);
      await Promise.all([listener.close(), blocklists.restore([])]);
      listed = '';
      return;
    }
    const lists = JSON.stringify(dns.adblockUrls);
    const changed = lists !== listed;
    listed = lists;
    // The kept lists block from the first answer on, also where there is no network.
    if (changed) await blocklists.restore(dns.adblockUrls);
    await listener.listen(dns.bind, dns.localPort);
    if (changed) startRefresh();
  }

  function startRefresh(): void {
    clearTimeout(refreshTimer);
    if (dns.adblockUrls.length === 0) return;
    const own = connectionsFor({ connectTimeout: LIST_CONNECT_MS, reserved: reservedKind });
    const redirected = connectionsFor({ connectTimeout: LIST_CONNECT_MS, reserved: reservedForRedirects });
    void blocklists
      .refresh(dns.adblockUrls, { own, redirected })
      .then(() => Promise.all([own.destroy(), redirected.destroy()]))
      .then(scheduleRefresh);
  }

  function scheduleRefresh(): void {
    if (phase !== 'running' || !dns.enabled) return;
    clearTimeout(refreshTimer);
    const regular = dns.refreshHours * HOUR_MS;
    const failed = blocklists.states().some(({ error, skipped }) => error !== null && !skipped);
    refreshTimer = setTimeout(startRefresh, failed ? Math.min(regular, FAILED_REFRESH_MS) : regular).unref();
  }

  function reportUnserved(before: DnsConfig | null): void {
    const newly = before === null || !before.enabled || !before.interceptAllPort53;
    if (dns.enabled && dns.interceptAllPort53 && newly) {
      log.warn({}, 'dns.intercept_all_port53 is kept in the file, but Keyway does not intercept: clients must ask it');
    }
  }

  return {
    configure(nextDns, nextOutbound) {
      const before = dns;
      dns = nextDns;
      outbound = nextOutbound;
      if (phase !== 'running') return;
      reportUnserved(before);
      apply();
    },
    queries: (): readonly DnsQuery[] => queryLog.list(),
    refreshBlocklists() {
      if (phase !== 'running') return;
      order(async () => {
        if (dns.enabled) startRefresh();
      });
    },
    start() {
      if (phase !== 'new') return;
      phase = 'running';
      reportUnserved(null);
      apply();
    },
    settled: () => work,
    async close() {
      phase = 'closed';
      order(follow);
      clearTimeout(refreshTimer);
      await Promise.all([work, blocklists.close(), state.forwarder?.close()]);
    },
    stats() {
      const open = listener.current();
      const lists = blocklists.states();
      return {
        listening: open === null ? null : { address: open.address, port: open.port },
        ...counts,
        cachedAnswers: state.forwarder?.cache.size ?? 0,
        lists,
        lastRefresh: blocklists.refreshedAt(),
        lastRefreshError: lists.find(({ error }) => error !== null)?.error ?? null,
      };
    },
  };
}

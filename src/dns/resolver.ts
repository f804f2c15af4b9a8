import { DEFAULT_DNS, type DnsConfig, type DnsQuery, type OutboundSettings } from '../core/model.js';
import type { ClockPort, LogPort, RandomPort, ResolverPort } from '../core/ports.js';
import { hostOf, httpUrl } from '../wire/dns-values.js';
import { type AnsweringState, createResponder } from './answering.js';
import { type Blocklists, createBlocklists } from './blocklists.js';
import type { ConnectionsOptions } from './channel.js';
import { type Connections, createConnections } from './connections.js';
import { reasonOf } from './failure-reason.js';
import { createForwarder, type Forwarder } from './forwarder.js';
import { createHostLookup, type HostLookup } from './host-lookup.js';
import { MOST_LIST_BYTES } from './list-source.js';
import { createListStore, NO_STORE } from './list-store.js';
import { createKeptListener, isLoopbackAddress, type KeptListener } from './listener.js';
import { createCustomDomains } from './local-answers.js';
import { createQueryLog } from './query-log.js';
import { createRateLimit } from './rate-limit.js';
import { reservedForRedirects, reservedKind } from './reserved-addresses.js';

export interface ResolverOptions {
  /** The folder of the last good copies of lists; made when the first is. Null: they are in memory alone. */
  readonly copyFolder: string | null;
  /** Below which `file:` lists are read, an absolute path; null: none is. */
  readonly listFolder: string | null;
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
  return new Resolver(options);
}

/** The embedded DNS server behind the DNS endpoints. */
export class Resolver implements ResolverPort {
  readonly #options: ResolverOptions;
  readonly #counts = { queries: 0, blocked: 0, cacheHits: 0, upstreamErrors: 0 };
  readonly #queryLog = createQueryLog(LOGGED_QUERIES);
  readonly #blocklists: Blocklists;
  readonly #lookup: HostLookup;
  readonly #listener: KeptListener;
  #dns: DnsConfig = DEFAULT_DNS;
  #outbound: OutboundSettings | null = null;
  #state: AnsweringState;
  #phase: 'new' | 'running' | 'closed' = 'new';
  /** Settings that the present forwarder was opened for, and those whose lists were loaded last, as JSON. */
  #forwarding = '';
  #listed = '';
  #work: Promise<void> = Promise.resolve();
  #refreshTimer: NodeJS.Timeout | undefined;

  constructor(options: ResolverOptions) {
    this.#options = options;
    const { clock, log, random } = options;
    this.#blocklists = createBlocklists({
      store: options.copyFolder === null ? NO_STORE : createListStore(options.copyFolder, () => clock.now()),
      clock,
      log,
      seed: random.bytes(4).readUInt32LE(),
      listFolder: options.listFolder,
      mostBytes: options.mostListBytes ?? MOST_LIST_BYTES,
      listTimeout: options.listTimeout ?? LIST_MS,
    });
    this.#lookup = createHostLookup({
      custom: (host) => this.#state.custom.address(host),
      own: () => this.#listener.current(),
      nameServers: options.nameServers,
    });
    const respond = createResponder({
      state: () => this.#state,
      isOwnLookup: (name) => this.#lookup.underWay(name),
      queryLog: this.#queryLog,
      counts: this.#counts,
      clock,
      log,
    });
    this.#listener = createKeptListener({
      respond,
      log,
      retryAfter: options.bindRetry ?? BIND_RETRY_MS,
      retry: () => this.#order(() => this.#follow()),
    });
    this.#state = this.#stateFor(null);
  }

  configure(dns: DnsConfig, outbound: OutboundSettings | null): void {
    const before = this.#dns;
    this.#dns = dns;
    this.#outbound = outbound;
    if (this.#phase !== 'running') return;
    this.#reportUnserved(before);
    this.#apply();
  }

  queries(): readonly DnsQuery[] {
    return this.#queryLog.list();
  }

  refreshBlocklists(): void {
    if (this.#phase !== 'running') return;
    this.#order(async () => {
      if (this.#dns.enabled) this.#startRefresh();
    });
  }

  /** From now on the settings are acted upon; before, they are only remembered. Nothing it meets is an error here. */
  start(): void {
    if (this.#phase !== 'new') return;
    this.#phase = 'running';
    this.#reportUnserved(null);
    this.#apply();
  }

  /** Resolves when what was ordered so far is done: sockets, kept lists. Refreshes go on in the background. */
  settled(): Promise<void> {
    return this.#work;
  }

  /** Closes sockets and connections and gives up what is under way. */
  async close(): Promise<void> {
    this.#phase = 'closed';
    this.#order(() => this.#follow());
    clearTimeout(this.#refreshTimer);
    await Promise.all([this.#work, this.#blocklists.close(), this.#state.forwarder?.close()]);
  }

  /** Figures for metrics. Counts are since its creation. */
  stats() {
    const open = this.#listener.current();
    const lists = this.#blocklists.states();
    return {
      listening: open === null ? null : { address: open.address, port: open.port },
      ...this.#counts,
      cachedAnswers: this.#state.forwarder?.cache.size ?? 0,
      lists,
      lastRefresh: this.#blocklists.refreshedAt(),
      /** Why a list kept its old content at the last refresh; null when none did. */
      lastRefreshError: lists.find(({ error }) => error !== null)?.error ?? null,
    };
  }

  #stateFor(forwarder: Forwarder | null): AnsweringState {
    const { bind, blockedAnswer, customDomains } = this.#dns;
    const { clock } = this.#options;
    const local = isLoopbackAddress(bind);
    return {
      custom: createCustomDomains(customDomains),
      blocklist: () => this.#blocklists.current(),
      blockedAnswer,
      forwarder,
      rateLimit: local ? null : createRateLimit({ ...RATE, now: () => clock.monotonic() }),
      mostUdpBytes: local ? MOST_UDP_BYTES.loopback : MOST_UDP_BYTES.network,
    };
  }

  /** Runs asynchronous work after what was ordered before. */
  #order(task: () => Promise<void>): void {
    this.#work = this.#work.then(task).catch((error: unknown) => {
      this.#options.log.error({ reason: reasonOf(error) }, 'the DNS server could not follow its settings');
    });
  }

  /** Puts into force what counts from the next query on; lists and sockets follow in their own time. */
  #apply(): void {
    const wanted = this.#dns.enabled ? JSON.stringify([this.#dns.dohUpstream, this.#outbound]) : '';
    let { forwarder } = this.#state;
    if (wanted !== this.#forwarding) {
      void forwarder?.retire();
      forwarder = this.#dns.enabled ? this.#openForwarder() : null;
      this.#forwarding = wanted;
    }
    this.#state = this.#stateFor(forwarder);
    if (this.#dns.enabled) this.#reportIgnored();
    this.#order(() => this.#follow());
  }

  #openForwarder(): Forwarder | null {
    const { clock, log } = this.#options;
    const { dohUpstream: upstream } = this.#dns;
    const url = httpUrl(upstream);
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
    const connections = this.#connections(CONNECT_MS, reservedKind);
    return createForwarder({ upstream, connections, clock, log, counts: this.#counts });
  }

  #connections(connectTimeout: number, reserved: ConnectionsOptions['reserved']): Connections {
    return createConnections({
      outbound: this.#outbound,
      addressesOf: (host) => this.#lookup.addresses(host),
      connectTimeout,
      reserved,
      ...(this.#options.ca && { ca: this.#options.ca }),
    });
  }

  #reportIgnored(): void {
    const { ignored } = this.#state.custom;
    if (ignored.length === 0) return;
    this.#options.log.warn({ ignored }, 'dns.custom_domains: entries without a name or address are ignored');
  }

  #reportUnserved(before: DnsConfig | null): void {
    const newly = before === null || !before.enabled || !before.interceptAllPort53;
    if (!this.#dns.enabled || !this.#dns.interceptAllPort53 || !newly) return;
    const text = 'dns.intercept_all_port53 is kept in the file, but Keyway does not intercept: clients must ask it';
    this.#options.log.warn({}, text);
  }

  /** Brings lists and sockets to where the settings want them. */
  async #follow(): Promise<void> {
    if (!this.#dns.enabled || this.#phase === 'closed') {
      clearTimeout(this.#refreshTimer);
      await Promise.all([this.#listener.close(), this.#blocklists.restore([])]);
      this.#listed = '';
      return;
    }
    const lists = JSON.stringify(this.#dns.adblockUrls);
    const changed = lists !== this.#listed;
    this.#listed = lists;
    // The kept lists block from the first answer on, also where there is no network.
    if (changed) await this.#blocklists.restore(this.#dns.adblockUrls);
    await this.#listener.listen(this.#dns.bind, this.#dns.localPort);
    if (changed) this.#startRefresh();
  }

  #startRefresh(): void {
    clearTimeout(this.#refreshTimer);
    if (this.#dns.adblockUrls.length === 0) return;
    const own = this.#connections(LIST_CONNECT_MS, reservedKind);
    const redirected = this.#connections(LIST_CONNECT_MS, reservedForRedirects);
    void this.#blocklists
      .refresh(this.#dns.adblockUrls, { own, redirected })
      .then(() => Promise.all([own.destroy(), redirected.destroy()]))
      .then(() => this.#scheduleRefresh());
  }

  #scheduleRefresh(): void {
    if (this.#phase !== 'running' || !this.#dns.enabled) return;
    clearTimeout(this.#refreshTimer);
    const regular = this.#dns.refreshHours * HOUR_MS;
    const failed = this.#blocklists.states().some(({ error, skipped }) => error !== null && !skipped);
    const wait = failed ? Math.min(regular, FAILED_REFRESH_MS) : regular;
    this.#refreshTimer = setTimeout(() => this.#startRefresh(), wait).unref();
  }
}

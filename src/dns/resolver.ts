import { isDeepStrictEqual } from 'node:util';
import { resolverSettings } from '../core/dns-settings.js';
import {
  DEFAULT_DNS,
  type DnsConfig,
  type DnsExplanation,
  type DnsFigures,
  type DnsLogEntry,
  type DnsQuery,
  type ListUpdate,
  type OutboundSettings,
  type ResolverSettings,
  type ResolverState,
} from '../core/model.js';
import type { ClockPort, LogPort, ResolverPort } from '../core/ports.js';
import { hostOf, httpUrl } from '../wire/dns-values.js';
import { type AnsweringState, createResponder } from './answering.js';
import { type Blocklists, createBlocklists } from './blocklists.js';
import type { ConnectionsOptions } from './channel.js';
import { type Connections, createConnections } from './connections.js';
import { reasonOf } from './failure-reason.js';
import { createForwarder, type Forwarder } from './forwarder.js';
import { createHostLookup, type HostLookup } from './host-lookup.js';
import { readRules } from './list-lines.js';
import { MOST_LIST_BYTES } from './list-source.js';
import { createListStore, NO_STORE } from './list-store.js';
import { createKeptListener, isLoopbackAddress, type KeptListener } from './listener.js';
import { createBlockedAnswers } from './local-answers.js';
import { createPolicy, DIALECT_OF_AN_ENGINE, type Dialect, OLDER_DIALECT } from './policy.js';
import { createQueryLog } from './query-log.js';
import { createRateLimit } from './rate-limit.js';
import { reservedForRedirects, reservedKind } from './reserved-addresses.js';
import { listsInUse, toldOfSettings, USER_RULES, usedLists } from './told-settings.js';
import { createUpstream, type Upstream } from './upstream.js';

export interface ResolverOptions {
  /** The folder of the last good copies of lists, made for the first one; null keeps them in memory alone. */
  readonly copyFolder: string | null;
  /** The absolute path below which `file:` lists are read; null allows none. */
  readonly listFolder: string | null;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** Certificates (PEM) that are trusted in addition to Node's. */
  readonly ca?: readonly string[];
  /** Returns the machine's name servers; by default the system's. */
  readonly nameServers?: () => readonly string[];
  /** The largest list in bytes; default 100 MB. */
  readonly mostListBytes?: number;
  /** Milliseconds that the download of a list may take; default five minutes. */
  readonly listTimeout?: number;
  /** Milliseconds that an upstream may take to connect or answer; default two seconds. */
  readonly attemptTimeout?: number;
  /** Milliseconds until a port in use is tried again; default 30 seconds. */
  readonly bindRetry?: number;
}

const MOST_LOGGED = 10_000;
/** The most answers that are cached, whatever the settings say. */
const MOST_CACHED = 1_000_000;
/** A timer cannot wait longer. */
const MOST_HOURS = 576;
/** Two attempts stay below the five seconds after which clients give up. */
const ATTEMPT_MS = 2000;
const LIST_CONNECT_MS = 10_000;
const LIST_MS = 5 * 60_000;
const BIND_RETRY_MS = 30_000;
/** Milliseconds until the next refresh if a list failed. */
const FAILED_REFRESH_MS = 15 * 60_000;
const HOUR_MS = 3_600_000;
/** The largest replies in bytes: over a network, those that are never fragmented (RFC 9715); locally more. */
const MOST_UDP_BYTES = { network: 1232, loopback: 4096 };
/** Enough for a household's bursts, too little for a forged sender's flood. */
const RATE = { perSecond: 200, burst: 1000 };

/** Creates a resolver that is idle until `start`. */
export function createResolver(options: ResolverOptions): Resolver {
  return new Resolver(options);
}

/** The embedded DNS server behind the DNS endpoints. */
export class Resolver implements ResolverPort {
  readonly #options: ResolverOptions;
  readonly #counts = { queries: 0, blocked: 0, cacheHits: 0, upstreamErrors: 0 };
  readonly #queryLog: ReturnType<typeof createQueryLog>;
  readonly #blocklists: Blocklists;
  readonly #lookup: HostLookup;
  readonly #listener: KeptListener;
  #dns: DnsConfig = DEFAULT_DNS;
  #settings: ResolverSettings = resolverSettings(DEFAULT_DNS);
  #outbound: OutboundSettings | null = null;
  #state: AnsweringState;
  #phase: 'new' | 'running' | 'closed' = 'new';
  /** The settings that the present forwarder was opened with, and those whose lists were loaded last, as JSON. */
  #forwarding = '';
  #listed = '';
  #work: Promise<void> = Promise.resolve();
  /** True from the order of a refresh to its beginning. */
  #isRefreshDue = false;
  #refreshTimer: NodeJS.Timeout | undefined;

  constructor(options: ResolverOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#queryLog = createQueryLog(clock);
    this.#blocklists = createBlocklists({
      store: options.copyFolder === null ? NO_STORE : createListStore(options.copyFolder, () => clock.now()),
      clock,
      log,
      listFolder: options.listFolder,
      mostBytes: options.mostListBytes ?? MOST_LIST_BYTES,
      listTimeout: options.listTimeout ?? LIST_MS,
    });
    this.#lookup = createHostLookup({
      custom: (host) => this.#state.policy.address(host),
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
    // Any edit of the file comes here, of its keys, too, and combining long lists takes a third of a second.
    // Maps are equal in any order, and of two spellings of a name the last counts.
    const isSame = isDeepStrictEqual(
      [dns, outbound, ...dns.customDomains],
      [before, this.#outbound, ...before.customDomains],
    );
    this.#dns = dns;
    this.#settings = resolverSettings(dns);
    this.#outbound = outbound;
    this.#queryLog.resize(atMost(this.#settings.queryLogSize, MOST_LOGGED));
    if (this.#phase !== 'running' || isSame) return;
    this.#reportUnserved(before);
    this.#apply();
  }

  queries(): readonly DnsQuery[] {
    return this.#queryLog.queries();
  }

  refreshBlocklists(): void {
    if (this.#phase !== 'running' || !this.#dns.enabled) return;
    this.#isRefreshDue = true;
    this.#order(async () => {
      this.#isRefreshDue = false;
      if (this.#dns.enabled) void this.#startRefresh();
    });
  }

  /** Applies the settings from now on; before, they are only stored. Never throws. */
  start(): void {
    if (this.#phase !== 'new') return;
    this.#phase = 'running';
    this.#reportUnserved(null);
    this.#apply();
  }

  /** Resolves when earlier work on sockets and stored lists is done. Refreshes continue in the background. */
  settled(): Promise<void> {
    return this.#work;
  }

  /** Closes sockets and connections and aborts questions under way. */
  async close(): Promise<void> {
    this.#phase = 'closed';
    this.#order(() => this.#follow());
    clearTimeout(this.#refreshTimer);
    await Promise.all([this.#work, this.#blocklists.close(), this.#state.forwarder?.close()]);
  }

  figures(): DnsFigures {
    return { ...this.#queryLog.figures(), ...toldOfSettings(this.#dns, this.#settings, this.#blocklists.states()) };
  }

  state(): ResolverState {
    const idle = this.#idle();
    return {
      idle,
      isRefreshing: this.#isRefreshDue || this.#blocklists.isRefreshing(),
      refreshedAt: this.#blocklists.refreshedAt(),
      lists: listsInUse(this.#settings, this.#blocklists.states()),
      today: idle === 'none' ? null : this.#queryLog.today(),
    };
  }

  #idle(): ResolverState['idle'] {
    if (this.#phase !== 'running') return 'none';
    if (!this.#dns.enabled) return 'off';
    return this.#listener.current() === null ? 'waiting' : null;
  }

  log(limit: number, text: string): readonly DnsLogEntry[] {
    return this.#queryLog.entries(limit, text);
  }

  clearLog(): void {
    this.#queryLog.clear();
  }

  async updateLists(): Promise<readonly ListUpdate[]> {
    if (this.#phase === 'running') {
      await this.#work;
      await this.#startRefresh();
    }
    const states = new Map(this.#blocklists.states().map((state) => [state.listed, state]));
    return usedLists(this.#settings).map(({ name, url }) => {
      const { error = NOT_FETCHED, bytes = 0 } = states.get(url) ?? {};
      return { name, url, ok: error === null, detail: error ?? `${Math.floor(bytes / 1024)} KB` };
    });
  }

  explain(text: string): DnsExplanation {
    return this.#state.policy.explain(text);
  }

  /** Returns figures for metrics, counted since its creation. */
  stats() {
    const open = this.#listener.current();
    return {
      listening: open === null ? null : { address: open.address, port: open.port },
      ...this.#counts,
      cachedAnswers: this.#state.forwarder?.cache.size ?? 0,
      lists: this.#blocklists.states(),
      lastRefresh: this.#blocklists.refreshedAt(),
    };
  }

  #stateFor(forwarder: Forwarder | null): AnsweringState {
    const { bind } = this.#dns;
    const { clock } = this.#options;
    const local = isLoopbackAddress(bind);
    return {
      policy: createPolicy(this.#settings, () => this.#blocklists.current(), this.#dialect()),
      blockedAnswer: createBlockedAnswers(this.#settings),
      forwarder,
      rateLimit: local ? null : createRateLimit({ ...RATE, now: () => clock.monotonic() }),
      mostUdpBytes: local ? MOST_UDP_BYTES.loopback : MOST_UDP_BYTES.network,
    };
  }

  #dialect(): Dialect {
    return this.#dns.resolver === null ? OLDER_DIALECT : DIALECT_OF_AN_ENGINE;
  }

  #urls(): readonly string[] {
    return [...new Set(usedLists(this.#settings).map(({ url }) => url))];
  }

  #arrange(): void {
    const { readLine } = this.#dialect();
    const rules = readRules(this.#settings.userRules, readLine);
    this.#blocklists.arrange({
      readLine,
      lists: new Map(usedLists(this.#settings).map((list) => [list.url, list])),
      own: [{ name: USER_RULES, rules, isAllowing: false }],
    });
    if (rules.unsupported > 0 && this.#dns.enabled)
      this.#options.log.warn(
        { unsupported: rules.unsupported },
        'dns.user_rules: rules that are not understood are passed over',
      );
  }

  /** Runs asynchronous work after the work that was ordered before. */
  #order(task: () => Promise<void>): void {
    this.#work = this.#work.then(task).catch((error: unknown) => {
      this.#options.log.error({ reason: reasonOf(error) }, 'the DNS server could not follow its settings');
    });
  }

  /** Applies what concerns the next query at once; lists and sockets follow. */
  #apply(): void {
    const { upstreams, upstreamMode, cacheSize, cacheMinTtl, cacheMaxTtl } = this.#settings;
    const settings = [upstreams, upstreamMode, `${cacheSize}`, cacheMinTtl, cacheMaxTtl, this.#outbound];
    const wanted = this.#dns.enabled ? JSON.stringify(settings) : '';
    let { forwarder } = this.#state;
    if (wanted !== this.#forwarding) {
      void forwarder?.retire();
      forwarder = this.#dns.enabled ? this.#openForwarder() : null;
      this.#forwarding = wanted;
    }
    this.#state = this.#stateFor(forwarder);
    this.#arrange();
    if (this.#dns.enabled) this.#reportIgnored();
    this.#order(() => this.#follow());
  }

  #openForwarder(): Forwarder | null {
    const { clock, log, attemptTimeout = ATTEMPT_MS } = this.#options;
    const { upstreams: texts, upstreamMode, cacheSize, cacheMinTtl, cacheMaxTtl } = this.#settings;
    const connections = this.#connections(attemptTimeout, reservedKind);
    const upstreams = texts.flatMap((text) => this.#openUpstream(text, connections));
    if (upstreams.length === 0) {
      void connections.destroy();
      return null;
    }
    const cache = {
      entries: atMost(cacheSize, MOST_CACHED),
      least: Math.min(cacheMinTtl, cacheMaxTtl),
      most: cacheMaxTtl,
    };
    const isParallel = upstreamMode === 'parallel';
    const counts = this.#counts;
    return createForwarder({ upstreams, isParallel, cache, connections, attemptTimeout, clock, log, counts });
  }

  #openUpstream(text: string, connections: Connections): readonly Upstream[] {
    const { log, attemptTimeout = ATTEMPT_MS } = this.#options;
    const upstream = createUpstream(text, connections, attemptTimeout);
    const said = SKIPPED[this.#dns.resolver === null ? 'older' : 'present'];
    if (upstream === null) {
      log.error({}, said.malformed);
      return [];
    }
    const url = httpUrl(text.trim());
    const reserved = url === null ? null : reservedKind(hostOf(url));
    if (reserved === null) return [upstream];
    log.error({ upstream: upstream.label, reason: `it is at ${reserved}` }, said.reserved);
    return [];
  }

  #connections(connectTimeout: number, reserved: ConnectionsOptions['reserved']): Connections {
    return createConnections({
      outbound: this.#outbound,
      addressesOf: (host) => this.#lookup.addresses(host),
      connectTimeout,
      reserved,
      clock: this.#options.clock,
      ...(this.#options.ca && { ca: this.#options.ca }),
    });
  }

  #reportIgnored(): void {
    const { ignored } = this.#state.policy;
    if (ignored.length === 0) return;
    const place = this.#dns.resolver === null ? 'dns.custom_domains' : 'dns.rewrites';
    this.#options.log.warn({ ignored }, `${place}: entries without a name or address are ignored`);
  }

  /** Warns once about each setting that is on and that only servers act upon. */
  #reportUnserved(before: DnsConfig | null): void {
    const already =
      before === null || !before.enabled ? new Set() : new Set(unserved(before).map(({ place }) => place));
    if (!this.#dns.enabled) return;
    for (const { place, instead } of unserved(this.#dns)) {
      if (!already.has(place)) this.#options.log.warn({}, `dns.${place} is kept in the file, but Keyway ${instead}`);
    }
  }

  /** Makes lists and sockets follow the settings. */
  async #follow(): Promise<void> {
    const { enabled, bind, localPort } = this.#dns;
    const isOn = enabled && this.#phase !== 'closed';
    if (!isOn) {
      clearTimeout(this.#refreshTimer);
      await this.#listener.close();
    }
    if (this.#phase === 'closed') return;
    const urls = this.#urls();
    const listed = JSON.stringify([isOn, this.#dns.resolver === null, urls]);
    const changed = listed !== this.#listed;
    this.#listed = listed;
    // The stored lists are in force from the first answer on, even without a network, and for tests of names while the
    // resolver is off.
    if (changed) await this.#blocklists.restore(urls);
    if (isOn) await this.#listener.listen(bind, localPort);
    if (isOn && changed) void this.#startRefresh();
  }

  async #startRefresh(): Promise<void> {
    clearTimeout(this.#refreshTimer);
    const urls = this.#urls();
    if (urls.length === 0) return;
    const own = this.#connections(LIST_CONNECT_MS, reservedKind);
    const redirected = this.#connections(LIST_CONNECT_MS, reservedForRedirects);
    await this.#blocklists.refresh(urls, { own, redirected });
    await Promise.all([own.destroy(), redirected.destroy()]);
    this.#scheduleRefresh();
  }

  #scheduleRefresh(): void {
    if (this.#phase !== 'running' || !this.#dns.enabled) return;
    clearTimeout(this.#refreshTimer);
    const regular = Math.min(Math.max(this.#settings.updateIntervalHours, 1), MOST_HOURS) * HOUR_MS;
    const failed = this.#blocklists.states().some(({ error, skipped }) => error !== null && !skipped);
    const wait = failed ? Math.min(regular, FAILED_REFRESH_MS) : regular;
    this.#refreshTimer = setTimeout(() => void this.#startRefresh(), wait).unref();
  }
}

function atMost(wanted: bigint, most: number): number {
  return wanted > most ? most : Number(wanted);
}

/** The words about an upstream that is not asked, by the form of the settings. */
const SKIPPED = {
  older: {
    malformed: 'dns.doh_upstream: expected an http or https URL; nothing is forwarded',
    reserved: 'dns.doh_upstream is skipped; nothing is forwarded',
  },
  present: {
    malformed:
      'dns.upstreams: expected https://host/path, tls://host, tcp://address, udp://address or an address; one is skipped',
    reserved: 'an upstream of dns.upstreams is skipped',
  },
} as const;

const NOT_FETCHED = 'it was not fetched';

/** Lists the settings that are on and that this resolver does not act upon. */
function unserved(dns: DnsConfig): readonly { readonly place: string; readonly instead: string }[] {
  const { safeSearch, blockedServices } = resolverSettings(dns);
  return [
    ...(dns.interceptAllPort53
      ? [{ place: 'intercept_all_port53', instead: 'does not intercept: clients must ask it' }]
      : []),
    ...(safeSearch ? [{ place: 'safe_search', instead: 'has no safe search: names are answered as they are' }] : []),
    ...(blockedServices.length > 0
      ? [{ place: 'blocked_services', instead: 'knows no services: block their names by rules' }]
      : []),
  ];
}

import { type Audit, createAudit } from './audit.js';
import type { Backend, ConfigurationFingerprint, ConfigurationPatch, StateCounts, StateSums } from './backend.js';
import { engineSettings, inFormOf, resolverSettings } from './dns-settings.js';
import { DomainError, isInMemory } from './errors.js';
import { createKeyOperations, type KeyOperations } from './keys/operations.js';
import type { KeyReader } from './keys/types.js';
import { type MaybeAsync, mapMaybeAsync } from './maybe-async.js';
import type { DnsChange, DnsConfig, DnsQuery, KeySnapshot, OutboundRule, Published } from './model.js';
import type { ClockPort, RandomPort, ResolverPort } from './ports.js';

/** Ports and options of the core. */
export interface CoreOptions {
  /** Open, with everything loaded. */
  readonly backend: Backend;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly resolver: ResolverPort;
  /** The DNS settings count as servers from 0.4.6 on read them, because a revision of theirs is served; false when left out. */
  readonly readsDnsAsEngine?: boolean;
}

/**
 * The hub: every operation of the management API in the domain's own terms, whatever the revision that asks and wherever the
 * state lives. Reads answer at once, in the same turn of the event loop, unless the backend has live ones.
 */
export interface Core extends KeyOperations {
  readonly keys: KeyReader;
  readonly audit: Audit;
  readonly resolver: ResolverPort;
  /** Undefined for an unknown key. */
  key(accessKey: string): MaybeAsync<KeySnapshot | undefined>;
  /** Returns a key as last known, for its subscription; undefined for an unknown one. */
  subscriber(accessKey: string): MaybeAsync<KeySnapshot | undefined>;
  /** Asks for keys that are not known here, for somebody who shows no credential; null where all are known. */
  readonly lookForKeys: (() => MaybeAsync<void>) | null;
  /** Tells where clients find the server and their subscriptions. Rejects with a `DomainError` where that cannot be told. */
  published(): MaybeAsync<Published>;
  /** Tells whether subscriptions name the server's own resolver, as last known. */
  hasOwnDns(): boolean;
  /** Awaited before `keys` are given out as a list. */
  freshenKeys(): MaybeAsync<void>;
  /** For how long what was freshened in vain has been known, ms; null where it is fresh. */
  staleKeys(): number | null;
  status(): MaybeAsync<ServerStatus>;
  /** Rejects with `noConfigPath` where there is no configuration, and as the backend's document does. */
  readConfig(): Promise<readonly Buffer[]>;
  replaceConfig(body: Buffer): Promise<void>;
  /** Rejects with `noConfigPath`, and as the backend's document does. */
  patchConfig(patch: ConfigurationPatch): Promise<ConfigurationFingerprint>;
  /** Empty when outbound routing is not configured. */
  rules(): MaybeAsync<readonly OutboundRule[]>;
  /** Rejects with `outboundNotConfigured`. */
  replaceRules(rules: readonly OutboundRule[]): Promise<void>;
  dns(): MaybeAsync<DnsConfig>;
  /** Replaces the named members, and starts a refresh of the blocklists where there are any. Rejects as `Backend.changeDns` does. */
  changeDns(change: DnsChange): Promise<void>;
  /** The query log, oldest first. */
  queries(): MaybeAsync<readonly DnsQuery[]>;
  /** Starts a refresh of the blocklists in the background. */
  refreshBlocklists(): MaybeAsync<void>;
}

/** Protocol: "Server status", but for the version. */
export interface ServerStatus extends StateCounts {
  /** Whole seconds since the API started. */
  readonly uptimeSeconds: number;
  /** Left out where those over `keys` are right. */
  readonly sums?: StateSums;
}

/** Creates the hub over a backend. */
export function createCore({ backend, clock, random, resolver, readsDnsAsEngine = false }: CoreOptions): Core {
  const { keys, live, replica } = backend;
  const startedAt = clock.monotonic();
  const uptimeSeconds = () => Math.floor((clock.monotonic() - startedAt) / 1000);
  // What servers from 0.4.6 on make of the older form is their settings in the newer one.
  const inForce = (dns: DnsConfig): DnsConfig => (readsDnsAsEngine ? { ...dns, resolver: engineSettings(dns) } : dns);
  const configureResolver = (): void => {
    const { dns, outbound } = backend.settings();
    resolver.configure(inForce(dns), outbound);
  };
  configureResolver();
  backend.onChange(configureResolver);

  const key = live === null ? (accessKey: string) => keys.get(accessKey) : live.key;
  const document = () => {
    if (backend.document === null) throw new DomainError('noConfigPath');
    return backend.document;
  };

  return {
    ...createKeyOperations(backend, random),
    keys,
    audit: backend.audit ?? createAudit(clock, random),
    resolver,
    key,
    subscriber: replica === null ? key : replica.find,
    lookForKeys: replica?.lookForKeys ?? null,
    published: () => mapMaybeAsync(replica?.learnPublished(), () => backend.settings().published),
    hasOwnDns() {
      const { told, dns } = backend.settings();
      return told?.ownDns ?? dns.enabled;
    },
    staleKeys: () => replica?.stale() ?? null,
    freshenKeys: replica === null ? () => undefined : replica.freshen,
    status:
      live === null
        ? () => ({ active: keys.active, total: keys.size, uptimeSeconds: uptimeSeconds() })
        : () =>
            mapMaybeAsync(live.status(), (status) => ({
              ...status,
              uptimeSeconds: status.uptimeSeconds ?? uptimeSeconds(),
            })),
    readConfig: async () => document().read(),
    replaceConfig: async (body) => document().replace(body),
    patchConfig: async (patch) => document().patch(patch),
    rules: live === null ? () => backend.settings().outbound?.rules ?? [] : live.rules,
    replaceRules: backend.replaceRules,
    dns: live === null ? () => backend.settings().dns : live.dns,
    async changeDns(change) {
      const refresh = (): void => {
        const { dns } = backend.settings();
        if (dns.enabled && resolverSettings(inForce(dns)).lists.some(({ enabled }) => enabled))
          resolver.refreshBlocklists();
      };
      try {
        // Of what is there now: where others hold it, settings are as last seen.
        await mapMaybeAsync(live === null ? backend.settings().dns : live.dns(), (present) =>
          backend.changeDns(inFormOf(present, change)),
        );
      } catch (error) {
        if (isInMemory(error)) refresh();
        throw error;
      }
      refresh();
    },
    queries: live?.queries ?? (() => resolver.queries()),
    refreshBlocklists: backend.refreshBlocklists ?? (() => resolver.refreshBlocklists()),
  };
}

import { type Audit, createAudit } from './audit.js';
import type {
  Backend,
  ConfigurationFingerprint,
  ConfigurationPatch,
  ConfigurationVersions,
  StateCounts,
  StateSums,
} from './backend.js';
import { engineSettings, inFormOf, resolverSettings } from './dns-settings.js';
import { DomainError, isInMemory } from './errors.js';
import { createKeyOperations, type KeyOperations } from './keys/operations.js';
import type { KeyReader } from './keys/types.js';
import { andThen, type MaybeAsync } from './maybe-async.js';
import type { DnsChange, DnsConfig, DnsQuery, KeySnapshot, OutboundRule, Published } from './model.js';
import type { ClockPort, RandomPort, ResolverPort } from './ports.js';

/** Ports and options of the core. */
export interface CoreOptions {
  /** Open, with everything loaded. */
  readonly backend: Backend;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly resolver: ResolverPort;
  /** Reads the DNS settings as servers from 0.4.6 on do, because a revision of theirs is served; default false. */
  readonly readsDnsAsEngine?: boolean;
}

/**
 * The hub: every operation of the management API in the domain's own terms, whatever the revision that asks and
 * wherever the state lives. Reads answer at once, in the same turn of the event loop, unless the backend has live ones.
 */
export interface Core extends KeyOperations {
  readonly keys: KeyReader;
  readonly audit: Audit;
  readonly resolver: ResolverPort;
  /** Reads a key; undefined for an unknown one. */
  key(accessKey: string): MaybeAsync<KeySnapshot | undefined>;
  /** Returns a key as last known, for its subscription; undefined for an unknown one. */
  subscriber(accessKey: string): MaybeAsync<KeySnapshot | undefined>;
  /** Looks up unknown keys for callers without a credential; null if all keys are known. */
  readonly lookForKeys: (() => MaybeAsync<void>) | null;
  /**
   * Tells where clients find the server and their subscriptions. Rejects with a `DomainError` where that cannot be
   * told.
   */
  published(): MaybeAsync<Published>;
  /** Tells whether subscriptions name the server's own resolver, as last known. */
  hasOwnDns(): boolean;
  /** Awaited before `keys` are given out as a list. */
  freshenKeys(): MaybeAsync<void>;
  /** Returns the age of the keys after a failed refresh, ms; null if they are fresh. */
  staleKeys(): number | null;
  status(): MaybeAsync<ServerStatus>;
  /** Rejects with `noConfigPath` where there is no configuration, and as the backend's document does. */
  readConfig(): Promise<readonly Buffer[]>;
  replaceConfig(body: Buffer): Promise<void>;
  /** Rejects with `noConfigPath`, and as the backend's document does. */
  patchConfig(patch: ConfigurationPatch): Promise<ConfigurationFingerprint>;
  /** Throws `noConfigPath` where none are kept. */
  versions(): ConfigurationVersions;
  /** Empty when outbound routing is not configured. */
  rules(): MaybeAsync<readonly OutboundRule[]>;
  /** Rejects with `outboundNotConfigured`. */
  replaceRules(rules: readonly OutboundRule[]): Promise<void>;
  dns(): MaybeAsync<DnsConfig>;
  /**
   * Replaces the named members, and starts a refresh of the blocklists where there are any. A function makes the change out of the
   * settings in force, in the turn in which they are changed. Rejects as `Backend.changeDns` and the function do.
   */
  changeDns(change: DnsChange | ((inForce: DnsConfig) => DnsChange)): Promise<void>;
  /** The query log, oldest first. */
  queries(): MaybeAsync<readonly DnsQuery[]>;
  /** Starts a refresh of the blocklists in the background. */
  refreshBlocklists(): MaybeAsync<void>;
}

/** Protocol: "Server status", but for the version. */
export interface ServerStatus extends StateCounts {
  /** Whole seconds since the API started. */
  readonly uptimeSeconds: number;
  /** Left out if the counts over `keys` are right. */
  readonly sums?: StateSums;
}

/** Creates the hub over a backend. */
export function createCore({ backend, clock, random, resolver, readsDnsAsEngine = false }: CoreOptions): Core {
  const { keys, live, replica } = backend;
  const startedAt = clock.monotonic();
  const uptimeSeconds = () => Math.floor((clock.monotonic() - startedAt) / 1000);
  // A section of the older form counts as servers from 0.4.6 on read it.
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
    published() {
      return andThen(replica?.learnPublished(), () => backend.settings().published);
    },
    hasOwnDns() {
      const { told, dns } = backend.settings();
      return told?.ownDns ?? dns.enabled;
    },
    staleKeys: () => replica?.stale() ?? null,
    freshenKeys: replica === null ? () => undefined : replica.freshen,
    status:
      live === null
        ? () => ({ active: keys.active, total: keys.size, uptimeSeconds: uptimeSeconds() })
        : async () => {
            const status = await live.status();
            return { ...status, uptimeSeconds: status.uptimeSeconds ?? uptimeSeconds() };
          },
    readConfig: async () => document().read(),
    replaceConfig: async (body) => document().replace(body),
    patchConfig: async (patch) => document().patch(patch),
    versions() {
      const { versions } = document();
      if (versions === null) throw new DomainError('noConfigPath');
      return versions;
    },
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
        // In the same turn as the check; settings that are held elsewhere are as last seen.
        const held = live === null ? backend.settings().dns : live.dns();
        const present = held instanceof Promise ? await held : held;
        const wanted = typeof change === 'function' ? change(inForce(present)) : change;
        await backend.changeDns(inFormOf(present, wanted));
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

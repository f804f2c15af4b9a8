import { type Audit, createAudit } from './audit.js';
import type { CountersPort } from '../local/counters/counters-port.js';
import { DomainError } from './errors.js';
import { createKeyChanges, type KeyChanges, leavingFailureToNextWrite } from './keys/changes.js';
import { createKeyRegistry } from './keys/registry.js';
import type { KeyRegistry } from './keys/types.js';
import {
  type ConfigurationChange,
  DEFAULT_DNS,
  type DnsChange,
  type DnsConfig,
  type OutboundRule,
  type OutboundSettings,
  type ServerConfiguration,
} from './model.js';
import type { ClockPort, ConfigurationPort, RandomPort, ResolverPort } from './ports.js';
import { createReplacements, type Replacements } from '../local/counters/replacements.js';

/** What the core needs from outside. A null `configuration` is the spec's run-time-only mode. */
export interface CoreOptions {
  readonly configuration: ConfigurationPort | null;
  readonly initial: ServerConfiguration | null;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly resolver: ResolverPort;
  /** Default: an empty registry that keeps nothing beyond the process. */
  readonly keys?: KeyRegistry;
  /** Where the registry's counters are kept; null for nowhere, which is the default. */
  readonly counters?: CountersPort | null;
  /** Those that the store follows; default: none yet, and nothing follows them. */
  readonly replacements?: Replacements;
}

/** The hub: every operation of the management API in the domain's own terms, whatever the revision that asks. */
export interface Core extends KeyChanges {
  readonly keys: KeyRegistry;
  readonly audit: Audit;
  readonly resolver: ResolverPort;
  /** Whole seconds since the API started. */
  uptimeSeconds(): number;
  readConfig(): Promise<Buffer>;
  replaceConfig(body: Buffer): Promise<void>;
  /** Empty when outbound routing is not configured. */
  rules(): readonly OutboundRule[];
  /** Rejects with `outboundNotConfigured`; a failed write is left to the next one. */
  replaceRules(rules: readonly OutboundRule[]): Promise<void>;
  dns(): DnsConfig;
  /** Replaces the named members; a failed write is left to the next one. */
  changeDns(change: DnsChange): Promise<void>;
}

/** Creates the hub over an already loaded configuration. */
export function createCore(options: CoreOptions): Core {
  const { clock, configuration, random, resolver } = options;
  const keys = options.keys ?? createKeyRegistry(() => clock.now());
  const replacements = options.replacements ?? createReplacements();
  const startedAt = clock.monotonic();
  let outbound: OutboundSettings | null = null;
  let dns: DnsConfig = DEFAULT_DNS;

  function adopt(next: ServerConfiguration): void {
    keys.replaceAll(next.keys);
    outbound = next.outbound;
    dns = next.dns;
    resolver.configure(dns, outbound);
  }

  if (options.initial !== null) adopt(options.initial);
  else keys.replaceAll([]);
  configuration?.onReload(adopt);

  const save = async (change: ConfigurationChange): Promise<void> => configuration?.save(change);
  const file = (): ConfigurationPort => {
    if (configuration === null) throw new DomainError('noConfigPath');
    return configuration;
  };

  return {
    ...createKeyChanges({ keys, replacements, configuration, counters: options.counters ?? null, random }),
    keys,
    audit: createAudit(clock, random),
    resolver,
    uptimeSeconds: () => Math.floor((clock.monotonic() - startedAt) / 1000),
    readConfig: async () => file().readAsJson(),
    replaceConfig: async (body) => file().replace(body),
    rules: () => outbound?.rules ?? [],
    async replaceRules(rules) {
      if (outbound === null) throw new DomainError('outboundNotConfigured');
      outbound = { ...outbound, rules };
      resolver.configure(dns, outbound);
      await leavingFailureToNextWrite(save({ rules }));
    },
    dns: () => dns,
    async changeDns(change) {
      dns = { ...dns, ...change };
      resolver.configure(dns, outbound);
      const saved = leavingFailureToNextWrite(save({ dns: change }));
      if (dns.enabled && dns.adblockUrls.length > 0) resolver.refreshBlocklists();
      await saved;
    },
  };
}

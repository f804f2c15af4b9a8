import { type Audit, createAudit } from './audit.js';
import type { CountersPort } from './counters-port.js';
import { DomainError } from './errors.js';
import { createKeyRegistry, type KeyRegistry } from './keys.js';
import {
  type AccessKey,
  type ConfigurationChange,
  DEFAULT_DNS,
  type DnsChange,
  type DnsConfig,
  type OutboundRule,
  type OutboundSettings,
  type ServerConfiguration,
} from './model.js';
import type { ClockPort, ConfigurationPort, RandomPort, ResolverPort } from './ports.js';

/** Spec, "Limits": bulk key creation count. */
export const MAX_BULK_COUNT = 1000n;

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
}

/** The hub: every operation of the management API in the domain's own terms, whatever the revision that asks. */
export interface Core {
  readonly keys: KeyRegistry;
  readonly audit: Audit;
  readonly resolver: ResolverPort;
  /** Whole seconds since the API started. */
  uptimeSeconds(): number;
  /** Generates the key when none is given. Rejects with `saveFailed` after the change took effect in memory. */
  createUser(key: { accessKey: string | null; name: string | null; limitBytes: bigint | null }): Promise<string>;
  /** Rejects with `countTooLarge`; a failed write is left to the next one. */
  bulkCreateUsers(count: bigint, limitBytes: bigint | null): Promise<readonly string[]>;
  /** Rejects with `userNotFound`, or `saveFailed` after the change. */
  updateUser(key: AccessKey): Promise<void>;
  setLimit(accessKey: string, limitBytes: bigint | null): Promise<void>;
  deleteUser(accessKey: string): Promise<void>;
  /** Rejects with `userNotFound` for an unknown key and for one without counters, with `saveFailed` after the change. */
  resetUser(accessKey: string): Promise<void>;
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
  const saveKey = (accessKey: string, record: AccessKey | null): Promise<void> =>
    save({ keys: new Map([[accessKey, record]]) });
  const file = (): ConfigurationPort => {
    if (configuration === null) throw new DomainError('noConfigPath');
    return configuration;
  };

  /** What an answer says of counters must not come undone by a crash. */
  async function keepCounters(): Promise<void> {
    try {
      await options.counters?.flush();
    } catch (cause) {
      throw new DomainError('saveFailed', cause instanceof Error ? cause.message : '');
    }
  }

  async function updateUser(key: AccessKey): Promise<void> {
    if (!keys.update(key)) throw new DomainError('userNotFound');
    await saveKey(key.accessKey, key);
  }

  return {
    keys,
    audit: createAudit(clock, random),
    resolver,
    uptimeSeconds: () => Math.floor((clock.monotonic() - startedAt) / 1000),
    async createUser({ accessKey, name, limitBytes }) {
      const key: AccessKey = { accessKey: accessKey ?? random.bytes(16).toString('hex'), name, limitBytes };
      const hadCounters = keys.kept(key.accessKey) !== null;
      keys.create(key);
      await both(saveKey(key.accessKey, key), hadCounters ? keepCounters() : null);
      return key.accessKey;
    },
    async bulkCreateUsers(count, limitBytes) {
      if (count > MAX_BULK_COUNT) throw new DomainError('countTooLarge');
      const made = new Map<string, AccessKey>();
      while (made.size < count) {
        const accessKey = random.bytes(8).toString('hex');
        if (keys.get(accessKey) === undefined) made.set(accessKey, { accessKey, name: null, limitBytes });
      }
      for (const key of made.values()) keys.createWithoutCounters(key);
      if (made.size > 0) await leavingFailureToNextWrite(save({ keys: made }));
      return [...made.keys()];
    },
    updateUser,
    async setLimit(accessKey, limitBytes) {
      await updateUser({ accessKey, name: keys.get(accessKey)?.name ?? null, limitBytes });
    },
    async deleteUser(accessKey) {
      // A crash must not leave the key in the file without its counters: these go once the file is written.
      if (!keys.setAside(accessKey)) throw new DomainError('userNotFound');
      await saveKey(accessKey, null);
      keys.forget(accessKey);
      await keepCounters();
    },
    async resetUser(accessKey) {
      if (!keys.reset(accessKey)) throw new DomainError('userNotFound');
      await keepCounters();
    },
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

/** Waits for both, also when the first fails. */
async function both(first: Promise<void>, second: Promise<void> | null): Promise<void> {
  const outcomes = await Promise.allSettled([first, second]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Where the spec has the answer ignore a write failure: the configuration port has logged it and keeps the change. */
async function leavingFailureToNextWrite(saved: Promise<void>): Promise<void> {
  try {
    await saved;
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'saveFailed')) throw error;
  }
}

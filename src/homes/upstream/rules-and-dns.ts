import { isDeepStrictEqual } from 'node:util';
import { inFormOf } from '../../core/dns-settings.js';
import { DomainError } from '../../core/errors.js';
import {
  DEFAULT_DNS,
  type DnsChange,
  type DnsConfig,
  type DnsQuery,
  type OutboundRule,
  type OutboundSettings,
  type ServerConfiguration,
} from '../../core/model.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { ConfigurationAccess } from './configuration.js';
import type { UpstreamContext } from './context.js';
import type { WriteQueue } from './write-queue.js';

export interface RulesAndDnsOptions extends UpstreamContext {
  readonly queue: WriteQueue;
  readonly configuration: Pick<ConfigurationAccess, 'read' | 'change'>;
  /** Awaited before settings are replaced. */
  readonly keepVersion: () => Promise<void>;
  /** Gives rules to a server that takes them. */
  readonly writeRules: (rules: readonly OutboundRule[]) => Promise<void>;
  /** Called where settings became others. */
  readonly onChange: () => void;
  /** Called for rules that the server has taken and does not store. */
  readonly onRules: (rules: readonly OutboundRule[]) => void;
}

/** Rules, DNS settings and queries of the server: by the endpoints of its line, else by its configuration. */
export function createRulesAndDns(options: RulesAndDnsOptions) {
  const { server, queue, configuration, keepVersion, writeRules, onChange, onRules } = options;
  let dns = DEFAULT_DNS;
  let outbound: OutboundSettings | null = null;

  const line = async (): Promise<Revision> => server.line() ?? server.find();

  function takeDns(change: DnsChange): DnsConfig {
    const before = dns;
    // A server of an older form says nothing of what that cannot say.
    dns = { ...dns, ...change, ...inFormOf(dns, change) };
    if (!isDeepStrictEqual(before, dns)) onChange();
    return dns;
  }

  function take(configured: ServerConfiguration): ServerConfiguration {
    outbound = configured.outbound;
    takeDns(configured.dns);
    return configured;
  }

  const read = async (): Promise<ServerConfiguration> => take((await configuration.read('caller')).value.configuration);

  async function readDns(): Promise<DnsConfig> {
    const { capabilities } = await line();
    if (capabilities.dns !== undefined) return takeDns((await server.dns()).value);
    if (capabilities.config === undefined) return dns;
    return (await read()).dns;
  }

  return {
    async rules(): Promise<readonly OutboundRule[]> {
      const { capabilities } = await line();
      if (capabilities.rules !== undefined) return (await server.rules()).value;
      if (capabilities.config === undefined) return [];
      return (await read()).outbound?.rules ?? [];
    },
    async replaceRules(rules: readonly OutboundRule[]): Promise<void> {
      const revision = await line();
      if (revision.capabilities.rules !== undefined) {
        await writeRules(rules);
        if (!revision.storing.storesRules) onRules(rules);
        return;
      }
      const isConfigured = revision.capabilities.config !== undefined && (await read()).outbound !== null;
      if (!isConfigured) throw new DomainError('outboundNotConfigured');
      take(await configuration.change({ rules }));
    },
    dns: readDns,
    async changeDns(change: DnsChange): Promise<void> {
      const { capabilities } = await line();
      if (capabilities.dns !== undefined) {
        const next = { ...takeDns((await server.dns()).value), ...change };
        await queue.take(async () => {
          await keepVersion();
          await server.putDns(next);
        });
        takeDns(next);
      } else if (capabilities.config !== undefined) take(await configuration.change({ dns: change }));
      // A line without a configuration has no DNS server: the settings are this gateway's.
      else takeDns(change);
    },
    async queries(): Promise<readonly DnsQuery[]> {
      const { capabilities } = await line();
      return capabilities.dns === undefined ? [] : (await server.queries()).value;
    },
    async refreshBlocklists(): Promise<void> {
      const { capabilities } = await line();
      if (capabilities.dns !== undefined) await server.refreshBlocklists();
    },
    /** Returns the DNS settings as last known. */
    knownDns: (): DnsConfig => dns,
    /** Returns the outbound settings as last known; null also where nobody has asked for what stands in the configuration. */
    knownOutbound: (): OutboundSettings | null => outbound,
    /** Takes in what became known of the DNS settings. */
    learn: takeDns,
    /** Takes rules and DNS settings from a configuration. */
    take,
    /** Reads them where the line has a configuration. */
    async load(): Promise<void> {
      if ((await line()).capabilities.config !== undefined) await read();
    },
  };
}

import type { ServerTexts } from '../../client/secrets.js';
import { recordBy, sameFields } from '../../core/keys/key-record.js';
import type {
  AccessKey,
  ConfigurationChange,
  DnsChange,
  OutboundRule,
  ResolverSettings,
  ServerConfiguration,
} from '../../core/model.js';
import type { KeyState } from './key-state.js';
import type { JournalEntry, WriteJournal } from './write-journal.js';

/**
 * Strikes Keyway's credentials from keys, rules and DNS settings of a server's configuration. Its listener stays: whom
 * the server lets in is what Keyway reads it for.
 */
export function struckConfiguration(
  configuration: ServerConfiguration,
  { struck }: Pick<ServerTexts, 'struck'>,
): ServerConfiguration {
  const { keys, outbound, dns, warnings } = configuration;
  return {
    ...configuration,
    keys: keys.map((key) => inKey(key, struck)),
    outbound: outbound && { ...outbound, address: struck(outbound.address), rules: inRules(outbound.rules, struck) },
    dns: { ...dns, ...inDns(dns, struck) },
    warnings: warnings.map(struck),
  };
}

/** A change of rules and DNS settings as a document is to have it, which has the server's own texts. Throws as `written` does. */
export function ownChange(change: ConfigurationChange, { written }: Pick<ServerTexts, 'written'>): ConfigurationChange {
  const { rules, dns } = change;
  return {
    ...change,
    ...(rules === undefined ? {} : { rules: inRules(rules, written) }),
    ...(dns === undefined ? {} : { dns: inDns(dns, written) }),
  };
}

type ChangeOfText = (text: string) => string;

function inRules(rules: readonly OutboundRule[], change: ChangeOfText): readonly OutboundRule[] {
  return rules.map((rule) => ({
    ...rule,
    domainSuffix: rule.domainSuffix.map(change),
    ipCidr: rule.ipCidr.map(change),
    protocol: rule.protocol === null ? null : change(rule.protocol),
    ...(rule.sendFrom == null ? {} : { sendFrom: change(rule.sendFrom) }),
  }));
}

function inDns(dns: DnsChange, change: ChangeOfText): DnsChange {
  const { dohUpstream, adblockUrls, customDomains, resolver } = dns;
  const inDomains = (domains: ReadonlyMap<string, string>) =>
    new Map([...domains].map(([name, address]) => [change(name), change(address)]));
  return {
    ...dns,
    ...(dohUpstream === undefined ? {} : { dohUpstream: change(dohUpstream) }),
    ...(adblockUrls === undefined ? {} : { adblockUrls: adblockUrls.map(change) }),
    ...(customDomains === undefined ? {} : { customDomains: inDomains(customDomains) }),
    ...(resolver && { resolver: inResolver(resolver, change) }),
  };
}

function inResolver(settings: ResolverSettings, change: ChangeOfText): ResolverSettings {
  const { upstreams, lists, allowlists, userRules, rewrites, blockedServices } = settings;
  const inLists = (of: ResolverSettings['lists']) =>
    of.map(({ name, url, enabled }) => ({ name: change(name), url: change(url), enabled }));
  return {
    ...settings,
    upstreams: upstreams.map(change),
    lists: inLists(lists),
    allowlists: inLists(allowlists),
    userRules: userRules.map(change),
    rewrites: rewrites.map(({ domain, answer }) => ({ domain: change(domain), answer: change(answer) })),
    blockedServices: blockedServices.map(change),
  };
}

/** A key with each of its texts changed; the same object where none becomes another. */
export function inKey(key: AccessKey, change: (text: string) => string): AccessKey {
  const accessKey = change(key.accessKey);
  const record = recordBy(accessKey, ({ name }) => {
    const value = key[name];
    return typeof value === 'string' ? change(value) : value;
  });
  return accessKey === key.accessKey && sameFields(key, record) ? key : { ...key, ...record };
}

/**
 * Notes that hold the server's own texts on the disk: they outlive what is remembered of those, and who restores a
 * configuration from them needs no server.
 */
export function withOwnTexts(
  journal: WriteJournal,
  { own, struck }: Pick<ServerTexts, 'own' | 'struck'>,
): WriteJournal {
  return {
    ...journal,
    found: journal.found.map((entry) => inEntry(entry, struck)),
    keep: (kept) => journal.keep(kept.map((entry) => inEntry(entry, own))),
    drop: (accessKeys) => journal.drop(accessKeys.map(own)),
  };
}

function inEntry(entry: JournalEntry, change: ChangeOfText): JournalEntry {
  const inState = (state: KeyState) => (state === null ? null : inKey(state, change));
  return {
    ...entry,
    accessKey: change(entry.accessKey),
    after: inState(entry.after),
    previousStates: entry.previousStates.map(inState),
  };
}

import { sameFields } from '../../../core/keys/key-record.js';
import type { AccessKey, ConfigurationChange, ServerConfiguration } from '../../../core/model.js';

/** Both changes as one, the newer winning per key, for the rules, and per DNS member. */
export function mergeChanges(older: ConfigurationChange, newer: ConfigurationChange): ConfigurationChange {
  const keys = older.keys && newer.keys ? new Map([...older.keys, ...newer.keys]) : (newer.keys ?? older.keys);
  const rules = newer.rules ?? older.rules;
  const dns = older.dns && newer.dns ? { ...older.dns, ...newer.dns } : (newer.dns ?? older.dns);
  return { ...(keys && { keys }), ...(rules && { rules }), ...(dns && { dns }) };
}

/** The number of things that a change changes: its keys, the rules, the DNS settings. */
export function changeCount(change: ConfigurationChange): number {
  return (change.keys?.size ?? 0) + (change.rules ? 1 : 0) + (change.dns ? 1 : 0);
}

/** The configuration as it is once the change is made to it; what the file becomes, without the file. */
export function layOver(configuration: ServerConfiguration, change: ConfigurationChange): ServerConfiguration {
  const { outbound } = configuration;
  return {
    ...configuration,
    keys: change.keys && change.keys.size > 0 ? layKeysOver(configuration.keys, change.keys) : configuration.keys,
    // Rules of a configuration without outbound routing have no place to stand.
    outbound: outbound && change.rules ? { ...outbound, rules: change.rules } : outbound,
    dns: change.dns ? { ...configuration.dns, ...change.dns } : configuration.dns,
  };
}

function layKeysOver(keys: readonly AccessKey[], changes: ReadonlyMap<string, AccessKey | null>): readonly AccessKey[] {
  const added = new Map(changes);
  const result: AccessKey[] = [];
  for (const key of keys) {
    const change = changes.get(key.accessKey);
    added.delete(key.accessKey);
    if (change === undefined) result.push(key);
    else if (change !== null) result.push(change);
  }
  for (const key of added.values()) if (key !== null) result.push(key);
  return result;
}

/** The changes that make one configuration of the other, and back, as far as changes can say it. */
export function differences(
  before: ServerConfiguration,
  after: ServerConfiguration,
): { readonly former: ConfigurationChange; readonly written: ConfigurationChange } {
  const had = new Map(before.keys.map((key) => [key.accessKey, key]));
  const [former, written] = [new Map<string, AccessKey | null>(), new Map<string, AccessKey | null>()];
  for (const key of after.keys) {
    const { accessKey } = key;
    const record = had.get(accessKey);
    had.delete(accessKey);
    if (record !== undefined && sameFields(record, key)) continue;
    former.set(accessKey, record ?? null);
    written.set(accessKey, key);
  }
  for (const [accessKey, record] of had) {
    former.set(accessKey, record);
    written.set(accessKey, null);
  }
  const of = (
    keys: ReadonlyMap<string, AccessKey | null>,
    { outbound, dns }: ServerConfiguration,
  ): ConfigurationChange => ({
    keys,
    ...(before.outbound && after.outbound && outbound && { rules: outbound.rules }),
    dns,
  });
  return { former: of(former, before), written: of(written, after) };
}

export function removedKeys(before: ServerConfiguration, after: ServerConfiguration): number {
  const left = new Set(after.keys.map((key) => key.accessKey));
  return before.keys.reduce((count, key) => (left.has(key.accessKey) ? count : count + 1), 0);
}

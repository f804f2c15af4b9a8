import { sameFields } from '../../core/keys/key-record.js';
import type { AccessKey, ConfigurationChange, ServerConfiguration } from '../../core/model.js';

/** Both changes as one, the newer winning per key, for the rules, and per DNS member. */
export function mergeChanges(older: ConfigurationChange, newer: ConfigurationChange): ConfigurationChange {
  const keys = older.keys && newer.keys ? new Map([...older.keys, ...newer.keys]) : (newer.keys ?? older.keys);
  const rules = newer.rules ?? older.rules;
  const dns = older.dns && newer.dns ? { ...older.dns, ...newer.dns } : (newer.dns ?? older.dns);
  return { ...(keys && { keys }), ...(rules && { rules }), ...(dns && { dns }) };
}

/** How many things a change changes: its keys, the rules, the DNS settings. */
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

/** What makes the one configuration of the other, and back, as far as changes can say it. */
export function differences(
  before: ServerConfiguration,
  after: ServerConfiguration,
): { readonly former: ConfigurationChange; readonly written: ConfigurationChange } {
  const [had, has] = [recordsByKey(before), recordsByKey(after)];
  const keys = [...new Set([...had.keys(), ...has.keys()])].filter((key) => {
    const [a, b] = [had.get(key), has.get(key)];
    return a === undefined || b === undefined || !sameFields(a, b);
  });
  const of = (records: ReadonlyMap<string, AccessKey>, { outbound, dns }: ServerConfiguration): ConfigurationChange => {
    const changed = new Map(keys.map((key) => [key, records.get(key) ?? null]));
    return { keys: changed, ...(before.outbound && after.outbound && outbound && { rules: outbound.rules }), dns };
  };
  return { former: of(had, before), written: of(has, after) };
}

function recordsByKey({ keys }: ServerConfiguration): ReadonlyMap<string, AccessKey> {
  return new Map(keys.map((key) => [key.accessKey, key]));
}

/** How many keys of `before` are gone in `after`. */
export function removedKeys(before: ServerConfiguration, after: ServerConfiguration): number {
  const left = new Set(after.keys.map((key) => key.accessKey));
  return before.keys.reduce((count, key) => (left.has(key.accessKey) ? count : count + 1), 0);
}

import { isDeepStrictEqual } from 'node:util';
import { OLDER_MEMBERS } from '../../../core/dns-settings.js';
import type { KeyFieldName } from '../../../core/keys/key-fields.js';
import { recordBy } from '../../../core/keys/key-record.js';
import type {
  AccessKey,
  ConfigurationChange,
  DnsConfig,
  OutboundRule,
  ServerConfiguration,
} from '../../../core/model.js';

/** The parts of a configuration that changes are about. */
export type FoundValues = Pick<ServerConfiguration, 'keys' | 'outbound' | 'dns'>;

/** Values by name: records by access keys, DNS settings by members, and the rules, which have no name. */
type ByName<T> = Readonly<Record<'keys' | 'dns' | 'rules', Map<string, T>>>;

/** The record of a key, null where there is none; one DNS setting; or the rules, undefined where nothing can have any. */
type Value = AccessKey | null | undefined | DnsConfig[keyof DnsConfig] | readonly OutboundRule[];

/** A written value, and those that stood there before it. */
interface UnconfirmedValue {
  readonly written: Value;
  readonly previous: readonly PreviousValue[];
}

interface PreviousValue {
  readonly value: Value;
  /** The last time at which a server may write it out of its memory, on the clock of `now`. */
  readonly until: number;
}

/**
 * Changes of the file that are unconfirmed: a server beside Keyway may not have read them yet, and until it has, each of its
 * own writes reverts them (design: "Beside a server that writes its file").
 */
export class UnconfirmedChanges {
  readonly #now: () => number;
  readonly #milliseconds: number;
  /** In the order of their last changes. */
  readonly #values: ByName<UnconfirmedValue> = noValues();

  /** Milliseconds of `now` for which changes are unconfirmed; 0 for never. */
  constructor(now: () => number, milliseconds: number) {
    this.#now = now;
    this.#milliseconds = milliseconds;
  }

  /** Records that the file holds `written` since then, where it held `former`: two changes of the same things. */
  record(former: ConfigurationChange, written: ConfigurationChange, at = this.#now()): void {
    if (this.#milliseconds === 0) return;
    this.#forgetRead(at);
    // Those that its settings stand for are not to come back beside them.
    if (written.dns?.resolver) for (const member of OLDER_MEMBERS) this.#values.dns.delete(member);
    const before = valuesOf(former);
    for (const [kind, name, value] of each(valuesOf(written))) {
      const known = this.#values[kind].get(name);
      this.#values[kind].delete(name);
      if (!before[kind].has(name)) continue;
      const next = this.#extended(known, before[kind].get(name), value, at + this.#milliseconds);
      if (next !== null) this.#values[kind].set(name, next);
    }
  }

  /**
   * Finds the changes that another program's write at that time has reverted, to be made again: where the file is exactly what
   * it was before a change that nobody need have read. Any other value is somebody's change, and its own is forgotten.
   */
  findReverted(found: FoundValues, at = this.#now()): ConfigurationChange {
    this.#forgetRead(at);
    const reverted = noValues<Value>();
    for (const { kind, name, wanted, isReverted } of this.#differing(found, at)) {
      if (isReverted) reverted[kind].set(name, wanted);
      else this.#values[kind].delete(name);
    }
    return changeOf(reverted);
  }

  /**
   * Returns what the file holds of the things that were changed where that is neither what was written nor what a server reverts
   * to: somebody's change, or Keyway's own that it was killed too early to record. To be recorded as what it was and is.
   */
  findSuperseded(found: FoundValues, at: number): ConfigurationChange {
    this.#forgetRead(at);
    const superseded = noValues<Value>();
    for (const { kind, name, value, isReverted } of this.#differing(found, at))
      if (!isReverted) superseded[kind].set(name, value);
    return changeOf(superseded);
  }

  deleted(): readonly string[] {
    return [...this.#values.keys].flatMap(([accessKey, { written }]) => (written === null ? [accessKey] : []));
  }

  /** Forgets what has been read by then: where others change all the time, all of it never has. */
  #forgetRead(at: number): void {
    for (const values of Object.values(this.#values))
      for (const [name, { previous }] of values) {
        if ((previous.at(-1)?.until ?? at) >= at) break;
        values.delete(name);
      }
  }

  /** A value with one more before it; null where nothing has changed, or somebody's stands in place of what was written. */
  #extended(
    known: UnconfirmedValue | undefined,
    former: Value,
    written: Value,
    until: number,
  ): UnconfirmedValue | null {
    const present = (known?.previous ?? []).filter((one) => one.until >= until - this.#milliseconds);
    if (isDeepStrictEqual(former, written)) {
      const isOwn = present.length > 0 && isDeepStrictEqual(known?.written, written);
      return isOwn ? { written, previous: present } : null;
    }
    const others = present.filter(({ value }) => !isDeepStrictEqual(value, former));
    return { written, previous: [...others, { value: former, until }] };
  }

  /** The changed things of which the file holds another value than was written, and the value that they are to have. */
  #differing(found: FoundValues, at: number) {
    const present = valuesFound(found, this.#values);
    return [...each(this.#values)].flatMap(([kind, name, { written, previous }]) => {
      const value = present[kind].get(name);
      if (isDeepStrictEqual(value, written)) return [];
      const alive = previous.filter(({ until }) => at <= until).map((one) => one.value);
      const wanted = merged(value, written, alive);
      return [{ kind, name, value, wanted, isReverted: !isDeepStrictEqual(value, wanted) }];
    });
  }
}

/** Returns the part of a change that the file holds as it was to be written. */
export function presentPart(change: ConfigurationChange, found: FoundValues): ConfigurationChange {
  const written = valuesOf(change);
  const present = valuesFound(found, written);
  for (const [kind, name, value] of each(written))
    if (!isDeepStrictEqual(present[kind].get(name), value)) written[kind].delete(name);
  return changeOf(written);
}

function noValues<T>(): ByName<T> {
  return { keys: new Map(), dns: new Map(), rules: new Map() };
}

function* each<T>({ keys, dns, rules }: ByName<T>) {
  for (const [name, value] of keys) yield ['keys', name, value] as const;
  for (const [name, value] of dns) yield ['dns', name, value] as const;
  for (const [name, value] of rules) yield ['rules', name, value] as const;
}

function valuesOf({ keys, rules, dns = {} }: ConfigurationChange): ByName<Value> {
  return { keys: new Map(keys), dns: new Map(Object.entries(dns)), rules: new Map(rules && [['', asRead(rules)]]) };
}

/** The values of the file, of keys those alone that are asked for. */
function valuesFound({ keys, outbound, dns }: FoundValues, { keys: asked }: ByName<unknown>): ByName<Value> {
  const values = valuesOf({ dns, ...(outbound && { rules: outbound.rules }) });
  for (const accessKey of asked.keys()) values.keys.set(accessKey, null);
  for (const key of keys) if (asked.has(key.accessKey)) values.keys.set(key.accessKey, key);
  return values;
}

function changeOf({ keys, dns, rules }: ByName<Value>): ConfigurationChange {
  const found = rules.get('') as readonly OutboundRule[] | undefined; // Nothing else stands there.
  return {
    ...(keys.size > 0 && { keys: new Map([...keys].map(([key, record]) => [key, isRecord(record) ? record : null])) }),
    ...(found && { rules: found }),
    ...(dns.size > 0 && { dns: Object.fromEntries(dns) }),
  };
}

function isRecord(value: Value): value is AccessKey {
  return typeof value === 'object' && value !== null && 'accessKey' in value;
}

/** Returns the written value over a previous one, the found one over anything else; of a record column by column. */
function merged(found: Value, written: Value, previous: readonly Value[]): Value {
  if (!isRecord(found) || !isRecord(written))
    return previous.some((one) => isDeepStrictEqual(one, found)) ? written : found;
  const isFormer = (name: KeyFieldName) => previous.some((one) => isRecord(one) && one[name] === found[name]);
  return recordBy(found.accessKey, ({ name }) => (isFormer(name) ? written : found)[name]);
}

/** Rules as a file is read, where null is as good as nothing. */
function asRead(rules: readonly OutboundRule[]): readonly OutboundRule[] {
  return rules.map(({ sendFrom, ...rule }) => (sendFrom == null ? rule : { ...rule, sendFrom }));
}

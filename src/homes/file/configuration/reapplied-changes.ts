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

/** A written value, and the values that stood there before it, each until the time by which nobody believes in it any more. */
interface Chain<T> {
  readonly written: T;
  readonly formers: readonly Former<T>[];
}

interface Former<T> {
  readonly value: T;
  /** On the clock of `now`. */
  readonly until: number;
}

type Record = AccessKey | null;

/**
 * Changes of the file that a server beside Keyway may not have read yet. Until it has, each of its own writes takes them back
 * (design: "Beside a server that writes its file").
 */
export class ReappliedChanges {
  readonly #now: () => number;
  readonly #milliseconds: number;
  readonly #keys = new Map<string, Chain<Record>>();
  readonly #dns = new Map<keyof DnsConfig, Chain<unknown>>();
  #rules: Chain<readonly OutboundRule[]> | null = null;
  /** The time by which all of it has been read. */
  #last = Number.NEGATIVE_INFINITY;

  /** Changes count as unread for so many milliseconds of `now`; 0: for none. */
  constructor(now: () => number, milliseconds: number) {
    this.#now = now;
    this.#milliseconds = milliseconds;
  }

  /** Records that the file holds `written` since then, where it held `former`: two changes of the same things. */
  record(former: ConfigurationChange, written: ConfigurationChange, at = this.#now()): void {
    if (this.#milliseconds === 0) return;
    if (at > this.#last) this.forget();
    const until = at + this.#milliseconds;
    this.#last = Math.max(this.#last, until);
    for (const [accessKey, record] of written.keys ?? []) {
      const before = former.keys?.get(accessKey) ?? null;
      keep(this.#keys, accessKey, this.#extended(this.#keys.get(accessKey), before, record, until));
    }
    if (written.rules && former.rules)
      this.#rules = this.#extended(this.#rules, asRead(former.rules), asRead(written.rules), until);
    // Those that its settings stand for are not to come back beside them.
    if (written.dns?.resolver) for (const member of OLDER_MEMBERS) this.#dns.delete(member);
    for (const member of dnsMembers(written)) {
      const chain = this.#dns.get(member);
      keep(this.#dns, member, this.#extended<unknown>(chain, former.dns?.[member], written.dns?.[member], until));
    }
  }

  /**
   * Finds the changes that another program's write at that time has reverted, to be made again: where the file is exactly what
   * it was before a change that nobody need have read. Any other value is somebody's change, and its own is forgotten.
   */
  findReverted(found: FoundValues, at = this.#now()): ConfigurationChange {
    if (at > this.#last) this.forget();
    const keys = this.#revertedKeys(found.keys, at);
    const rules = isReverted(this.#rules, found.outbound?.rules, at) ? this.#rules?.written : undefined;
    const dns = [...this.#dns].filter(([member, chain]) => isReverted(chain, found.dns[member], at));
    return {
      ...(keys.size > 0 && { keys }),
      ...(rules && { rules }),
      ...(dns.length > 0 && { dns: Object.fromEntries(dns.map(([member, { written }]) => [member, written])) }),
    };
  }

  /**
   * Returns what the file holds of the things that were changed where that is neither what was written nor what a server reverts
   * to: somebody's change, or Keyway's own that it was killed too early to record. To be recorded as what it was and is.
   */
  findSuperseded(found: FoundValues, at: number): ConfigurationChange {
    if (at > this.#last) this.forget();
    const keys = this.#differingKeys(found.keys, at).flatMap(({ accessKey, value, isReverted }) =>
      isReverted ? [] : [[accessKey, value] as const],
    );
    const isOther = <T>(chain: Chain<T>, value: T | undefined): boolean =>
      !isDeepStrictEqual(value, chain.written) && !isReverted(chain, value, at);
    const rules = found.outbound?.rules;
    const dns = [...this.#dns].filter(([member, chain]) => isOther(chain, found.dns[member]));
    return {
      ...(keys.length > 0 && { keys: new Map(keys) }),
      ...(rules && this.#rules && isOther(this.#rules, rules) && { rules }),
      ...(dns.length > 0 && { dns: Object.fromEntries(dns.map(([member]) => [member, found.dns[member]])) }),
    };
  }

  isAny(): boolean {
    return this.#now() <= this.#last && (this.#keys.size > 0 || this.#dns.size > 0 || this.#rules !== null);
  }

  deleted(): readonly string[] {
    return [...this.#keys].flatMap(([accessKey, { written }]) => (written === null ? [accessKey] : []));
  }

  /** Forgets all changes: the file is meant to hold what it holds now. */
  forget(): void {
    this.#keys.clear();
    this.#dns.clear();
    this.#rules = null;
  }

  /** The chain with one more link; null where nothing has changed, or somebody's value stands in place of what was written. */
  #extended<T>(chain: Chain<T> | null | undefined, former: T, written: T, until: number): Chain<T> | null {
    const present = (chain?.formers ?? []).filter((one) => one.until >= until - this.#milliseconds);
    if (isDeepStrictEqual(former, written)) {
      const isOwn = present.length > 0 && isDeepStrictEqual(chain?.written, written);
      return isOwn ? { written, formers: present } : null;
    }
    const others = present.filter(({ value }) => !isDeepStrictEqual(value, former));
    return { written, formers: [...others, { value: former, until }] };
  }

  /** The changed keys of which the file holds another record than was written, and the record that they are to have. */
  #differingKeys(found: readonly AccessKey[], at: number) {
    const present = new Map<string, AccessKey>();
    for (const key of found) if (this.#keys.has(key.accessKey)) present.set(key.accessKey, key);
    return [...this.#keys].flatMap(([accessKey, chain]) => {
      const value = present.get(accessKey) ?? null;
      if (isDeepStrictEqual(value, chain.written)) return [];
      const wanted = mergeRecord(value, chain.written, alive(chain, at));
      return [{ accessKey, value, wanted, isReverted: !isDeepStrictEqual(value, wanted) }];
    });
  }

  #revertedKeys(found: readonly AccessKey[], at: number): ReadonlyMap<string, Record> {
    const reverted = new Map<string, Record>();
    for (const { accessKey, wanted, isReverted } of this.#differingKeys(found, at)) {
      if (isReverted) reverted.set(accessKey, wanted);
      else this.#keys.delete(accessKey);
    }
    return reverted;
  }
}

function keep<K, T>(chains: Map<K, Chain<T>>, name: K, chain: Chain<T> | null): void {
  if (chain === null) chains.delete(name);
  else chains.set(name, chain);
}

function alive<T>({ formers }: Chain<T>, at: number): readonly T[] {
  return formers.filter(({ until }) => at <= until).map(({ value }) => value);
}

function isReverted<T>(chain: Chain<T> | null, found: T | undefined, at: number): boolean {
  if (chain === null || isDeepStrictEqual(found, chain.written)) return false;
  return alive(chain, at).some((former) => isDeepStrictEqual(former, found));
}

/** Merges the records of one key: each column is a value of its own, of which one may be somebody's change. */
function mergeRecord(found: Record, written: Record, formers: readonly Record[]): Record {
  if (found === null || written === null) return formers.some((one) => isDeepStrictEqual(one, found)) ? written : found;
  const isFormer = (name: KeyFieldName) => formers.some((one) => one !== null && one[name] === found[name]);
  return recordBy(found.accessKey, ({ name }) => (isFormer(name) ? written : found)[name]);
}

/** Rules as a file is read, where null is as good as nothing. */
function asRead(rules: readonly OutboundRule[]): readonly OutboundRule[] {
  return rules.map(({ sendFrom, ...rule }) => (sendFrom == null ? rule : { ...rule, sendFrom }));
}

function dnsMembers({ dns = {} }: ConfigurationChange): readonly (keyof DnsConfig)[] {
  return Object.keys(dns) as (keyof DnsConfig)[]; // A change has no other members.
}

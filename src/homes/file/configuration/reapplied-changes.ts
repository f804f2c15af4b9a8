import { isDeepStrictEqual } from 'node:util';
import type { KeyFieldName } from '../../../core/keys/key-fields.js';
import { recordBy } from '../../../core/keys/key-record.js';
import type {
  AccessKey,
  ConfigurationChange,
  DnsConfig,
  OutboundRule,
  ServerConfiguration,
} from '../../../core/model.js';

/**
 * Changes of the file that a server beside Keyway may not have read yet. Until it has, each of its own writes takes them back
 * (design: "Beside a server that writes its file").
 */
export interface UnreadChanges {
  /** The file holds `written` since then, where it held `former`: two changes of the same things. */
  wrote(former: ConfigurationChange, written: ConfigurationChange, at?: number): void;
  /**
   * What another program has taken back by a write at that time: where the file is exactly what it was before a change that
   * nobody need have read, that change, to be made again. Any other value is somebody's change, and its own is let go.
   */
  takenBack(found: FoundValues, at?: number): ConfigurationChange;
  isAny(): boolean;
  /** The keys that were deleted. */
  deleted(): readonly string[];
  /** Forgets all changes: the file is meant to hold what it holds now. */
  letGo(): void;
}

/** The parts of a configuration that changes are about. */
export type FoundValues = Pick<ServerConfiguration, 'keys' | 'outbound' | 'dns'>;

/** A value that was written, and what stood there before it, until when somebody may still think so. */
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

/** Changes count as unread for so many milliseconds of `now`; 0: for none. */
export function createUnreadChanges(now: () => number, milliseconds: number): UnreadChanges {
  const keys = new Map<string, Chain<Record>>();
  const dns = new Map<keyof DnsConfig, Chain<unknown>>();
  let rules: Chain<readonly OutboundRule[]> | null = null;
  /** The time by which all of it has been read. */
  let last = Number.NEGATIVE_INFINITY;

  function letGo(): void {
    keys.clear();
    dns.clear();
    rules = null;
  }

  /** The chain with one more link; null where nothing has changed. */
  function extended<T>(chain: Chain<T> | null | undefined, former: T, written: T, until: number): Chain<T> | null {
    const alive = (chain?.formers ?? []).filter((one) => one.until >= until - milliseconds);
    if (isDeepStrictEqual(former, written)) return alive.length === 0 ? null : { written, formers: alive };
    return {
      written,
      formers: [...alive.filter(({ value }) => !isDeepStrictEqual(value, former)), { value: former, until }],
    };
  }

  function keep<K, T>(chains: Map<K, Chain<T>>, name: K, chain: Chain<T> | null): void {
    if (chain === null) chains.delete(name);
    else chains.set(name, chain);
  }

  function takenBackKeys(found: readonly AccessKey[], at: number): ReadonlyMap<string, Record> {
    const present = new Map<string, AccessKey>();
    for (const key of found) if (keys.has(key.accessKey)) present.set(key.accessKey, key);
    const again = new Map<string, Record>();
    for (const [accessKey, chain] of keys) {
      const value = present.get(accessKey) ?? null;
      if (isDeepStrictEqual(value, chain.written)) continue;
      const wanted = recordAgain(value, chain.written, alive(chain, at));
      if (isDeepStrictEqual(value, wanted)) keys.delete(accessKey);
      else again.set(accessKey, wanted);
    }
    return again;
  }

  return {
    wrote(former, written, at = now()) {
      if (milliseconds === 0) return;
      if (at > last) letGo();
      const until = at + milliseconds;
      last = Math.max(last, until);
      for (const [accessKey, record] of written.keys ?? []) {
        const before = former.keys?.get(accessKey) ?? null;
        keep(keys, accessKey, extended(keys.get(accessKey), before, record, until));
      }
      if (written.rules && former.rules) rules = extended(rules, former.rules, written.rules, until);
      for (const member of dnsMembers(written)) {
        keep(dns, member, extended<unknown>(dns.get(member), former.dns?.[member], written.dns?.[member], until));
      }
    },
    takenBack(found, at = now()) {
      if (at > last) letGo();
      const againKeys = takenBackKeys(found.keys, at);
      const againRules = isTakenBack(rules, found.outbound?.rules, at) ? rules?.written : undefined;
      const againDns = [...dns].filter(([member, chain]) => isTakenBack(chain, found.dns[member], at));
      return {
        ...(againKeys.size > 0 && { keys: againKeys }),
        ...(againRules && { rules: againRules }),
        ...(againDns.length > 0 && {
          dns: Object.fromEntries(againDns.map(([member, { written }]) => [member, written])),
        }),
      };
    },
    deleted: () => [...keys].flatMap(([accessKey, { written }]) => (written === null ? [accessKey] : [])),
    isAny: () => now() <= last && (keys.size > 0 || dns.size > 0 || rules !== null),
    letGo,
  };
}

function alive<T>({ formers }: Chain<T>, at: number): readonly T[] {
  return formers.filter(({ until }) => at <= until).map(({ value }) => value);
}

function isTakenBack<T>(chain: Chain<T> | null, found: T | undefined, at: number): boolean {
  if (chain === null || isDeepStrictEqual(found, chain.written)) return false;
  return alive(chain, at).some((former) => isDeepStrictEqual(former, found));
}

/** Merges the records of one key: each column is a value of its own, of which one may be somebody's change. */
function recordAgain(found: Record, written: Record, formers: readonly Record[]): Record {
  if (found === null || written === null) return formers.some((one) => isDeepStrictEqual(one, found)) ? written : found;
  const isFormer = (name: KeyFieldName) => formers.some((one) => one !== null && one[name] === found[name]);
  return recordBy(found.accessKey, ({ name }) => (isFormer(name) ? written : found)[name]);
}

function dnsMembers({ dns = {} }: ConfigurationChange): readonly (keyof DnsConfig)[] {
  return Object.keys(dns) as (keyof DnsConfig)[]; // A change has no other members.
}

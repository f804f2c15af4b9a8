import { createHash } from 'node:crypto';
import { createAudit, type LocalAudit } from '../../src/core/audit.js';
import type { DnsConfig, KeySnapshot, OutboundRule, TrafficCounters } from '../../src/core/model.js';
import type { ClockPort, RandomPort } from '../../src/core/ports.js';
import { createSession, type LocalSession } from '../../src/core/session.js';
import type { JsonObject } from '../../src/wire/json/json.js';
import type { StartState, StoredKey } from './configuration.js';
import type { DnsSettings } from './dns-rules.js';

/** Everything that a running server holds, and loses when it ends. */
export interface Memory {
  readonly start: StartState;
  readonly session: LocalSession;
  readonly audit: LocalAudit;
  readonly startedAt: number;
  rules: readonly OutboundRule[] | null;
  dns: DnsConfig;
  /** Live sections of servers from 0.4.6 on; null until they are first asked for. */
  readonly sections: { dns: DnsSettings | null; overnet: JsonObject | null };
  hasKey(accessKey: string): boolean;
  /** Registers or replaces it; `fresh` gives it new counters, `bare` none. */
  put(accessKey: string, key: StoredKey, counters: 'fresh' | 'kept' | 'bare'): void;
  remove(accessKey: string): void;
  /** False for a key without counters. */
  reset(accessKey: string): boolean;
  snapshot(accessKey: string): KeySnapshot | undefined;
  /** In the order of a hash table. */
  keys(): readonly (readonly [string, StoredKey])[];
  /** Takes a file's keys for its own, whatever came to memory since the file was read. */
  replaceKeys(keys: ReadonlyMap<string, StoredKey>): void;
  /** Gives every key counters that has none yet, as reloads of servers from 0.4.6 on do. */
  completeCounters(): void;
  /** Traffic of clients: bytes and connections are added; connections that end are less than none. */
  count(accessKey: string, bytesUp: bigint, bytesDown: bigint, connections: bigint): void;
  readonly size: number;
  readonly active: number;
  /** Every key with counters. */
  counted(): readonly (readonly [string, TrafficCounters])[];
}

type Counters = { -readonly [K in keyof TrafficCounters]: TrafficCounters[K] };

/** The memory of a server that has just read its file. `seed` decides the order of its hash table. */
export function createMemory(start: StartState, ports: Ports, seed: number): Memory {
  let keys = new Map<string, StoredKey>(start.keys);
  const counters = new Map<string, Counters>();
  const fresh = (limitBytes: bigint | null): Counters => ({
    bytesUp: 0n,
    bytesDown: 0n,
    connections: 0n,
    limitBytes,
    createdAt: ports.clock.now(),
  });
  for (const [accessKey, { limitBytes }] of keys) counters.set(accessKey, fresh(limitBytes));
  return {
    start,
    session: createSession(),
    audit: createAudit(ports.clock, ports.random),
    startedAt: ports.clock.monotonic(),
    rules: start.rules,
    dns: start.dns,
    sections: { dns: null, overnet: null },
    hasKey: (accessKey) => keys.has(accessKey),
    put(accessKey, key, how) {
      keys.set(accessKey, key);
      if (how === 'bare') return;
      const kept = how === 'kept' ? counters.get(accessKey) : undefined;
      if (kept === undefined) counters.set(accessKey, fresh(key.limitBytes));
      else kept.limitBytes = key.limitBytes;
    },
    remove(accessKey) {
      keys.delete(accessKey);
      counters.delete(accessKey);
    },
    reset(accessKey) {
      const found = counters.get(accessKey);
      if (found === undefined) return false;
      Object.assign(found, { bytesUp: 0n, bytesDown: 0n, connections: 0n });
      return true;
    },
    snapshot(accessKey) {
      const key = keys.get(accessKey);
      return key === undefined ? undefined : { accessKey, ...key, counters: counters.get(accessKey) ?? null };
    },
    keys: () => inHashOrder(keys, seed),
    replaceKeys(read) {
      for (const accessKey of keys.keys()) if (!read.has(accessKey)) counters.delete(accessKey);
      for (const [accessKey, { limitBytes }] of read) {
        const known = counters.get(accessKey);
        if (known !== undefined) known.limitBytes = limitBytes;
        else if (!keys.has(accessKey)) counters.set(accessKey, fresh(limitBytes));
      }
      keys = new Map(read);
    },
    completeCounters() {
      for (const [accessKey, { limitBytes }] of keys)
        if (!counters.has(accessKey)) counters.set(accessKey, fresh(limitBytes));
    },
    count(accessKey, bytesUp, bytesDown, connections) {
      const found = counters.get(accessKey);
      if (found === undefined) throw new Error(`traffic of a key without counters: ${accessKey}`);
      found.bytesUp += bytesUp;
      found.bytesDown += bytesDown;
      // The end of a session that began before a reset goes by unseen.
      found.connections = found.connections + connections > 0n ? found.connections + connections : 0n;
    },
    get size() {
      return keys.size;
    },
    counted: () => [...counters],
    get active() {
      return [...counters.values()].filter(({ bytesUp, bytesDown }) => bytesUp + bytesDown > 0n).length;
    },
  };
}

interface Ports {
  readonly clock: ClockPort;
  readonly random: RandomPort;
}

/** Another order for another seed and another number of keys, as a table that grows has it. */
function inHashOrder(keys: ReadonlyMap<string, StoredKey>, seed: number): readonly (readonly [string, StoredKey])[] {
  const size = Math.ceil(Math.log2(keys.size + 1));
  return [...keys]
    .map((entry) => ({ entry, hash: createHash('md5').update(`${seed} ${size} ${entry[0]}`).digest('hex') }))
    .sort((a, b) => (a.hash < b.hash ? -1 : 1))
    .map(({ entry }) => entry);
}

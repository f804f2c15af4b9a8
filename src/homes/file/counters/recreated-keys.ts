import type { KeyFieldValues } from '../../../core/keys/key-fields.js';
import { type KeyFieldValue, keyFields } from '../../../core/keys/key-record.js';
import type { KeptCounters } from '../../../core/keys/types.js';
import { type AccessKey, MAX_U64 } from '../../../core/model.js';

/**
 * A create of a key that has counters (a renewal), as long as a crash may still undo it: record and counters are written
 * to two places, the configuration file and the store, and after a crash the file decides for both.
 */
export interface Renewal {
  readonly accessKey: string;
  /** The records, as `recordText` writes them, that the file may hold while the create has not reached it. */
  readonly records: readonly string[];
  /** The counters that creates before have dropped; null when none has. */
  readonly before: KeptCounters | null;
  /** The key's counters are those since the create already; before, they are the ones that it will drop. */
  readonly isApplied: boolean;
}

export type Renewals = ReturnType<typeof createRenewals>;

/** The renewals that are not settled, and what a store has to follow of them. */
export function createRenewals() {
  const present = new Map<string, Renewal>();
  let changed = new Set<string>();

  /** Takes one over as it was kept. */
  function put(renewal: Renewal): void {
    present.set(renewal.accessKey, renewal);
    changed.add(renewal.accessKey);
  }

  /** The file has it, or something else has decided over the key. */
  function settle(accessKey: string): void {
    if (present.delete(accessKey)) changed.add(accessKey);
  }

  return {
    /** To be durable before the file may change. A renewal of the same key that is not settled goes on in this one. */
    announce(accessKey: string, records: readonly string[]): void {
      const { records: earlier = [], before = null } = present.get(accessKey) ?? {};
      put({ accessKey, records: [...new Set([...earlier, ...records])], before, isApplied: false });
    },
    /** The create takes effect and drops these counters. Nothing, unless it was announced. */
    apply(accessKey: string, dropped: KeptCounters | null): void {
      const renewal = present.get(accessKey);
      if (renewal === undefined) return;
      put({ ...renewal, before: together(renewal.before, dropped), isApplied: true });
    },
    /** The counters were reset: a crash must not bring the dropped ones back. */
    reset(accessKey: string): void {
      const renewal = present.get(accessKey);
      if (renewal === undefined || renewal.before === null) return;
      put({ ...renewal, before: { ...renewal.before, ...NOTHING } });
    },
    settle,
    settleAll(): void {
      for (const accessKey of [...present.keys()]) settle(accessKey);
    },
    takeOver: put,
    get: (accessKey: string): Renewal | null => present.get(accessKey) ?? null,
    all: (): readonly Renewal[] => [...present.values()],
    /** Keys whose renewal came, changed or was settled since the last call. */
    takeChanges(): readonly string[] {
      const taken = [...changed];
      changed = new Set();
      return taken;
    },
  };
}

const NOTHING = { bytesUp: 0n, bytesDown: 0n, connections: 0n } as const;

/** The record of a key in the configuration file as a text, the same for the same record; empty for no key. */
export function recordText(key: KeyFieldValues | undefined): string {
  return key === undefined
    ? ''
    : keyFields
        .map(({ name }) => valueText(key[name]))
        .reverse()
        .join(' ');
}

const valueText = (value: KeyFieldValue): string => (typeof value === 'string' ? JSON.stringify(value) : `${value}`);

/** The owner of the counters that a renewal leaves. */
export interface KeptCountersOwner {
  kept(accessKey: string): KeptCounters | null;
  takeOver(kept: KeptCounters): void;
}

/**
 * Decides every renewal that a crash has left, by what the file holds of the key: an old record, and the counters
 * are what they would be without the create; anything else, and they are those since the create. `now` is in
 * milliseconds since the epoch. Returns how many there were.
 */
export function decideRenewals(
  renewals: Renewals,
  keys: KeptCountersOwner,
  registered: readonly AccessKey[],
  now: number,
): number {
  const found = renewals.all();
  if (found.length === 0) return 0;
  const wanted = new Set(found.map(({ accessKey }) => accessKey));
  const records = new Map<string, AccessKey>();
  for (const key of registered) if (wanted.has(key.accessKey)) records.set(key.accessKey, key);
  for (const { accessKey, records: old, before, isApplied } of found) {
    const record = records.get(accessKey);
    const isUndone = old.includes(recordText(record));
    const counters = isUndone ? together(before, keys.kept(accessKey)) : null;
    if (counters !== null) keys.takeOver(counters);
    else if (!isUndone && !isApplied && record !== undefined) {
      keys.takeOver({ accessKey, ...NOTHING, createdAt: now, leftAt: null });
    }
    renewals.settle(accessKey);
  }
  return found.length;
}

/** Bytes added, no sum passing 2^64-1; connections are the later ones, unless none were reported. */
function together(before: KeptCounters | null, since: KeptCounters | null): KeptCounters | null {
  if (before === null || since === null) return before ?? since;
  return {
    ...before,
    bytesUp: sum(before.bytesUp, since.bytesUp),
    bytesDown: sum(before.bytesDown, since.bytesDown),
    connections: since.connections > 0n ? since.connections : before.connections,
  };
}

function sum(a: bigint, b: bigint): bigint {
  return a + b > MAX_U64 ? MAX_U64 : a + b;
}

import { type Audit, createAudit } from '../../src/core/audit.js';
import type {
  Backend,
  BackendSettings,
  ChangeReason,
  KeyChange,
  KeyUpdate,
  UsageReport,
} from '../../src/core/backend.js';
import { DomainError } from '../../src/core/errors.js';
import { LocalRecords } from '../../src/core/kept-records.js';
import { eachByItself, outcomeOf } from '../../src/core/keys/change-key.js';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import type { CounterValues } from '../../src/core/keys/types.js';
import {
  type AccessKey,
  DEFAULT_DNS,
  DEFAULT_PUBLISHED,
  type KeySnapshot,
  type OutboundSettings,
} from '../../src/core/model.js';
import { createSession, type LocalSession, type Session } from '../../src/core/session.js';
import { systemRandom } from '../../src/platform/system-ports.js';

/** A key as this backend holds it. */
interface Held {
  readonly record: AccessKey;
  readonly counters: CounterValues | null;
}

/** A backend whose state stands elsewhere, for tests: what the core sees of it comes a turn of the event loop later. */
export interface MemoryBackend extends Backend {
  /** What somebody else does to the state: the core is told by the change alone. */
  outside(change: Outside): void;
  /** From now on whoever holds the state answers no more, or answers again. */
  becomes(state: 'away' | 'there'): void;
}

/** Somebody else's change: a key that comes or is another, with counters at zero where it is new; or one that goes. */
export type Outside = { readonly put: AccessKey } | { readonly remove: string } | { readonly rules: 'none' | 'empty' };

const OUTBOUND: OutboundSettings = {
  enabled: true,
  protocol: 'socks5',
  address: '127.0.0.1',
  port: 9050,
  defaultAction: 'direct',
  rules: [],
};
const ZERO: CounterValues = { bytesUp: 0n, bytesDown: 0n, connections: 0n };
const CREATED_AT = 7;
/** Of whoever holds the state, in seconds. */
const UPTIME = 42;

export interface MemoryBackendOptions {
  readonly hasLiveReads: boolean;
  /** Whether the keys in memory show what somebody else does only once a list or that key is asked for; default false. */
  readonly isReplica?: boolean;
  /** Whether it holds sessions and audit list, which gateways over it then have in common; default false. */
  readonly isShared?: boolean;
}

export function createMemoryBackend(options: MemoryBackendOptions): MemoryBackend {
  const { hasLiveReads, isReplica = false, isShared = false } = options;
  const held = new Map<string, Held>();
  const keys = new KeyRegistry(() => CREATED_AT);
  const known = new Set<string>();
  const listeners: ((reason: ChangeReason) => void)[] = [];
  let settings: BackendSettings = {
    outbound: null,
    dns: DEFAULT_DNS,
    listener: null,
    announced: {},
    published: DEFAULT_PUBLISHED,
  };
  let isAway = false;
  /** What the keys in memory do not show yet. */
  let unseen: (() => void)[] = [];

  /** What goes there and back. */
  async function asked<T>(work: () => T): Promise<T> {
    await new Promise((resolve) => setImmediate(resolve));
    if (isAway) throw new DomainError('backendAway', 'it is away for a test');
    catchUp();
    return work();
  }

  const later = (change: () => void): void => {
    unseen.push(change);
  };

  function catchUp(): void {
    const known = unseen;
    unseen = [];
    for (const show of known) show();
  }

  function become(next: Partial<BackendSettings>, reason: ChangeReason): void {
    settings = { ...settings, ...next };
    for (const listener of listeners) listener(reason);
  }

  function present(accessKey: string): Held {
    const found = held.get(accessKey);
    if (found === undefined) throw new DomainError('userNotFound');
    return found;
  }

  function create(record: AccessKey, show = atOnce): void {
    held.set(record.accessKey, { record, counters: ZERO });
    show(() => keys.create(record));
  }

  function update(accessKey: string, { name, limitBytes }: KeyUpdate, show = atOnce): void {
    const { record, counters } = present(accessKey);
    const next = {
      accessKey,
      name: name === undefined ? record.name : name,
      limitBytes: limitBytes === undefined ? record.limitBytes : limitBytes,
    };
    held.set(accessKey, { record: next, counters: counters ?? ZERO });
    show(() => keys.update(next));
  }

  function remove(accessKey: string, show = atOnce): void {
    present(accessKey);
    held.delete(accessKey);
    show(() => {
      keys.setAside(accessKey);
      keys.forget(accessKey);
    });
  }

  function reset(accessKey: string): void {
    const found = present(accessKey);
    if (found.counters === null) throw new DomainError('userNotFound');
    held.set(accessKey, { ...found, counters: ZERO });
    keys.reset(accessKey);
  }

  function make(change: KeyChange): void {
    if (change.op === 'create') create(change.key);
    else if (change.op === 'update') update(change.accessKey, change.update);
    else if (change.op === 'delete') remove(change.accessKey);
    else if (change.op === 'reset') reset(change.accessKey);
    else throw new Error('no test rotates a key of this backend');
  }

  function count({ id, entries }: UsageReport) {
    const unknownKeys = entries.flatMap(({ accessKey }) => (held.has(accessKey) ? [] : [accessKey]));
    const repeated = id !== null && known.has(id);
    if (id !== null) known.add(id);
    if (!repeated) {
      for (const { accessKey, bytesUp, bytesDown, connections } of entries) {
        const found = held.get(accessKey);
        if (found === undefined) continue;
        const before = found.counters ?? ZERO;
        const counters = {
          bytesUp: before.bytesUp + bytesUp,
          bytesDown: before.bytesDown + bytesDown,
          connections: connections ?? before.connections,
        };
        held.set(accessKey, { ...found, counters });
      }
      keys.addUsage(entries);
    }
    return { repeated, unknownKeys: [...new Set(unknownKeys)], durability: 'durable' } as const;
  }

  function snapshotOf({ record, counters }: Held): KeySnapshot {
    const { limitBytes } = record;
    return { ...record, counters: counters === null ? null : { ...counters, limitBytes, createdAt: CREATED_AT } };
  }

  return {
    keys,
    records: new LocalRecords(),
    settings: () => settings,
    onChange: (listener) => {
      listeners.push(listener);
    },
    changes: {
      most: 1,
      areNoted: false,
      apply: (changes) => eachByItself(changes, (change) => outcomeOf(asked(() => make(change)))),
      rotate: null,
    },
    createBareKeys: (made) =>
      asked(() => {
        for (const record of made) {
          held.set(record.accessKey, { record, counters: null });
          keys.createWithoutCounters(record);
        }
        return made.map(({ accessKey }) => accessKey);
      }),
    replaceRules: (rules) =>
      asked(() => {
        const { outbound } = settings;
        if (outbound === null) throw new DomainError('outboundNotConfigured');
        become({ outbound: { ...outbound, rules } }, 'saved');
      }),
    changeDns: (change) => asked(() => become({ dns: { ...settings.dns, ...change } }, 'saved')),
    count: (report) => asked(() => count(report)),
    countPosted: async () => {
      throw new DomainError('countedElsewhere', 'it counts by itself');
    },
    document: null,
    audit: isShared ? auditElsewhere(asked) : null,
    sessions: isShared ? sessionsElsewhere(asked) : null,
    live: hasLiveReads
      ? {
          key: (accessKey) =>
            asked(() => {
              const found = held.get(accessKey);
              return found === undefined ? undefined : snapshotOf(found);
            }),
          status: () =>
            asked(() => {
              const active = [...held.values()].filter(
                ({ counters }) => counters !== null && counters.bytesUp + counters.bytesDown > 0n,
              );
              return { active: active.length, total: held.size, uptimeSeconds: UPTIME };
            }),
          rules: () => asked(() => settings.outbound?.rules ?? []),
          dns: () => asked(() => settings.dns),
          queries: () => asked(() => []),
        }
      : null,
    replica: isReplica
      ? {
          freshen: () => asked(() => undefined),
          stale: () => null,
          watch: () => undefined,
          lastKnown: () => undefined,
          find: async (accessKey) => keys.get(accessKey) ?? asked(() => keys.get(accessKey)),
          lookForKeys: () => asked(() => undefined),
          learnPublished: () => undefined,
        }
      : null,
    refreshBlocklists: null,
    past: null,
    problems: async () => [],
    close: async () => undefined,
    outside(change) {
      const show = isReplica ? later : atOnce;
      if ('put' in change) {
        const { accessKey } = change.put;
        if (held.has(accessKey)) update(accessKey, change.put, show);
        else create(change.put, show);
      } else if ('remove' in change) {
        if (held.has(change.remove)) remove(change.remove, show);
      } else become({ outbound: change.rules === 'none' ? null : OUTBOUND }, 'edited');
    },
    becomes(state) {
      isAway = state === 'away';
    },
  };
}

const atOnce = (change: () => void): void => change();

/** What goes there and back, and rejects while it is away. */
type Asked = <T>(work: () => T) => Promise<T>;

function auditElsewhere(asked: Asked): Audit {
  const held = createAudit({ now: () => CREATED_AT, monotonic: () => CREATED_AT }, systemRandom);
  return {
    list: () => asked(held.list),
    add: (event) => asked(() => held.add(event)),
    clear: () => asked(held.clear),
    isProtected: () => false,
  };
}

/** As gateways have it that know the session which they have seen: only another token is asked for. */
function sessionsElsewhere(asked: Asked): (api: string) => Session {
  const sessions = new Map<string, LocalSession>();
  return (api) => {
    const held = sessions.get(api) ?? createSession();
    sessions.set(api, held);
    return {
      begin: (token) => asked(() => held.begin(token)),
      end: () => asked(held.end),
      matches: (token) => held.matches(token) || asked(() => held.matches(token)),
      isHeld: held.isHeld,
    };
  };
}

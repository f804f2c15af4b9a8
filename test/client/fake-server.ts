import type {
  Purpose,
  Sent,
  UpstreamAnnouncement,
  UpstreamServer,
  UpstreamStatus,
  UpstreamTrouble,
} from '../../src/client/server.js';
import { createSessionKeeper } from '../../src/client/session.js';
import { UpstreamError } from '../../src/client/upstream-error.js';
import type { UsageReport } from '../../src/core/backend.js';
import { DomainError } from '../../src/core/errors.js';
import type { CounterValues } from '../../src/core/keys/types.js';
import {
  type AccessKey,
  type AuditEntry,
  DEFAULT_DNS,
  type DnsConfig,
  type KeySnapshot,
  type OutboundRule,
} from '../../src/core/model.js';
import { parseJson } from '../../src/wire/json/json.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { SETTLED_AFTER } from '../../src/wire/traits/storing.js';
import type { Outside } from '../ports/memory-backend.js';

/** How a call goes: how long until the server does it, and until its answer is here; ms. */
export interface Trip {
  readonly there: number;
  readonly back: number;
  /** `before`: nobody is there; `after`: it is done and the answer is lost. */
  readonly lost?: 'before' | 'after';
}

export interface FakeServerOptions {
  readonly revision: Revision;
  readonly version?: string;
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** Asked at every call, by its name; default: at once. */
  readonly trip?: (call: string) => Trip;
  /** The configuration before anything is done; keys of it are registered. */
  readonly configuration?: string;
  /** Whether it takes one session, which ends when somebody else signs in. */
  readonly hasOneSession?: boolean;
}

export interface Held {
  readonly record: AccessKey;
  readonly counters: CounterValues | null;
}

/** One server of a line at the port, its state in memory, for tests. */
export interface FakeServer extends UpstreamServer {
  readonly keys: Map<string, Held>;
  /** Every call, as it arrived at the server. */
  readonly calls: readonly string[];
  /** How many writes are under way at the server now, and were at most. */
  readonly mostWrites: number;
  configuration: string;
  announced: UpstreamAnnouncement | undefined;
  ruled: readonly OutboundRule[];
  /** What somebody else does to its keys. */
  outside(change: Outside): void;
  /** What was used of its keys; a report that comes again is counted once. */
  report(report: UsageReport): void;
  /** The server loses the last write of the key: it is as before that. */
  lose(accessKey: string): void;
  /** Whether there is a write of the key that could be lost. */
  mayLose(accessKey: string): boolean;
  /** Somebody else begins a session, where there is one. */
  signsIn(): string;
  /** `busy`: it takes no sign-in now. `dead`: it is away, which the next call finds out. */
  becomes(trouble: 'away' | 'dead' | 'refused' | 'busy' | 'there'): void;
  startedAt: number;
  /** Whether its version is later than the last known one. */
  later: boolean;
  /** What the next key write answers instead of success, though it is done. */
  failsToSave: boolean;
  /** Called after a write of the configuration. */
  onConfiguration: (() => void) | null;
  /** Called before a status is told. */
  onStatus: (() => void) | null;
  /** Called after a write of keys. */
  onWrite: (() => void) | null;
  speaks(revision: Revision, version: string): void;
}

const ZERO: CounterValues = { bytesUp: 0n, bytesDown: 0n, connections: 0n };

export function createFakeServer(options: FakeServerOptions): FakeServer {
  const { monotonic, sleep } = options;
  const trip: (call: string) => Trip = options.trip ?? (() => ({ there: 0, back: 0 }));
  const keys = new Map<string, Held>();
  const reports = new Set<string>();
  const before = new Map<string, Held | undefined>();
  const changedAt = new Map<string, number>();
  const calls: string[] = [];
  const listeners: (() => void)[] = [];
  let { revision } = options;
  let version = options.version ?? revision.reportedVersion;
  let trouble: UpstreamTrouble | null = null;
  let isBusy = false;
  let isDead = false;
  let audit: readonly AuditEntry[] = [];
  let dns: DnsConfig = DEFAULT_DNS;
  let writing = 0;
  let made = 0;

  let session = 0;
  const signIn = (): string => `session ${++session}`;
  const keeper = createSessionKeeper({
    login: async () => ({ kind: 'begun', token: signIn() }),
    startedAt: async () => server.startedAt,
    clock: { monotonic },
    onLost: () => {},
  });

  /** As a real one is called: with the session, and with another one where it has ended and that may be. */
  async function enter(purpose: Purpose): Promise<void> {
    for (;;) {
      const answer = await keeper.obtain('', purpose);
      if (!('token' in answer))
        throw new UpstreamError('upstreamRefused', 'it has no session for a test', {
          mayHaveHappened: false,
          retryAfter: 1,
        });
      if (answer.token === `session ${session}`) return;
      if (purpose === 'look') throw gone(false);
      keeper.lost(answer.token);
    }
  }

  async function call<T>(name: string, isWrite: boolean, work: () => T, purpose: Purpose = 'caller'): Promise<Sent<T>> {
    const { there, back, lost } = trip(name);
    const sentAt = monotonic();
    if (there > 0) await sleep(there);
    if (isDead) server.becomes('away');
    if (trouble !== null || lost === 'before') throw gone(false);
    if (options.hasOneSession === true) await enter(purpose);
    calls.push(name);
    writing += isWrite ? 1 : 0;
    server.mostWrites = Math.max(server.mostWrites, writing);
    try {
      const value = work();
      if (back > 0) await sleep(back);
      if (lost === 'after') throw gone(isWrite);
      return { value, sentAt, serverMilliseconds: there + back };
    } finally {
      writing -= isWrite ? 1 : 0;
    }
  }

  function gone(mayHaveHappened: boolean): UpstreamError {
    const isRefused = trouble?.kind === 'refused';
    const more = { mayHaveHappened, retryAfter: 1, isForNow: isBusy || !isRefused };
    return new UpstreamError(isRefused ? 'upstreamRefused' : 'upstreamAway', 'it is away for a test', more);
  }

  function change(accessKey: string, held: Held | undefined): void {
    before.set(accessKey, keys.get(accessKey));
    changedAt.set(accessKey, monotonic());
    if (held === undefined) keys.delete(accessKey);
    else keys.set(accessKey, held);
    server.onWrite?.();
    if (!server.failsToSave) return;
    server.failsToSave = false;
    throw new DomainError('savedInMemory');
  }

  function present(accessKey: string): Held {
    const held = keys.get(accessKey);
    if (held === undefined) throw new DomainError('userNotFound');
    return held;
  }

  const server: FakeServer & { mostWrites: number } = {
    name: 'http://127.0.0.1:9090',
    texts: { struck: (text) => text, inSentence: (text) => text, own: (text) => text, written: (text) => text },
    keys,
    calls,
    mostWrites: 0,
    configuration: options.configuration ?? '{"mode":"server","access_keys":[]}',
    announced: { host: 'vpn.example', port: 50000, shareScheme: 'ostp', shareQuery: '?x=1', ownDns: null },
    ruled: [],
    startedAt: monotonic(),
    later: false,
    failsToSave: false,
    onConfiguration: null,
    onStatus: null,
    onWrite: null,
    line: () => revision,
    version: () => version,
    isLater: () => server.later,
    troubles: () => (trouble === null ? [] : [trouble]),
    onChange: (listener) => void listeners.push(listener),
    find: async () => (await call('find', false, () => revision)).value,
    status: (purpose) => {
      server.onStatus?.();
      return call(
        'status',
        false,
        () => ({
          version,
          uptimeSeconds: BigInt(Math.floor((monotonic() - server.startedAt) / 1000)),
          activeUsers: BigInt([...keys.values()].filter(({ counters }) => hasTraffic(counters)).length),
          totalUsers: BigInt(keys.size),
          ...(revision.status.tellsServer ? toldBy(server.announced, [...keys.values()]) : NOTHING_TOLD),
        }),
        purpose,
      );
    },
    listUsers: ({ known, purpose } = {}) =>
      // In the order of a hash table, which is another one each time.
      call('list', false, () => [...keys.values()].reverse().map((held) => sameOr(known, snapshotOf(held))), purpose),
    getUser: (accessKey, purpose) =>
      call(
        'get',
        false,
        () => {
          const held = keys.get(accessKey);
          return held === undefined ? undefined : snapshotOf(held);
        },
        purpose,
      ),
    createUser: (record) => call('create', true, () => change(record.accessKey, { record, counters: ZERO })),
    bulkCreateUsers: (count, limitBytes) =>
      call('bulk', true, () =>
        Array.from({ length: count }, () => {
          const accessKey = `made-${made++}`;
          change(accessKey, { record: { accessKey, name: null, limitBytes }, counters: null });
          return accessKey;
        }),
      ),
    updateUser: (record) =>
      call('update', true, () => {
        const { counters } = present(record.accessKey);
        change(record.accessKey, { record, counters: counters ?? ZERO });
      }),
    setLimit: (accessKey, limitBytes) =>
      call('limit', true, () => {
        const { record, counters } = present(accessKey);
        change(accessKey, { record: { ...record, limitBytes }, counters: counters ?? ZERO });
      }),
    deleteUser: (accessKey) =>
      call('delete', true, () => {
        present(accessKey);
        change(accessKey, undefined);
      }),
    resetUser: (accessKey) =>
      call('reset', true, () => {
        const { record, counters } = present(accessKey);
        if (counters === null) throw new DomainError('userNotFound');
        keys.set(accessKey, { record, counters: ZERO });
      }),
    getConfig: (purpose) => call('getConfig', false, () => Buffer.from(server.configuration), purpose),
    putConfig: (body) =>
      call('putConfig', true, () => {
        parseJson(body);
        server.configuration = body.toString();
        server.onConfiguration?.();
      }),
    rules: () => call('rules', false, () => server.ruled),
    putRules: (rules) =>
      call('putRules', true, () => {
        server.ruled = rules;
      }),
    dns: () => call('dns', false, () => dns),
    putDns: (next) =>
      call('putDns', true, () => {
        dns = next;
      }),
    queries: () => call('queries', false, () => []),
    refreshBlocklists: () => call('refreshBlocklists', true, () => undefined),
    listAudit: () => call('audit', false, () => audit),
    addAudit: (event) =>
      call('addAudit', true, () => {
        audit = [{ id: `${audit.length}`, time: '00:00:00', ...event }, ...audit];
      }),
    clearAudit: () =>
      call('clearAudit', true, () => {
        audit = [];
      }),
    link: async () => {
      throw new Error('not asked here');
    },
    clientConfig: async () => {
      throw new Error('not asked here');
    },
    subscription: (accessKey) =>
      call('subscription', false, () => (keys.has(accessKey) ? server.announced : undefined)),
    close() {},
    signsIn: signIn,
    outside(asked) {
      if ('put' in asked) {
        const { accessKey } = asked.put;
        keys.set(accessKey, { record: asked.put, counters: keys.get(accessKey)?.counters ?? ZERO });
      } else if ('remove' in asked) keys.delete(asked.remove);
    },
    report({ id, entries }) {
      if (id !== null && reports.has(id)) return;
      if (id !== null) reports.add(id);
      for (const { accessKey, bytesUp, bytesDown, connections } of entries) {
        const held = keys.get(accessKey);
        if (held === undefined) continue;
        const before = held.counters ?? ZERO;
        keys.set(accessKey, {
          ...held,
          counters: {
            bytesUp: before.bytesUp + bytesUp,
            bytesDown: before.bytesDown + bytesDown,
            connections: connections ?? before.connections,
          },
        });
      }
    },
    mayLose: (accessKey) =>
      before.has(accessKey) && monotonic() < (changedAt.get(accessKey) ?? Number.NEGATIVE_INFINITY) + SETTLED_AFTER,
    lose(accessKey) {
      const held = before.get(accessKey);
      before.delete(accessKey);
      if (held === undefined) keys.delete(accessKey);
      else keys.set(accessKey, held);
    },
    becomes(state) {
      isBusy = state === 'busy';
      isDead = state === 'dead';
      if (state === 'dead') return;
      const kind = state === 'busy' ? 'refused' : state;
      trouble = kind === 'there' ? null : { of: 'connection', kind, since: 1_700_000_000_000, reason: 'for a test' };
      for (const listener of listeners) listener();
    },
    speaks(next, nextVersion) {
      revision = next;
      version = nextVersion;
      for (const listener of listeners) listener();
    },
  };

  /** As the line tells it, names left out where it has none. */
  function snapshotOf({ record, counters }: Held): KeySnapshot {
    const tellsNames = revision.snapshot.members.some(({ name }) => name === 'name');
    const { limitBytes } = record;
    return {
      ...record,
      name: tellsNames ? record.name : null,
      counters: counters === null ? null : { ...counters, limitBytes, createdAt: 0 },
    };
  }

  return server;
}

const NOTHING_TOLD = { sums: null, endpoint: null };

/** What a status tells from 0.4.6 on. */
function toldBy(
  announced: UpstreamAnnouncement | undefined,
  keys: readonly Held[],
): Pick<UpstreamStatus, 'sums' | 'endpoint'> {
  const counted = keys.flatMap(({ counters }) => counters ?? []);
  const sum = (name: keyof CounterValues) => counted.reduce((all, counters) => all + counters[name], 0n);
  const online = BigInt(counted.filter(({ connections }) => connections > 0n).length);
  return {
    sums: { online, connections: sum('connections'), bytesUp: sum('bytesUp'), bytesDown: sum('bytesDown') },
    endpoint: announced
      ? { host: announced.host, port: announced.port, tls: null, subscriptionPrefix: null, ownDns: false }
      : null,
  };
}

function hasTraffic(counters: CounterValues | null): boolean {
  return counters !== null && counters.bytesUp + counters.bytesDown > 0n;
}

/** What is known already, where it says the same. */
function sameOr(
  known: ((accessKey: string) => KeySnapshot | undefined) | undefined,
  snapshot: KeySnapshot,
): KeySnapshot {
  const before = known?.(snapshot.accessKey);
  if (before === undefined || before.name !== snapshot.name || before.limitBytes !== snapshot.limitBytes)
    return snapshot;
  const [a, b] = [before.counters, snapshot.counters];
  if (a === null || b === null) return a === b ? before : snapshot;
  return a.bytesUp === b.bytesUp && a.bytesDown === b.bytesDown && a.connections === b.connections ? before : snapshot;
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import type { Backend, UsageReport } from '../../src/core/backend.js';
import { type Core, createCore } from '../../src/core/core.js';
import type { DomainError } from '../../src/core/errors.js';
import type { AccessKey, OutboundRule } from '../../src/core/model.js';
import type { LogPort } from '../../src/core/ports.js';
import { noResolver } from '../../src/dns/no-resolver.js';
import { createMemoryFiles } from '../../src/embedded/memory-files.js';
import { openLocalBackend } from '../../src/local/backend.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { openUpstreamBackend } from '../../src/southbound/backend.js';
import { createMemoryBackend, type MemoryBackendOptions, type Outside } from '../ports/memory-backend.js';
import { createFakeServer } from '../southbound/fake-server.js';

const NAMES = ['a', 'b', 'c', 'd'] as const;
const log: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** Every home that the state can have, empty. `outside` is what somebody else does to it. */
interface Home {
  readonly backend: Backend;
  readonly outside?: (change: Outside) => void;
  /** Where the backend does not count: what whoever does makes of a report. */
  readonly report?: (report: UsageReport) => void;
}

const HOMES: Readonly<Record<string, () => Promise<Home>>> = {
  'nothing but memory': async () => ({ backend: await local(null) }),
  'a configuration file': async () => ({ backend: await local('/etc/server.json') }),
  'elsewhere, with the keys in memory': async () => elsewhere({ hasLiveReads: false }),
  'elsewhere, with live reads': async () => elsewhere({ hasLiveReads: true }),
  'a running server': async () => runningServer(),
  'elsewhere, with keys in memory that follow it': async () => elsewhere({ hasLiveReads: true, isReplica: true }),
};

async function local(configPath: string | null): Promise<Backend> {
  const fileSystem = createMemoryFiles();
  if (configPath !== null) {
    await fileSystem.makeFolder('/etc', 0o700);
    const text = '{ "mode": "server", "access_keys": [], "outbound": { "enabled": true, "rules": [] } }';
    await fileSystem.create(configPath, Buffer.from(text), 0o600);
  }
  let time = 0;
  const clock = { now: () => 7, monotonic: () => time++ };
  return openLocalBackend({ configPath, fileSystem, clock, log, pollMilliseconds: 0, watch: false });
}

function elsewhere(options: MemoryBackendOptions): Home {
  const backend = createMemoryBackend(options);
  return { backend, outside: backend.outside };
}

/** By its own API. So much time passes between any two looks at the clock that every list is a new one. */
async function runningServer(): Promise<Home> {
  let time = 0;
  const monotonic = () => {
    time += 40_000;
    return time;
  };
  const [revision] = REVISIONS.filter(({ id }) => id === 'current');
  if (revision === undefined) throw new Error('there is no such line');
  const server = createFakeServer({ revision, monotonic, sleep: () => Promise.resolve() });
  const backend = await openUpstreamBackend({
    server,
    dataFolder: null,
    fileSystem: createMemoryFiles(),
    clock: { now: () => 7, monotonic },
    random: systemRandom,
    log,
    timers: { after: () => () => undefined, pause: () => Promise.resolve() },
  });
  return { backend, outside: server.outside, report: server.report };
}

/** What the management API says of a key, however the state is held. */
interface Modelled {
  name: string | null;
  limitBytes: bigint | null;
  counters: { bytesUp: bigint; bytesDown: bigint; connections: bigint } | null;
}

const name = fc.constantFrom(null, 'n', "Anna's");
const limit = fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));
const key = fc.constantFrom(...NAMES);
const step = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), key, name, limit }),
  fc.record({ kind: fc.constant('update' as const), key, name, limit }),
  fc.record({ kind: fc.constant('limit' as const), key, limit }),
  fc.record({ kind: fc.constantFrom('delete' as const, 'reset' as const), key }),
  fc.record({ kind: fc.constant('bulk' as const), count: fc.nat(2), limit }),
  fc.record({
    kind: fc.constant('report' as const),
    id: fc.constantFrom(null, 'r1', 'r2'),
    entries: fc.array(
      fc.record({ key: fc.constantFrom(...NAMES, 'unknown'), bytes: fc.nat(9), connections: fc.option(fc.nat(3)) }),
      {
        maxLength: 3,
      },
    ),
  }),
  fc.record({ kind: fc.constant('somebody puts' as const), key, name, limit }),
  fc.record({ kind: fc.constant('somebody removes' as const), key }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** The operations on a plain map, as the protocol has them. */
function createModel() {
  const keys = new Map<string, Modelled>();
  const reports = new Set<string>();
  const zero = () => ({ bytesUp: 0n, bytesDown: 0n, connections: 0n });

  function put(accessKey: string, record: Pick<Modelled, 'name' | 'limitBytes'>): void {
    const present = keys.get(accessKey);
    keys.set(accessKey, { ...record, counters: present?.counters ?? zero() });
  }

  return {
    keys,
    /** The error that the operation ends with, or null. */
    apply(asked: Step): string | null {
      switch (asked.kind) {
        case 'create':
          keys.set(asked.key, { name: asked.name, limitBytes: asked.limit, counters: zero() });
          return null;
        case 'update':
        case 'limit': {
          const present = keys.get(asked.key);
          if (present === undefined) return 'userNotFound';
          put(asked.key, { name: asked.kind === 'update' ? asked.name : present.name, limitBytes: asked.limit });
          return null;
        }
        case 'delete':
          return keys.delete(asked.key) ? null : 'userNotFound';
        case 'reset': {
          const present = keys.get(asked.key);
          if (present === undefined || present.counters === null) return 'userNotFound';
          present.counters = zero();
          return null;
        }
        case 'report':
          if (asked.id !== null && reports.has(asked.id)) return null;
          if (asked.id !== null) reports.add(asked.id);
          for (const { key: accessKey, bytes, connections } of asked.entries) {
            const present = keys.get(accessKey);
            if (present === undefined) continue;
            const before = present.counters ?? zero();
            present.counters = {
              bytesUp: before.bytesUp + BigInt(bytes),
              bytesDown: before.bytesDown + BigInt(bytes),
              connections: connections === null ? before.connections : BigInt(connections),
            };
          }
          return null;
        case 'somebody puts':
          put(asked.key, { name: asked.name, limitBytes: asked.limit });
          return null;
        case 'somebody removes':
          keys.delete(asked.key);
          return null;
        case 'bulk':
          return null;
      }
    },
  };
}

async function ask(core: Core, { backend, outside, report }: Home, asked: Step): Promise<readonly string[]> {
  switch (asked.kind) {
    case 'create':
      return [await core.createUser({ accessKey: asked.key, name: asked.name, limitBytes: asked.limit })];
    case 'update':
      await core.updateUser(recordOf(asked));
      return [];
    case 'limit':
      await core.setLimit(asked.key, asked.limit);
      return [];
    case 'delete':
      await core.deleteUser(asked.key);
      return [];
    case 'reset':
      await core.resetUser(asked.key);
      return [];
    case 'bulk':
      return core.bulkCreateUsers(BigInt(asked.count), asked.limit);
    case 'report':
      if (report !== undefined) report(reportOf(asked));
      else await backend.count(reportOf(asked), 'durable');
      return [];
    case 'somebody puts':
      outside?.({ put: recordOf(asked) });
      return [];
    case 'somebody removes':
      outside?.({ remove: asked.key });
      return [];
  }
}

function recordOf(asked: {
  readonly key: string;
  readonly name: string | null;
  readonly limit: bigint | null;
}): AccessKey {
  return { accessKey: asked.key, name: asked.name, limitBytes: asked.limit };
}

function reportOf({ id, entries }: Extract<Step, { kind: 'report' }>): UsageReport {
  return {
    id,
    entries: entries.map(({ key: accessKey, bytes, connections }) => ({
      accessKey,
      bytesUp: BigInt(bytes),
      bytesDown: BigInt(bytes),
      connections: connections === null ? null : BigInt(connections),
    })),
  };
}

function shown(record: Modelled) {
  const { name: called, limitBytes, counters } = record;
  return { name: called, limitBytes, counters };
}

async function expectAsModelled(core: Core, keys: ReadonlyMap<string, Modelled>): Promise<void> {
  for (const accessKey of [...NAMES, ...keys.keys()]) {
    const found = await core.key(accessKey);
    const modelled = keys.get(accessKey);
    if (modelled === undefined) expect(found).toBe(undefined);
    else expect(found).toMatchObject(shown(modelled));
  }
  await core.freshenKeys();
  for (const accessKey of NAMES) {
    expect((await core.subscriber(accessKey))?.limitBytes).toBe(keys.get(accessKey)?.limitBytes);
  }
  const traffic = ({ counters }: Modelled) => (counters === null ? 0n : counters.bytesUp + counters.bytesDown);
  const active = [...keys.values()].filter((one) => traffic(one) > 0n).length;
  expect(await core.status()).toMatchObject({ active, total: keys.size });
  const down = core.keys.ordered().map(({ accessKey }) => keys.get(accessKey)?.counters?.bytesDown ?? 0n);
  expect(down).toEqual([...down].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0)));
  expect(new Set(core.keys.ordered().map(({ accessKey }) => accessKey))).toEqual(new Set(keys.keys()));
}

describe.each(Object.entries(HOMES))('the core over a state that is kept in %s', (_place, open) => {
  it('does what the protocol says of keys and counters, whoever else changes them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const home = await open();
        const core = createCore({
          backend: home.backend,
          clock: { now: () => 7, monotonic: () => 0 },
          random: systemRandom,
          resolver: noResolver,
        });
        const model = createModel();
        for (const asked of steps) {
          if (home.outside === undefined && asked.kind.startsWith('somebody')) continue;
          const expected = model.apply(asked);
          const made = await ask(core, home, asked).catch((error: DomainError) => error.code);
          if (expected !== null) expect(made).toBe(expected);
          else if (asked.kind === 'bulk') {
            expect(made).toHaveLength(asked.count);
            for (const one of made) model.keys.set(one, { name: null, limitBytes: asked.limit, counters: null });
          }
          await expectAsModelled(core, model.keys);
        }
        await home.backend.close();
      }),
      { numRuns: 60 },
    );
  });
});

const RULE: OutboundRule = { domainSuffix: ['.onion'], ipCidr: [], protocol: null, action: 'proxy' };

describe.each([false, true])('a state elsewhere, with live reads: %s', (hasLiveReads) => {
  const stage = () => {
    const backend = createMemoryBackend({ hasLiveReads });
    const configured: unknown[] = [];
    const resolver = { ...noResolver, configure: (...settings: unknown[]) => configured.push(settings[1]) };
    const clock = { now: () => 7, monotonic: () => 0 };
    return { backend, configured, core: createCore({ backend, clock, random: systemRandom, resolver }) };
  };

  it('that is away refuses every change with backendAway, and nothing is changed', async () => {
    const { backend, core } = stage();
    await core.createUser({ accessKey: 'a', name: 'n', limitBytes: 1n });
    backend.becomes('away');
    const changes = [
      core.createUser({ accessKey: 'b', name: null, limitBytes: null }),
      core.bulkCreateUsers(1n, null),
      core.updateUser({ accessKey: 'a', name: null, limitBytes: null }),
      core.setLimit('a', 2n),
      core.deleteUser('a'),
      core.resetUser('a'),
      core.replaceRules([RULE]),
      core.changeDns({ enabled: true }),
    ];
    for (const change of changes) await expect(change).rejects.toMatchObject({ code: 'backendAway' });
    if (hasLiveReads) await expect(core.key('a')).rejects.toMatchObject({ code: 'backendAway' });
    backend.becomes('there');
    expect(await core.key('a')).toMatchObject({ name: 'n', limitBytes: 1n });
    expect(await core.status()).toEqual({ active: 0, total: 1, uptimeSeconds: hasLiveReads ? 42 : 0 });
  });

  it('tells the resolver of settings that anyone has changed', async () => {
    const { backend, core, configured } = stage();
    await expect(core.replaceRules([RULE])).rejects.toMatchObject({ code: 'outboundNotConfigured' });
    backend.outside({ rules: 'empty' });
    await core.replaceRules([RULE]);
    expect(await core.rules()).toEqual([RULE]);
    expect(configured.at(-1)).toMatchObject({ rules: [RULE] });
    backend.outside({ rules: 'none' });
    expect([await core.rules(), configured.at(-1)]).toEqual([[], null]);
  });

  it('without a configuration answers noConfigPath to its reading and replacing', async () => {
    const { core } = stage();
    await expect(core.readConfig()).rejects.toMatchObject({ code: 'noConfigPath' });
    await expect(core.replaceConfig(Buffer.from('{}'))).rejects.toMatchObject({ code: 'noConfigPath' });
  });
});

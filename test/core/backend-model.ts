import fc from 'fast-check';
import { expect } from 'vitest';
import type { Backend, UsageReport } from '../../src/core/backend.js';
import { type Core, createCore } from '../../src/core/core.js';
import type { DomainError } from '../../src/core/errors.js';
import type { AccessKey } from '../../src/core/model.js';
import { createNoResolver } from '../../src/dns/no-resolver.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import type { Outside } from '../ports/memory-backend.js';
import { tries } from '../tries.js';

const NAMES = ['a', 'b', 'c', 'd'] as const;

/** A home that the state can have, empty. */
export interface Home {
  readonly backend: Backend;
  /** What somebody else does to the state; once it resolves, it shows. */
  readonly outside?: (change: Outside) => void | Promise<void>;
  /** Where the backend does not count: what whoever does makes of a report. */
  readonly report?: (report: UsageReport) => void;
  /** What is to be done with it after use, instead of closing the backend. */
  readonly leave?: () => Promise<void>;
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
      await outside?.({ put: recordOf(asked) });
      return [];
    case 'somebody removes':
      await outside?.({ remove: asked.key });
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

/** Plays random operations over homes of one kind, and holds everything that is answered against a plain map. */
export async function expectModelled(open: () => Promise<Home>, numRuns = tries(30)): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const home = await open();
      const core = createCore({
        backend: home.backend,
        clock: { now: () => 7, monotonic: () => 0 },
        random: systemRandom,
        resolver: createNoResolver(),
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
      await (home.leave ?? home.backend.close)();
    }),
    { numRuns },
  );
}

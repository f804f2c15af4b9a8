import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import { MAX_U64 } from '../../../src/core/model.js';
import { collectGarbage } from '../../collect-garbage.js';
import { removeFrom } from './remove-from.js';

const names = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
const aKey = fc.constantFrom(...names);
const aLimit = fc.option(fc.bigInt({ min: 0n, max: MAX_U64 }), { nil: null });
const aCount = fc.bigInt({ min: 0n, max: MAX_U64 });

interface Model {
  readonly order: number;
  name: string | null;
  limit: bigint | null;
  counters: { up: bigint; down: bigint; connections: bigint } | null;
}

type Step = (registry: KeyRegistry, model: Map<string, Model>, next: () => number) => void;

const zero = () => ({ up: 0n, down: 0n, connections: 0n });

const aStep: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(aKey, aLimit, fc.boolean()).map(
    ([accessKey, limitBytes, bulk]): Step =>
      (registry, model, next) => {
        const key = { accessKey, name: bulk ? null : `n${accessKey}`, limitBytes };
        if (bulk) registry.createWithoutCounters(key);
        else registry.create(key);
        const order = model.get(accessKey)?.order ?? next();
        model.set(accessKey, { order, name: key.name, limit: limitBytes, counters: bulk ? null : zero() });
      },
  ),
  fc.tuple(aKey, aLimit).map(
    ([accessKey, limitBytes]): Step =>
      (registry, model) => {
        const present = model.get(accessKey);
        expect(registry.update({ accessKey, name: 'updated', limitBytes })).toBe(present !== undefined);
        if (present !== undefined) {
          Object.assign(present, { name: 'updated', limit: limitBytes, counters: present.counters ?? zero() });
        }
      },
  ),
  aKey.map(
    (accessKey): Step =>
      (registry, model) => {
        expect(removeFrom(registry, accessKey)).toBe(model.delete(accessKey));
      },
  ),
  aKey.map(
    (accessKey): Step =>
      (registry, model) => {
        const counters = model.get(accessKey)?.counters ?? null;
        expect(registry.reset(accessKey)).toBe(counters !== null);
        if (counters !== null) Object.assign(counters, zero());
      },
  ),
  fc.tuple(aKey, aCount, aCount, aCount).map(
    ([accessKey, up, down, connections]): Step =>
      (registry, model) => {
        const present = model.get(accessKey);
        const known = registry.setCounters(accessKey, { bytesUp: up, bytesDown: down, connections });
        expect(known).toBe(present !== undefined);
        if (present !== undefined) present.counters = { up, down, connections };
      },
  ),
  fc.array(fc.tuple(aKey, aCount, aCount, fc.option(aCount, { nil: null })), { maxLength: 4 }).map(
    (entries): Step =>
      (registry, model) => {
        registry.addUsage(
          entries.map(([accessKey, bytesUp, bytesDown, connections]) => ({
            accessKey,
            bytesUp,
            bytesDown,
            connections,
          })),
        );
        for (const [accessKey, up, down, connections] of entries) {
          const present = model.get(accessKey);
          if (present === undefined) continue;
          const before = present.counters ?? zero();
          present.counters = {
            up: capped(before.up + up),
            down: capped(before.down + down),
            connections: connections ?? before.connections,
          };
        }
      },
  ),
);

const capped = (sum: bigint): bigint => (sum > MAX_U64 ? MAX_U64 : sum);

/** The counts as a walk over the model finds them. */
function countsOf(model: ReadonlyMap<string, Model>) {
  const all = [...model.values()].map(({ limit, counters }) => ({ limit, ...(counters ?? zero()), counters }));
  const count = (holds: (key: (typeof all)[number]) => boolean) => all.filter(holds).length;
  return {
    active: count(({ up, down }) => up > 0n || down > 0n),
    overLimit: count(({ limit, up, down }) => limit !== null && up + down >= limit),
    withCounters: count(({ counters }) => counters !== null),
    connected: count(({ connections }) => connections > 0n),
  };
}

const byBytesDown = ([, a]: [string, Model], [, b]: [string, Model]): number => {
  const left = a.counters?.down ?? 0n;
  const right = b.counters?.down ?? 0n;
  return left === right ? a.order - b.order : left > right ? -1 : 1;
};

describe('the key registry', () => {
  it('after any sequence of changes lists, counts and reads as a plain model does', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(aStep, fc.boolean()), { maxLength: 60 }), (steps) => {
        const registry = new KeyRegistry(() => 7);
        const model = new Map<string, Model>();
        let order = 0;
        for (const [step, readsBetween] of steps) {
          step(registry, model, () => order++);
          if (readsBetween) registry.ordered();
        }
        const expected = [...model].sort(byBytesDown);
        expect(registry.ordered().map(({ accessKey }) => accessKey)).toEqual(expected.map(([accessKey]) => accessKey));
        expect(registry.size).toBe(model.size);
        expect(registry.counts).toEqual(countsOf(model));
        expect(registry.active).toBe(registry.counts.active);
        for (const [accessKey, { name, limit, counters }] of model) {
          const entry = registry.get(accessKey);
          expect([entry?.name, entry?.limitBytes]).toEqual([name, limit]);
          expect(entry?.counters?.bytesDown).toBe(counters?.down);
          if (counters !== null) expect(entry?.counters?.limitBytes).toBe(limit);
        }
        const slots = registry.ordered().map(({ slot }) => slot);
        expect(new Set(slots).size).toBe(slots.length);
      }),
    );
  });

  it('keeps nothing of keys that come and go while nobody reads the order', async () => {
    const registry = new KeyRegistry(() => 7);
    const comeAndGo = (accessKey: string) => {
      registry.create({ accessKey, name: null, limitBytes: null });
      const entry = new WeakRef(registry.get(accessKey) ?? expect.unreachable());
      removeFrom(registry, accessKey);
      return entry;
    };
    const first = comeAndGo('first');
    for (let n = 0; n < 2_000; n += 1) comeAndGo(`key-${n}`);
    await collectGarbage();
    expect(first.deref()?.accessKey ?? 'collected').toBe('collected');
    expect(registry.ordered()).toEqual([]);
  });

  it('when a configuration takes a key away and brings it back, its counters come back with it', () => {
    const registry = new KeyRegistry(() => 7);
    const a = { accessKey: 'a', name: null, limitBytes: null };
    registry.replaceAll([a]);
    registry.setCounters('a', { bytesUp: 1n, bytesDown: 2n, connections: 3n });
    registry.replaceAll([]);
    expect(registry.get('a')).toBeUndefined();
    expect(registry.counts).toEqual({ active: 0, overLimit: 0, withCounters: 0, connected: 0 });
    registry.replaceAll([{ ...a, limitBytes: 9n }]);
    expect(registry.counts).toEqual({ active: 1, overLimit: 0, withCounters: 1, connected: 1 });
    expect(registry.get('a')?.counters).toEqual({
      bytesUp: 1n,
      bytesDown: 2n,
      connections: 3n,
      limitBytes: 9n,
      createdAt: 7,
    });
  });

  it.each(['remove', 'create'] as const)('after %s the counters that a configuration set aside are dropped', (how) => {
    const registry = new KeyRegistry(() => 7);
    const a = { accessKey: 'a', name: null, limitBytes: null };
    registry.replaceAll([a]);
    registry.setCounters('a', { bytesUp: 1n, bytesDown: 2n, connections: 3n });
    registry.replaceAll([]);
    if (how === 'remove') removeFrom(registry, 'a');
    else registry.create(a);
    registry.replaceAll([a]);
    expect(registry.get('a')?.counters?.bytesDown).toBe(0n);
  });

  it('a key read from a file gets counters at zero, also when it was a bulk key before', () => {
    const registry = new KeyRegistry(() => 7);
    const a = { accessKey: 'a', name: null, limitBytes: 5n };
    registry.createWithoutCounters(a);
    registry.replaceAll([a]);
    expect(registry.get('a')?.counters?.limitBytes).toBe(5n);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import type { KeptCounters } from '../../../src/core/keys/types.js';
import { MAX_U64 } from '../../../src/core/model.js';
import { tries } from '../../tries.js';
import { removeFrom } from './remove-from.js';

const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
const aKey = fc.constantFrom(...NAMES);
const aCount = fc.oneof(fc.bigInt({ min: 0n, max: 9n }), fc.constantFrom(MAX_U64 - 3n, MAX_U64));
const record = (accessKey: string) => ({ accessKey, name: null, limitBytes: null });

interface Counters {
  up: bigint;
  down: bigint;
  connections: bigint;
  createdAt: number;
}

/** What a plain model remembers of one key; absent when nothing is known of it. */
interface Known {
  isRegistered: boolean;
  counters: Counters | null;
  leftAt: number | null;
}

interface World {
  readonly registry: KeyRegistry;
  readonly model: Map<string, Known>;
  readonly now: { at: number };
}

type Step = (world: World) => void;

const clip = (sum: bigint) => (sum > MAX_U64 ? MAX_U64 : sum);
const zero = (createdAt: number): Counters => ({ up: 0n, down: 0n, connections: 0n, createdAt });

const aUsage = fc.record({ accessKey: aKey, bytesUp: aCount, bytesDown: aCount, connections: fc.option(aCount) });

const steps: Readonly<Record<string, fc.Arbitrary<Step>>> = {
  create: aKey.map((key) => ({ registry, model, now }) => {
    registry.create(record(key));
    model.set(key, { isRegistered: true, counters: zero(now.at), leftAt: null });
  }),
  bulk: aKey.map((key) => ({ registry, model }) => {
    registry.createWithoutCounters(record(key));
    model.set(key, { isRegistered: true, counters: null, leftAt: null });
  }),
  reset: aKey.map((key) => ({ registry, model }) => {
    const known = model.get(key);
    const counters = known?.isRegistered === true ? known.counters : null;
    expect(registry.reset(key)).toBe(counters !== null);
    if (counters !== null) Object.assign(counters, { ...zero(0), createdAt: counters.createdAt });
  }),
  setAside: aKey.map((key) => ({ registry, model, now }) => {
    const known = model.get(key);
    expect(registry.setAside(key)).toBe(known?.isRegistered === true);
    if (known?.isRegistered !== true) return;
    if (known.counters === null) model.delete(key);
    else Object.assign(known, { isRegistered: false, leftAt: now.at });
  }),
  forget: aKey.map((key) => ({ registry, model }) => {
    registry.forget(key);
    if (model.get(key)?.isRegistered === false) model.delete(key);
  }),
  remove: aKey.map((key) => ({ registry, model }) => {
    expect(removeFrom(registry, key)).toBe(model.get(key)?.isRegistered === true);
    model.delete(key);
  }),
  configuration: fc.uniqueArray(aKey).map((keys) => ({ registry, model, now }) => {
    registry.replaceAll(keys.map(record));
    for (const [key, known] of [...model]) {
      if (!known.isRegistered || keys.some((one) => one === key)) continue;
      if (known.counters === null) model.delete(key);
      else Object.assign(known, { isRegistered: false, leftAt: now.at });
    }
    for (const key of keys) {
      const counters = model.get(key)?.counters ?? zero(now.at);
      model.set(key, { isRegistered: true, counters, leftAt: null });
    }
    for (const known of model.values()) if (!known.isRegistered) known.leftAt ??= now.at;
  }),
  usage: fc.array(aUsage, { maxLength: 4 }).map((report) => ({ registry, model, now }) => {
    const { unknown, full } = registry.addUsage(report);
    const isUnknown = ({ accessKey }: { accessKey: string }) => model.get(accessKey)?.isRegistered !== true;
    expect(unknown).toEqual(report.filter(isUnknown).map(({ accessKey }) => accessKey));
    const overflowing: string[] = [];
    for (const entry of report) {
      const known = model.get(entry.accessKey);
      if (known === undefined || !known.isRegistered) continue;
      known.counters ??= zero(now.at);
      const [up, down] = [known.counters.up + entry.bytesUp, known.counters.down + entry.bytesDown];
      if (up > MAX_U64 || down > MAX_U64) overflowing.push(entry.accessKey);
      Object.assign(known.counters, { up: clip(up), down: clip(down) });
      known.counters.connections = entry.connections ?? known.counters.connections;
    }
    expect(full).toEqual(overflowing);
  }),
  takeOver: fc.tuple(aUsage, fc.option(fc.nat(20))).map(([usage, leftAt]) => ({ registry, model }) => {
    const { accessKey, bytesUp, bytesDown } = usage;
    const connections = usage.connections ?? 0n;
    registry.takeOver({ accessKey, bytesUp, bytesDown, connections, createdAt: 3, leftAt });
    const isRegistered = model.get(accessKey)?.isRegistered === true;
    const counters = { up: bytesUp, down: bytesDown, connections, createdAt: 3 };
    model.set(accessKey, { isRegistered, counters, leftAt: isRegistered ? null : leftAt });
  }),
  forgetRemoved: fc.nat(40).map((until) => ({ registry, model }) => {
    const old = [...model].filter(([, { leftAt }]) => leftAt !== null && leftAt <= until);
    expect(registry.forgetRemoved(until)).toBe(old.length);
    for (const [key] of old) model.delete(key);
  }),
};

function keptBy(model: ReadonlyMap<string, Known>): readonly KeptCounters[] {
  return [...model].flatMap(([accessKey, { counters, leftAt }]) => {
    if (counters === null) return [];
    const { up: bytesUp, down: bytesDown, connections, createdAt } = counters;
    return [{ accessKey, bytesUp, bytesDown, connections, createdAt, leftAt }];
  });
}

const byKey = (a: KeptCounters, b: KeptCounters) => (a.accessKey < b.accessKey ? -1 : 1);
const sorted = (kept: Iterable<KeptCounters>) => [...kept].sort(byKey);

describe('what a registry keeps of its counters', () => {
  it('after any changes is what a plain model keeps, and a store that follows the changes has exactly that', () => {
    const aStep = fc.oneof(...Object.values(steps));
    fc.assert(
      fc.property(fc.array(fc.tuple(aStep, fc.boolean()), { maxLength: 40 }), (story) => {
        const now = { at: 10 };
        const registry = new KeyRegistry(() => now.at, { tracksChanges: true });
        const world = { registry, model: new Map<string, Known>(), now };
        const stored = new Map<string, KeptCounters>();
        const follow = () =>
          registry.takeChanged((accessKey, kept) => {
            if (kept === null) stored.delete(accessKey);
            else stored.set(accessKey, kept);
          });
        for (const [step, isFollowed] of story) {
          step(world);
          now.at += 1;
          if (isFollowed) follow();
        }
        expect(sorted(registry.allKept())).toEqual(sorted(keptBy(world.model)));
        for (const key of NAMES) {
          expect(registry.kept(key)).toEqual(keptBy(world.model).find(({ accessKey }) => accessKey === key) ?? null);
        }
        follow();
        expect(sorted(stored.values())).toEqual(sorted(registry.allKept()));
        let more = 0;
        registry.takeChanged(() => {
          more += 1;
        });
        expect(more).toBe(0);
      }),
      { numRuns: tries(170) },
    );
  });

  it('restored, gives every registered key its counters or zero, and the others wait for their keys', () => {
    const aKept = fc
      .uniqueArray(fc.tuple(aUsage, fc.option(fc.nat(5))), { selector: ([{ accessKey }]) => accessKey })
      .map((all) =>
        all.map(([{ accessKey, bytesUp, bytesDown, connections }, leftAt]) => ({
          ...{ accessKey, bytesUp, bytesDown, connections: connections ?? 0n },
          ...{ createdAt: 3, leftAt },
        })),
      );
    fc.assert(
      fc.property(fc.uniqueArray(aKey), fc.array(aUsage), aKept, (registered, usage, kept) => {
        const registry = new KeyRegistry(() => 7);
        registry.replaceAll(registered.map(record));
        registry.addUsage(usage);
        registry.restore(kept);
        for (const key of registered) {
          const { bytesUp = 0n, bytesDown = 0n } = kept.find(({ accessKey }) => accessKey === key) ?? {};
          expect(registry.get(key)?.counters).toMatchObject({ bytesUp, bytesDown });
        }
        for (const one of kept.filter(({ accessKey }) => !registered.some((key) => key === accessKey))) {
          expect(registry.kept(one.accessKey)).toEqual({ ...one, leftAt: one.leftAt ?? 7 });
          registry.replaceAll([...registered, one.accessKey].map(record));
          expect(registry.get(one.accessKey)?.counters).toMatchObject({ bytesUp: one.bytesUp, createdAt: 3 });
          registry.replaceAll(registered.map(record));
        }
      }),
    );
  });

  it('is not followed unless it was asked for', () => {
    const registry = new KeyRegistry(() => 7);
    registry.create(record('a'));
    registry.takeChanged(() => expect.unreachable());
    expect(registry.kept('a')).toMatchObject({ accessKey: 'a', createdAt: 7 });
  });
});

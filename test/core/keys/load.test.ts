import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import type { KeptCounters } from '../../../src/core/keys/types.js';
import type { AccessKey } from '../../../src/core/model.js';
import { removeFrom } from './remove-from.js';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const NOW = 5000;

type Kept = { readonly kind: 'kept'; readonly kept: KeptCounters };
type Dropped = { readonly kind: 'dropped'; readonly accessKey: string };

const small = fc.bigInt({ min: 0n, max: 3n });
const keptCounters = fc.record({
  accessKey: fc.constantFrom(...NAMES),
  bytesUp: small,
  bytesDown: small,
  connections: small,
  createdAt: fc.integer({ min: 1, max: 4 }),
  leftAt: fc.option(fc.integer({ min: 1, max: 4 })),
});
const stored: fc.Arbitrary<Kept | Dropped> = fc.oneof(
  keptCounters.map((kept): Kept => ({ kind: 'kept', kept })),
  fc.constantFrom(...NAMES).map((accessKey): Dropped => ({ kind: 'dropped', accessKey })),
);
const configured = fc.uniqueArray(
  fc.record({
    accessKey: fc.constantFrom(...NAMES),
    name: fc.constantFrom(null, 'name'),
    limitBytes: fc.option(small),
  }),
  { selector: (key) => key.accessKey },
);

function registry(): KeyRegistry {
  return new KeyRegistry(() => NOW, { tracksChanges: true });
}

function shown(keys: KeyRegistry) {
  return {
    size: keys.size,
    active: keys.active,
    list: keys.ordered().map(({ accessKey, name, limitBytes, overLimit, counters }) => ({
      accessKey,
      name,
      limitBytes,
      overLimit,
      counters,
    })),
    kept: NAMES.map((name) => keys.kept(name)),
  };
}

function changes(keys: KeyRegistry): ReadonlyMap<string, KeptCounters | null> {
  const found = new Map<string, KeptCounters | null>();
  keys.takeChanged((accessKey, kept) => found.set(accessKey, kept));
  return found;
}

function manyKeys(count: number): AccessKey[] {
  return Array.from({ length: count }, (_, index) => ({ accessKey: `key-${index}`, name: null, limitBytes: null }));
}

describe('loading what a store has', () => {
  it('behind the keys of the configuration gives what loading it before them gives', () => {
    fc.assert(
      fc.property(configured, fc.array(stored), (config, records) => {
        const behind = registry();
        behind.replaceAll(config);
        for (const record of records) {
          if (record.kind === 'kept') behind.load(record.kept);
          else behind.loadDropped(record.accessKey);
        }
        behind.replaceAll(config);
        const before = registry();
        for (const record of records) {
          if (record.kind === 'kept') before.takeOver(record.kept);
          else before.forget(record.accessKey);
        }
        before.replaceAll(config);
        expect(shown(behind)).toEqual(shown(before));
      }),
    );
  });

  it('leaves as changes exactly what the store does not have', () => {
    fc.assert(
      fc.property(configured, fc.array(stored), (config, records) => {
        const has = new Map<string, KeptCounters>();
        const keys = registry();
        keys.replaceAll(config);
        for (const record of records) {
          if (record.kind === 'kept') {
            keys.load(record.kept);
            has.set(record.kept.accessKey, record.kept);
          } else {
            keys.loadDropped(record.accessKey);
            has.delete(record.accessKey);
          }
        }
        keys.replaceAll(config);
        for (const [accessKey, kept] of changes(keys)) {
          if (kept === null) has.delete(accessKey);
          else has.set(accessKey, kept);
        }
        expect(NAMES.map((name) => has.get(name) ?? null)).toEqual(NAMES.map((name) => keys.kept(name)));
      }),
    );
  });
});

describe('a configuration with a great many new keys', () => {
  it('leaves them out of the changes, and says so once', () => {
    const keys = registry();
    keys.replaceAll(manyKeys(10_000));
    expect(changes(keys).size).toBe(0);
    expect([keys.takeUnlisted(), keys.takeUnlisted()]).toEqual([true, false]);
    expect([...keys.allKept()]).toHaveLength(10_000);
  });

  it('has nothing left out when the store has them all', () => {
    const keys = registry();
    const many = manyKeys(10_000);
    keys.replaceAll(many);
    for (const { accessKey } of many) {
      keys.load({ accessKey, bytesUp: 0n, bytesDown: 0n, connections: 0n, createdAt: 1, leftAt: null });
    }
    keys.replaceAll(many);
    expect(keys.takeUnlisted()).toBe(false);
  });

  it('lists one of them as soon as something is counted', () => {
    const keys = registry();
    keys.replaceAll(manyKeys(10_000));
    keys.addUsage([{ accessKey: 'key-7', bytesUp: 1n, bytesDown: 0n, connections: null }]);
    expect([...changes(keys).keys()]).toEqual(['key-7']);
  });

  it('lists the few that come later one by one', () => {
    const keys = registry();
    keys.replaceAll(manyKeys(10_000));
    keys.replaceAll(manyKeys(10_003));
    expect([...changes(keys).keys()]).toEqual(['key-10000', 'key-10001', 'key-10002']);
  });
});

describe('the same configuration again', () => {
  it('changes nothing, and what has changed meanwhile is put right', () => {
    const keys = registry();
    const config = manyKeys(3);
    keys.replaceAll(config);
    const generation = keys.generation;
    keys.replaceAll(config);
    expect(keys.generation).toBe(generation);
    removeFrom(keys, 'key-1');
    keys.createWithoutCounters({ accessKey: 'key-2', name: 'other', limitBytes: 1n });
    keys.create({ accessKey: 'more', name: null, limitBytes: null });
    keys.replaceAll(config);
    expect([...keys.entries()].map(({ accessKey, name }) => [accessKey, name])).toEqual([
      ['key-0', null],
      ['key-2', null],
      ['key-1', null],
    ]);
    expect([...keys.entries()].every(({ counters }) => counters !== null)).toBe(true);
  });
});

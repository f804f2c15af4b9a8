import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DomainError } from '../../../src/core/errors.js';
import { MAX_U64 } from '../../../src/core/model.js';
import type { DatabaseBackend } from '../../../src/homes/database/backend.js';
import { createKey, deleteKey, resetKey, updateKey } from '../../ports/key-changes.js';
import { tries } from '../../tries.js';
import { WHOLE } from '../../whole.js';
import { describeDatabases, freshDatabase, query } from './database.js';
import { key, openBackend, report, seesAll } from './gateways.js';
import { proxyForTest } from './proxy.js';

const KEYS = ['a', 'b'];
/** Nobody looks but for what somebody asks. */
const STILL = { pollMilliseconds: 600_000, listens: false };

/** Of a key with counters: bytes up, and connections as each gateway has told of them last. */
interface Counted {
  up: bigint;
  readonly told: Map<number, bigint>;
}

type Step = { readonly at: number; readonly key: string } & (
  | { readonly do: 'count'; readonly bytes: bigint; readonly connections: bigint | null }
  | { readonly do: 'reset' | 'remove' | 'create' | 'look' }
);

const step: fc.Arbitrary<Step> = fc
  .record({
    at: fc.integer({ min: 0, max: 1 }),
    key: fc.constantFrom(...KEYS),
    bytes: fc.constantFrom(0n, 1n, 5n, 2n ** 63n, MAX_U64),
    connections: fc.option(fc.bigInt(0n, 3n), { freq: 1 }),
    do: fc.oneof(
      { weight: 6, arbitrary: fc.constant('count' as const) },
      { weight: 2, arbitrary: fc.constant('reset' as const) },
      { weight: 1, arbitrary: fc.constantFrom('remove' as const, 'create' as const, 'look' as const) },
    ),
  })
  .map((all) => all as Step);

describeDatabases('a write of one key', () => {
  it('shows without a look where it was written onto what is there', async () => {
    const one = await openBackend(await freshDatabase(), STILL);
    await createKey(one, key('a', 'n', 1n));
    // The first change that takes something away keeps a version, and looks at what it is of.
    await updateKey(one, 'a', { limitBytes: 3n });
    const { looks } = one.status();
    await createKey(one, key('b'));
    await updateKey(one, 'a', { limitBytes: 2n });
    expect(one.keys.get('a')).toMatchObject({ name: 'n', limitBytes: 2n, counters: { bytesUp: 0n } });
    await resetKey(one, 'a');
    await deleteKey(one, 'a');
    expect(one.keys.get('a')).toBe(undefined);
    expect(one.status().looks).toBe(looks);
  });

  it('shows with all that others have written before it', async () => {
    const url = await freshDatabase();
    const [one, other] = [await openBackend(url, STILL), await openBackend(url, STILL)];
    await createKey(one, key('a'));
    await createKey(other, key('b'));
    await updateKey(other, 'a', { name: 'theirs', limitBytes: 1n });
    await updateKey(one, 'a', { limitBytes: 2n });
    expect(one.keys.get('a')).toMatchObject({ name: 'theirs', limitBytes: 2n });
    expect(one.keys.get('b')).toBeDefined();
  });
});

describeDatabases('what a gateway counts itself', () => {
  it('shows without a look where it was counted onto what is there', async () => {
    const one = await openBackend(await freshDatabase(), STILL);
    await createKey(one, key('a'));
    const { looks } = one.status();
    for (let n = 0; n < 20; n += 1) await one.count(report(null, 'a', 3n), 'durable');
    expect(one.keys.get('a')?.counters).toMatchObject({ bytesUp: 60n, bytesDown: 60n });
    expect(one.status().looks).toBe(looks);
    expect(one.status().seen).toMatchObject({ counters: 20n, connections: 20n });
  });

  it('counts once a key of a bulk creation, which has no counters before', async () => {
    const one = await openBackend(await freshDatabase(), STILL);
    await one.createBareKeys([key('a')]);
    expect(one.keys.get('a')?.counters).toBe(null);
    await one.count(report(null, 'a', 2n), 'durable');
    await one.count(report(null, 'a', 2n), 'durable');
    expect(one.keys.get('a')?.counters).toMatchObject({ bytesUp: 4n });
  });

  it('shows where it cannot be read back, and is what the database has once it can', async () => {
    const url = await freshDatabase();
    const proxy = await proxyForTest(url);
    const [one, other] = [await openBackend(proxy.url, STILL), await openBackend(url, STILL)];
    await one.createBareKeys([key('a'), key('b')]);
    await seesAll(one);
    await other.count(report(null, 'a', 4n), 'durable');
    await other.count(report(null, 'b', 4n), 'durable');
    for (const name of ['a', 'b']) {
      proxy.cutAround('repeatable read', 'before');
      expect(await one.count(report(null, name, 3n), 'durable')).toMatchObject({ durability: 'durable' });
      expect(one.keys.get(name)?.counters?.bytesUp).toBe(3n);
    }
    await lookAtAll(one);
    for (const name of ['a', 'b']) expect(one.keys.get(name)?.counters?.bytesUp).toBe(7n);
  });

  it('is what the database has, whatever the other gateway counts, resets, removes and creates in between', async () => {
    const url = await freshDatabase();
    const gateways = [await openBackend(url, STILL), await openBackend(url, STILL)];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const model = new Map<string, Counted>();
        for (const name of KEYS)
          for (const gateway of gateways) await play(gateway, { at: 0, key: name, do: 'create' }, model);
        for (const one of steps) {
          const gateway = gateways[one.at] as DatabaseBackend; // There are two.
          await play(gateway, one, model);
          if (one.do === 'count' || one.do === 'reset')
            expect(shown(gateway, [one.key])).toEqual(told(model, [one.key]));
        }
        for (const gateway of gateways) {
          await lookAtAll(gateway);
          expect(shown(gateway, KEYS)).toEqual(told(model, KEYS));
        }
      }),
      { numRuns: tries(WHOLE ? 15 : 4) },
    );
    const rows = await query(url, 'select bytes_up from keyway.counters order by access_key');
    const [one] = gateways;
    expect(rows.map(({ bytes_up }) => String(bytes_up))).toEqual(
      KEYS.flatMap((name) => one?.keys.get(name)?.counters?.bytesUp ?? []).map(String),
    );
  });
});

async function play(gateway: DatabaseBackend, one: Step, model: Map<string, Counted>): Promise<void> {
  const found = model.get(one.key);
  switch (one.do) {
    case 'count': {
      const { unknownKeys } = await gateway.count(report(null, one.key, one.bytes, one.connections), 'durable');
      expect(unknownKeys).toEqual(found === undefined ? [one.key] : []);
      if (found === undefined) return;
      found.up = found.up + one.bytes > MAX_U64 ? MAX_U64 : found.up + one.bytes;
      if (one.connections !== null) found.told.set(one.at, one.connections);
      return;
    }
    case 'reset':
      if (await isFound(resetKey(gateway, one.key))) model.set(one.key, { up: 0n, told: new Map() });
      return;
    case 'remove':
      await isFound(deleteKey(gateway, one.key));
      model.delete(one.key);
      return;
    case 'create':
      await createKey(gateway, key(one.key));
      model.set(one.key, { up: 0n, told: new Map() });
      return;
    case 'look':
      return lookAtAll(gateway);
  }
}

async function isFound(change: Promise<void>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'userNotFound') return false;
    throw error;
  }
}

/** A report that was counted before is answered once all shows. */
async function lookAtAll(gateway: DatabaseBackend): Promise<void> {
  const again = { id: 'again', entries: [] };
  await gateway.count(again, 'durable');
  await gateway.count(again, 'durable');
  await seesAll(gateway);
}

function shown({ keys }: DatabaseBackend, names: readonly string[]): readonly unknown[] {
  return names.map((name) => {
    const counters = keys.get(name)?.counters;
    return counters == null ? null : { up: counters.bytesUp, connections: counters.connections };
  });
}

function told(model: ReadonlyMap<string, Counted>, names: readonly string[]): readonly unknown[] {
  return names.map((name) => {
    const counted = model.get(name);
    if (counted === undefined) return null;
    return { up: counted.up, connections: [...counted.told.values()].reduce((sum, one) => sum + one, 0n) };
  });
}

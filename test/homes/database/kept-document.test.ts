import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import type { KeyReader } from '../../../src/core/keys/types.js';
import type { DnsChange, OutboundRule } from '../../../src/core/model.js';
import { inTurns } from '../../../src/core/steps.js';
import { KeptDocument } from '../../../src/homes/database/kept-document.js';
import { createReplica } from '../../../src/homes/database/replica.js';
import { WHOLE } from '../../whole.js';

type Keys = Pick<KeyReader, 'get' | 'entries'>;

/** A database that holds a document of a number, and keys that follow it. */
function stage(text: string, wrap: (keys: Keys) => Keys = (keys) => keys, onFresh = () => {}) {
  let put = { number: 0, text };
  let state = 0;
  let rules: readonly OutboundRule[] = [];
  let dnsChanges: readonly DnsChange[] = [];
  let outbound = { rules };
  const registry = new KeyRegistry(() => 0);
  const observers: KeptDocument[] = [];
  const replica = createReplica(registry, {
    recordChanged: (key) => observers.map((each) => each.recordChanged(key)),
    placeChanged: (key) => observers.map((each) => each.placeChanged(key)),
    allChanged: () => observers.map((each) => each.allChanged()),
  });
  const reads = { documents: 0 };
  const row = (accessKey: string, limitBytes: bigint | null, position: number, ordinal: number, removed = false) => ({
    ...{ accessKey, name: null, limitBytes, position, ordinal, removed, incarnation: position, counters: null },
  });
  const kept = () => {
    const document = new KeptDocument({
      connections: {
        async run() {
          reads.documents += 1;
          return [[[`${put.number}`, 't', gzipSync(put.text).toString('hex')]]];
        },
      },
      keys: wrap(registry),
      present: () => ({ outbound: outbound as never, dnsChanges }),
      async fresh() {
        await setImmediate();
        onFresh();
      },
      seen: () => ({ state: BigInt(state), document: BigInt(put.number) }),
      registeredAt: replica.registeredAt,
      refused: (reason) => {
        throw new Error(reason);
      },
    });
    onTestFinished(() => document.close());
    observers.push(document);
    return document;
  };
  const positions = new Map<string, number>();
  return {
    kept,
    reads,
    load(keys: readonly string[]) {
      for (const key of keys) positions.set(key, 0);
      replica.takeKeys(keys.map((key, ordinal) => row(key, null, 0, ordinal)));
    },
    set(key: string, limit: bigint | null) {
      state += 1;
      const position = positions.get(key) ?? state;
      positions.set(key, position);
      replica.takeKeys([row(key, limit, position, 0)]);
    },
    remove(key: string) {
      state += 1;
      positions.delete(key);
      replica.takeKeys([row(key, null, state, 0, true)]);
    },
    async readAnew() {
      const rows = [...registry.entries()].map((entry) => row(entry.accessKey, entry.limitBytes, 0, entry.order));
      await inTurns(replica.replaceAll(rows, []));
    },
    setRules(suffixes: readonly string[]) {
      state += 1;
      rules = suffixes.map(
        (suffix) => ({ domainSuffix: [suffix], ipCidr: [], protocol: null, action: 'direct' }) as never,
      );
      outbound = { rules };
    },
    setDns(enabled: boolean) {
      state += 1;
      dnsChanges = [{ enabled }];
    },
    put(next: string, keys: readonly string[]) {
      state += 1;
      for (const { accessKey } of [...registry.entries()]) if (!keys.includes(accessKey)) this.remove(accessKey);
      put = { number: state, text: next };
      for (const key of keys) if (!positions.has(key)) positions.set(key, state);
      replica.takeKeys(keys.map((key, ordinal) => row(key, null, positions.get(key) ?? 0, ordinal)));
    },
  };
}

const textOf = (keys: readonly string[]) =>
  JSON.stringify({ mode: 'server', access_keys: keys, outbound: { enabled: true, rules: [] } }, null, 2);
const read = async (document: KeptDocument) =>
  JSON.parse(Buffer.concat(await (await document.current()).compact()).toString());
const names = ['a', 'b', 'c', 'd', 'e', 'f'];

describe('a configuration that is kept between changes', () => {
  it('is after every change what one is that was read and changed from the beginning', async () => {
    const some = fc.subarray(names);
    const change = fc.oneof(
      { weight: 4, arbitrary: fc.record({ set: fc.constantFrom(...names), limit: fc.bigInt({ min: 0n, max: 9n }) }) },
      { weight: 3, arbitrary: fc.record({ remove: fc.constantFrom(...names) }) },
      fc.record({ rules: fc.array(fc.constantFrom('.x', '.y'), { maxLength: 2 }) }),
      fc.record({ dns: fc.boolean() }),
      fc.record({ put: some }),
      fc.constant({ anew: true }),
      fc.constant({ read: true }),
    );
    await fc.assert(
      fc.asyncProperty(some, fc.array(change, { maxLength: 30 }), async (first, changes) => {
        const on = stage(textOf(first));
        on.load(first);
        const kept = on.kept();
        for (const one of changes) {
          if ('set' in one) on.set(one.set, one.limit);
          else if ('remove' in one) on.remove(one.remove);
          else if ('rules' in one) on.setRules(one.rules);
          else if ('dns' in one) on.setDns(one.dns);
          else if ('put' in one) on.put(textOf(one.put), one.put);
          else if ('anew' in one) await on.readAnew();
          else expect(await read(kept)).toEqual(await read(on.kept()));
        }
        expect(await read(kept)).toEqual(await read(on.kept()));
      }),
      { seed: 28, numRuns: 60 },
    );
  });

  it('is read from the database once, however often it is asked for and changed, until another is put', async () => {
    const on = stage(textOf(['a']));
    on.load(['a']);
    const kept = on.kept();
    await Promise.all([read(kept), read(kept)]);
    on.set('b', 1n);
    expect(await read(kept)).toMatchObject({ access_keys: ['a', { access_key: 'b', limit_bytes: 1 }] });
    expect(on.reads.documents).toBe(1);
    const before = await kept.current();
    expect(await (await kept.current()).compact()).toBe(await before.compact());
    on.put(textOf(['z']), ['z']);
    expect(await read(kept)).toMatchObject({ access_keys: ['z'] });
    expect(on.reads.documents).toBe(2);
  });

  it('has a change that comes while it is made, and is one of a single moment', async () => {
    const many = Array.from({ length: 30_000 }, (_, n) => `k${n}`);
    const on = stage(textOf(many));
    on.load(many);
    const reading = on.kept().current();
    let isOver = false;
    const changing = (async () => {
      for (let n = 0; !isOver && n < 200; n += 1) {
        // Two keys in one moment: both, or neither, are in the document.
        on.set(`x${n}`, null);
        on.set(`y${n}`, null);
        on.remove(many[n] ?? '');
        await setImmediate();
      }
    })();
    const { document, number } = await reading;
    isOver = true;
    await changing;
    const { access_keys: keys } = JSON.parse(document.bytes.toString()) as { access_keys: string[] };
    const made = Number(number) / 3;
    expect(keys).toEqual([...many.slice(made), ...Array.from({ length: made }, (_, n) => [`x${n}`, `y${n}`]).flat()]);
  });

  it.each([
    0, 1, 2, 3, 4, 5,
  ])('has a change that comes %i microtasks after it was looked, or a number before it', async (count) => {
    let isLate = false;
    const later = (left: number): void => queueMicrotask(() => (left === 0 ? on.set('late', 1n) : later(left - 1)));
    const on = stage(textOf(['a']), undefined, () => {
      if (isLate) later(count);
      isLate = false;
    });
    on.load(['a']);
    const kept = on.kept();
    await kept.current();
    isLate = true;
    const { document, number } = await kept.current();
    expect(document.bytes.includes('late')).toBe(number === 1n);
  });

  if (WHOLE)
    it('never looks at more than so many keys in a turn of the event loop, nor gives a large piece of text', async () => {
      let looked = 0;
      const counted = (keys: Keys): Keys => ({
        entries: () => keys.entries(),
        get(key) {
          looked += 1;
          return keys.get(key);
        },
      });
      const many = Array.from({ length: 20_000 }, (_, n) => `key-number-${n}-of-many`);
      const on = stage(textOf(many), counted);
      on.load(many);
      for (const key of many) on.set(key, 7n);
      for (let n = 0; n < 5_000; n += 1) on.set(`new-${n}`, 7n);
      const most: number[] = [];
      let isOver = false;
      const watching = (async () => {
        while (!isOver) {
          const before = looked;
          await setImmediate();
          most.push(looked - before);
        }
      })();
      const pieces = await (await on.kept().current()).compact();
      isOver = true;
      await watching;
      expect(looked).toBeGreaterThan(40_000);
      expect(Math.max(...most)).toBeLessThanOrEqual(8_000);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(1 << 18);
      expect(JSON.parse(Buffer.concat(pieces).toString()).access_keys).toHaveLength(25_000);
    });
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import type { KeyReader } from '../../src/core/keys/types.js';
import { TokenIndex } from '../../src/subscription/token-index.js';
import { tokenOf } from './stage.js';

/** A registry of so many keys, `0`, `1` …, and how often its keys are gone through and one is looked up. */
function counted(count: number) {
  const keys = new KeyRegistry(() => 0);
  for (let n = 0; n < count; n += 1) keys.create(keyOf(`${n}`));
  const reads = { scans: 0, entries: 0, lookUps: 0 };
  const reader: KeyReader = new Proxy(keys, {
    get(target: KeyRegistry, member: keyof KeyRegistry) {
      if (member === 'entries')
        return function* () {
          reads.scans += 1;
          for (const entry of target.entries()) {
            reads.entries += 1;
            yield entry;
          }
        };
      if (member === 'get')
        return (accessKey: string) => {
          reads.lookUps += 1;
          return target.get(accessKey);
        };
      const value = target[member];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { keys, reads, index: new TokenIndex(reader) };
}

const keyOf = (accessKey: string) => ({ accessKey, name: null, limitBytes: null });

it('goes through the keys once, and then looks at none of them, whether a token is known or not', async () => {
  const { reads, index } = counted(5_000);
  const asked = [tokenOf('4999'), tokenOf('unknown'), tokenOf('0'), 'f'.repeat(32)];
  expect(await Promise.all(asked.map((token) => index.find(token)))).toEqual(['4999', undefined, '0', undefined]);
  expect(reads).toEqual({ scans: 1, entries: 5_000, lookUps: 5_000 });
  expect(asked.map((token) => index.find(token))).toEqual(['4999', undefined, '0', undefined]);
  expect(reads).toEqual({ scans: 1, entries: 5_000, lookUps: 5_000 });
});

it('is made in pieces, others being served in between', async () => {
  const { reads, index } = counted(20_000);
  const found = index.find(tokenOf('19999'));
  let most = 0;
  let before = 0;
  let isOver = false;
  const over = Promise.resolve(found).then(() => {
    isOver = true;
  });
  while (!isOver) {
    most = Math.max(most, reads.entries - before);
    before = reads.entries;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await over;
  expect(await found).toBe('19999');
  expect(most).toBeLessThanOrEqual(501);
});

it('takes in a few changes at once, and many in pieces, without going through the keys again', async () => {
  const { keys, reads, index } = counted(10);
  await index.find(tokenOf('0'));
  keys.setAside('3');
  keys.create(keyOf('new'));
  expect(index.find(tokenOf('new'))).toBe('new');
  expect(index.find(tokenOf('3'))).toBeUndefined();
  for (let n = 0; n < 5_000; n += 1) keys.create(keyOf(`more-${n}`));
  const found = index.find(tokenOf('more-4999'));
  expect(found).toBeInstanceOf(Promise);
  expect(await found).toBe('more-4999');
  expect(reads.scans).toBe(1);
});

it('is made anew where more has changed than is remembered, and does not keep a key that has gone meanwhile', async () => {
  const { keys, reads, index } = counted(3_000);
  const first = index.find(tokenOf('1'));
  keys.setAside('2999');
  keys.setAside('0');
  expect(await first).toBe('1');
  expect(await index.find(tokenOf('2999'))).toBeUndefined();
  expect(await index.find(tokenOf('0'))).toBeUndefined();
  for (let n = 0; n < 40_000; n += 1) {
    keys.create(keyOf('flicker'));
    keys.setAside('flicker');
  }
  keys.setAside('1');
  expect(await index.find(tokenOf('1'))).toBeUndefined();
  expect(await index.find(tokenOf('2'))).toBe('2');
  expect(reads.scans).toBe(2);
});

it('knows exactly the keys that there are, whatever comes and goes between two questions', async () => {
  const names = ['', 'a', 'b', 'ключ', 'x'.repeat(100)];
  const name = fc.constantFrom(...names);
  const changes = fc.array(fc.tuple(fc.constantFrom('create', 'remove', 'ask', 'all'), name), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(changes, async (steps) => {
      const { keys, index } = counted(2);
      for (const [step, accessKey] of steps) {
        if (step === 'create') keys.create(keyOf(accessKey));
        else if (step === 'remove') keys.setAside(accessKey);
        else if (step === 'all') keys.replaceAll([keyOf(accessKey), keyOf('0')]);
        else await index.find(tokenOf(accessKey));
      }
      for (const accessKey of [...names, '0', '1']) {
        expect(await index.find(tokenOf(accessKey))).toBe(keys.get(accessKey) === undefined ? undefined : accessKey);
      }
    }),
  );
});

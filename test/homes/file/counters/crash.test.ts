import fc from 'fast-check';
import { describe, it } from 'vitest';
import { tries } from '../../../tries.js';
import { play, type Step } from './store-story.js';

const aKey = fc.nat(7);
const anInterruption = fc.record({ by: fc.constantFrom('crash' as const, 'kill' as const), call: fc.nat(12) });

const aStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      keys: fc.array(aKey, { maxLength: 4 }),
      id: fc.option(fc.nat(20), { nil: null }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('create' as const, 'remove', 'reset', 'announce', 'settle'),
      key: aKey,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('post' as const),
      source: fc.nat(1),
      epoch: fc.nat(2),
      number: fc.nat(9),
      keys: fc.uniqueArray(aKey, { maxLength: 4 }),
      bytes: fc.nat(20),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'forget' }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('configuration' as const), keys: fc.uniqueArray(aKey, { maxLength: 8 }) }),
  },
  { weight: 4, arbitrary: fc.constant<Step>({ kind: 'flush' }) },
  { weight: 2, arbitrary: anInterruption.map((during): Step => ({ kind: 'flush', during })) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      call: fc.constantFrom('create' as const, 'append', 'sync', 'syncFolder', 'rename', 'remove'),
      code: fc.constantFrom('ENOSPC', 'EIO', 'EROFS'),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('end' as const), by: fc.constantFrom('crash' as const, 'kill', 'close') }),
  },
  {
    weight: 1,
    arbitrary: anInterruption.map((during): Step => ({ kind: 'end', by: 'crash', during })),
  },
);

describe('the store of counters, on a disk that forgets what was not synced', () => {
  it('a batch that was written halfway when the disk was full does not stand before the next', () =>
    play({
      compactBytes: 1_000_000,
      seed: 1,
      steps: [
        { kind: 'create', key: 0 },
        { kind: 'flush' },
        { kind: 'report', keys: [0], id: 1 },
        { kind: 'fail', call: 'append', code: 'ENOSPC', times: 1 },
        { kind: 'flush' },
        { kind: 'flush' },
        { kind: 'end', by: 'kill' },
      ],
    }));

  it('a post of few keys that comes while the state is written anew is on the disk whole or not at all', () => {
    const post = (number: number): Step => ({ kind: 'post', source: 0, epoch: 0, number, keys: [], bytes: 0 });
    return play({
      compactBytes: 0,
      seed: 4,
      steps: [post(0), { kind: 'flush' }, post(1), { kind: 'forget' }, post(0), post(1), { kind: 'end', by: 'crash' }],
    });
  });

  it('whatever happens, comes back with one moment that is not before the last acknowledged one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aStep, { minLength: 1, maxLength: 40 }),
        fc.constantFrom(0, 200, 1000, 1_000_000),
        fc.nat(2 ** 31),
        (steps, compactBytes, seed) => play({ steps, compactBytes, seed }),
      ),
      { numRuns: tries(50) },
    );
  });
});

import fc from 'fast-check';
import { describe, it } from 'vitest';
import { tries } from '../../../tries.js';
import { someOf, WHOLE } from '../../../whole.js';
import { type Change, play, type Step } from './created-again-story.js';

const aChange: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('create' as const, 'create', 'update', 'limit'),
      limit: fc.nat(2),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Change>({ kind: 'report' }) },
  { weight: 1, arbitrary: fc.constantFrom<Change>({ kind: 'delete' }, { kind: 'reset' }) },
);
const anInterruption = fc.record({ by: fc.constantFrom('crash' as const, 'kill'), call: fc.nat(30) });

const aStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record(
      {
        kind: fc.constant('change' as const),
        changes: fc.oneof(
          { weight: 4, arbitrary: fc.tuple(aChange) },
          { weight: 1, arbitrary: fc.array(aChange, { minLength: 2, maxLength: 3 }) },
        ),
        during: anInterruption,
      },
      { requiredKeys: ['kind', 'changes'] },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      call: fc.constantFrom('create' as const, 'sync', 'rename'),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        kind: fc.constant('end' as const),
        by: fc.constantFrom('crash' as const, 'kill', 'close'),
        during: anInterruption,
      },
      { requiredKeys: ['kind', 'by'] },
    ),
  },
);

const report: Step = { kind: 'change', changes: [{ kind: 'report' }] };
const create: Change = { kind: 'create', limit: 1 };
const update: Change = { kind: 'update', limit: 0 };
const at = (by: 'crash' | 'kill', call: number, ...changes: Change[]): Step => ({
  kind: 'change',
  changes,
  during: { by, call },
});
/** A report that nobody acknowledged is there after a kill, stays beside other changes, and goes with the next crash. */
const UNACKNOWLEDGED: readonly (readonly Step[])[] = [
  [at('crash', 2, { kind: 'report' }), at('kill', 16, update, { kind: 'delete' }), at('crash', 3, create)],
  [
    at('crash', 3, { kind: 'report' }),
    at('kill', 8, update, create, create),
    at('crash', 3, create, create),
    { kind: 'end', by: 'crash' },
  ],
];

describe('a key that is created again, on a disk that forgets what was not synced', () => {
  it.each(
    someOf([...Array(30).keys()], 3),
  )('a crash at call %i of it leaves the old record with its counters, or the new one with none', async (call) => {
    for (const by of ['crash', 'kill'] as const) {
      for (const seed of [1, 2, 3]) {
        await play({ seed, steps: [report, { kind: 'change', changes: [create], during: { by, call } }, report] });
      }
    }
  });

  it.each(UNACKNOWLEDGED)('a crash may take a report that was not acknowledged, story %#', async (...steps) => {
    for (const seed of someOf([...Array(10).keys()], 2)) await play({ steps, seed });
  });

  it.each(
    someOf([...Array(20).keys()], 2),
  )('a kill at call %i of a change back is not taken for a write of a server’s', async (call) => {
    const back: Change = { kind: 'create', limit: 0 };
    const last: Step = { kind: 'change', changes: [{ kind: 'delete' }] };
    await play({ seed: 0, steps: [{ kind: 'change', changes: [create] }, at('kill', call, back), last] });
  });

  it('after any changes and failed writes of the file, a crash leaves record and counters of one moment', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 12 }), fc.nat(2 ** 31), (steps, seed) =>
        play({ steps, seed }),
      ),
      { numRuns: tries(WHOLE ? 40 : 8) },
    );
  });
});

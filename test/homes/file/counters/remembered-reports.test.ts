import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REMEMBERED_REPORTS } from '../../../../src/core/backend.js';
import { createRememberedReports } from '../../../../src/homes/file/counters/remembered-reports.js';
import { tries } from '../../../tries.js';

const LIMIT = 5;
const anId = fc.nat(12).map((number) => `r${number}`);

describe('remembered reports', () => {
  it('are the last ones, oldest first, each once; whoever follows the changes has the same', () => {
    const aStep = fc.oneof(
      { weight: 8, arbitrary: anId.map((add) => ({ add })) },
      { weight: 1, arbitrary: fc.array(anId, { maxLength: 8 }).map((restore) => ({ restore })) },
      { weight: 2, arbitrary: fc.constant({ follow: true }) },
    );
    fc.assert(
      fc.property(fc.array(aStep, { maxLength: 60 }), (steps) => {
        const reports = createRememberedReports(LIMIT);
        const follower = createRememberedReports(LIMIT);
        let model: string[] = [];
        const add = (id: string) => {
          if (!model.includes(id)) model = [...model, id].slice(-LIMIT);
        };
        const follow = () => {
          const { restored, added } = reports.takeChanges();
          if (restored) follower.restore([]);
          for (const id of added) follower.add(id);
        };
        for (const step of steps) {
          if ('add' in step) {
            reports.add(step.add);
            add(step.add);
          } else if ('restore' in step) {
            reports.restore(step.restore);
            model = [];
            for (const id of step.restore) add(id);
          } else follow();
          expect(reports.all()).toEqual(model);
        }
        for (let number = 0; number <= 12; number += 1) {
          expect(reports.has(`r${number}`)).toBe(model.includes(`r${number}`));
        }
        follow();
        expect(follower.all()).toEqual(model);
        expect(reports.takeChanges()).toEqual({ restored: false, added: [] });
      }),
      { numRuns: tries(170) },
    );
  });

  it('are 100,000', () => {
    const reports = createRememberedReports();
    for (let number = 0; number <= REMEMBERED_REPORTS; number += 1) reports.add(String(number));
    expect([reports.has('0'), reports.has('1'), reports.has('100000')]).toEqual([false, true, true]);
    expect(reports.all()).toHaveLength(100_000);
  });
});

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../clone.js';
import { compare, expectVersioning } from './comparing.js';
import './compare.test.js';

/** The scenarios that were written for the two, and those that were recorded of servers of them. */
const OF_BOTH = ['dns', 'current', 'recorded/0.2.48', 'recorded/0.2.96'].map((name) => join(ROOT, 'fixtures', name));

test(
  'keyway compare between dns and current lists exactly the differences of the versioning table, by every scenario',
  () => expectVersioning(OF_BOTH),
  240_000,
);

test('keyway compare between two of the same revision finds nothing by any scenario', async () => {
  const { ended } = await compare(['current', 'current'], '--writes', join(ROOT, 'fixtures/current'));
  expect(ended.output).toContain('No differences.');
  expect(ended.output).toMatch(/\n[1-9]\d equal, 0 different/);
  expect(ended.code).toBe(0);
}, 240_000);

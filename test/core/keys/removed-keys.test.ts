import { expect, it } from 'vitest';
import { createCounterTable } from '../../../src/core/keys/counter-table.js';
import { RemovedKeys } from '../../../src/core/keys/removed-keys.js';

it('keeps the counters of so many keys at most, and drops those that left first', () => {
  const table = createCounterTable();
  const dropped: string[] = [];
  const removed = new RemovedKeys(table, (accessKey) => dropped.push(accessKey), 20_000);
  const returning = table.take();
  removed.leave('returned', returning, 0);
  expect(removed.take('returned')).toBe(returning);
  removed.leave('first', returning, 0);
  for (let n = 0; n < 19_999; n += 1) removed.leave(`key-${n}`, table.take(), n);
  expect(dropped).toEqual([]);
  removed.leave('returned', table.take(), 20_000);
  expect([dropped.length, dropped[0], dropped.at(-1)]).toEqual([10_000, 'first', 'key-9998']);
  expect(removed.leftAt('first')).toBeNull();
  expect(table.take()).toBeLessThan(10_000);
  expect(removed.leftAt('returned')).toBe(20_000);
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecentMap } from '../../src/core/recent-map.js';

it('keeps the entries that were set last, as many as it may, in the order in which they were', () => {
  const sets = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer()), { maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), sets, (most, entries) => {
      const map = new RecentMap<number, number>(most);
      for (const [key, value] of entries) map.set(key, value);
      const lastOfEach = entries.filter(([key], at) => entries.findLastIndex(([other]) => other === key) === at);
      expect([...map]).toEqual(lastOfEach.slice(-most));
    }),
  );
});

it('weighs its entries by what each counts, whatever was set again or deleted', () => {
  const map = new RecentMap<string, string>(10, (key, value) => key.length + value.length);
  map.set('a', '123').set('b', '123').set('a', '1');
  expect([...map.keys()]).toEqual(['b', 'a']);
  map.set('c', '123');
  expect([...map.keys()]).toEqual(['b', 'a', 'c']);
  expect(map.delete('a')).toBe(true);
  expect(map.delete('a')).toBe(false);
  map.set('d', '1');
  expect([...map.keys()]).toEqual(['b', 'c', 'd']);
  map.set('e', '1');
  expect([...map.keys()]).toEqual(['c', 'd', 'e']);
  map.set('f', '1234567890');
  expect([...map.keys()]).toEqual([]);
  map.set('g', '123456789');
  map.clear();
  map.set('h', '123456789');
  expect([...map.keys()]).toEqual(['h']);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { differentPlaces, readAnswer } from '../../src/replay/compare/places.js';

type Value = null | boolean | string | number | readonly Value[] | { readonly [name: string]: Value };

const NAME = fc.constantFrom('data', 'name', 'a/b', 'a~c', '__proto__');
const LEAF = fc.constantFrom<Value[]>(null, true, 'x', '', 1, 2.5);
const { value: VALUE } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    LEAF,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(NAME, tie('value'), { maxKeys: 4 }),
  ),
}));

/** Every leaf of a value by its JSON pointer; what is empty is a leaf. */
function leavesOf(value: Value, path = ''): readonly (readonly [string, string])[] {
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (parts.length === 0) return [[path, JSON.stringify(value)]];
  return parts.flatMap(([name, part]) => leavesOf(part, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`));
}

const answered = (value: Value) =>
  readAnswer(
    { status: 200, headers: new Map(), body: Buffer.from(JSON.stringify(value)), firstByteMilliseconds: 0 },
    { bindings: new Map() },
  );

test('two answers differ at every place that only one of them has or that both have with another value, and nowhere else', () => {
  fc.assert(
    fc.property(VALUE, VALUE, fc.boolean(), (one, other, isNested) => {
      const [left, right] = isNested
        ? [
            { data: one, name: 'x' },
            { data: other, name: 'x' },
          ]
        : [one, other];
      const [leaves, others] = [new Map(leavesOf(left)), new Map(leavesOf(right))];
      const expected = [...new Set([...leaves.keys(), ...others.keys()])].filter(
        (path) => leaves.get(path) !== others.get(path),
      );
      const told = differentPlaces(answered(left), answered(right));
      expect(told.map(({ where }) => where).sort()).toEqual(expected.map((path) => `body ${path}`).sort());
      for (const { where, expected: value, actual } of told) {
        const path = where.slice('body '.length);
        expect([value !== undefined, actual !== undefined]).toEqual([leaves.has(path), others.has(path)]);
      }
    }),
    { numRuns: 500 },
  );
});

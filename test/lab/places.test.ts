import fc from 'fast-check';
import { expect, test } from 'vitest';
import { differentPlaces, readAnswer } from '../../src/lab/compare/places.js';

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

/** The places at which two values differ: where both have parts of the same kind, those of the parts. */
function expectedPlaces(one: Value | undefined, other: Value | undefined, path = ''): readonly string[] {
  const [parts, others] = [partsOf(one), partsOf(other)];
  if (parts === null || others === null) return JSON.stringify(one) === JSON.stringify(other) ? [] : [`body ${path}`];
  return [...new Set([...parts.keys(), ...others.keys()])].flatMap((name) =>
    expectedPlaces(parts.get(name), others.get(name), `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
}

function partsOf(value: Value | undefined): ReadonlyMap<string, Value> | null {
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return parts.length === 0 ? null : new Map(parts);
}

const answered = (value: Value) =>
  readAnswer(
    { status: 200, headers: new Map(), body: Buffer.from(JSON.stringify(value)), firstByteMilliseconds: 0 },
    { request: { method: 'GET', path: '' }, response: { status: 200 } },
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
      const told = differentPlaces(answered(left), answered(right));
      expect(told.map(({ where }) => where).sort()).toEqual([...expectedPlaces(left, right)].sort());
    }),
    { numRuns: 500 },
  );
});

const BINDINGS = new Map([
  ['key:1', 'abcd'],
  ['key:2', 'abcdef'],
  ['secret:1', 'abcd'],
  ['name:1', 'Anna'],
]);

test.each([
  ['abcdef', '<key:2>'],
  ['xabcdabcdey', 'x<key:1><key:1>ey'],
  ['abc', 'abc'],
  ['Anna', 'Anna'],
])('of %j the values that servers made are shown by name: %j', (text, shown) => {
  const answer = { status: 200, headers: new Map(), body: Buffer.from(text), firstByteMilliseconds: 0 };
  const asked = { request: { method: 'GET', path: '' }, response: { status: 200 } };
  expect(readAnswer(answer, asked, { bindings: BINDINGS }).outside.get('text')).toBe(shown);
});

test('lists of thousands of keys, all of which both servers have, are compared within seconds', {
  timeout: 10_000,
}, () => {
  const keys = Array.from({ length: 5_000 }, (_, index) => `key-${index}`.padEnd(32, '0'));
  const bindings = new Map(keys.map((key, index) => [`key:shared-${index}`, key]));
  const data = keys.map((access_key) => ({ access_key, name: 'n', bytes_up: 0, bytes_down: 0, connections: 0 }));
  const body = Buffer.from(JSON.stringify({ ok: true, data }));
  const answer = { status: 200, headers: new Map(), body, firstByteMilliseconds: 0 };
  const asked = { request: { method: 'GET', path: '' }, response: { status: 200 } };
  const [left, right] = [0, 1].map(() => readAnswer(answer, asked, { bindings }));
  expect(left && right && differentPlaces(left, right)).toEqual([]);
});

test('values made by a server are found in a text of many megabytes within seconds', { timeout: 10_000 }, () => {
  const values = [...Array(8).keys()].map((index) => [`key:${index}`, `${index}`.repeat(20 + index)] as const);
  const blank = 'no value of the server is here. '.repeat(800_000);
  const body = Buffer.from(`${blank}${'7'.repeat(27)}`);
  const answer = { status: 200, headers: new Map(), body, firstByteMilliseconds: 0 };
  const asked = { request: { method: 'GET', path: '' }, response: { status: 200 } };
  const text = readAnswer(answer, asked, { bindings: new Map(values) }).outside.get('text');
  expect(text === `${blank}<key:7>`).toBe(true);
});

test('the values of a run are prepared once for all of its answers', () => {
  const bindings = new Map([['key:1', 'abcd']]);
  let looks = 0;
  const entries = bindings[Symbol.iterator].bind(bindings);
  bindings[Symbol.iterator] = () => {
    looks += 1;
    return entries();
  };
  const answer = { status: 200, headers: new Map(), body: Buffer.from('abcd'), firstByteMilliseconds: 0 };
  const asked = { request: { method: 'GET', path: '' }, response: { status: 200 } };
  const texts = [1, 2].map(() => readAnswer(answer, asked, { bindings }).outside.get('text'));
  expect([looks, ...texts]).toEqual([1, '<key:1>', '<key:1>']);
});

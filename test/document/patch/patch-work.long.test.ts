import { expect, it } from 'vitest';
import type { ConfigurationPatch } from '../../../src/core/backend.js';
import { FILE_LIMITS } from '../../../src/core/file-limits.js';
import { finish, type Steps } from '../../../src/core/steps.js';
import { readDocument } from '../../../src/document/document.js';
import { patchDocumentSteps } from '../../../src/document/patch/patch-document.js';

type Case = readonly [config: object | string, form: ConfigurationPatch['form'], body: unknown];

const ROOT = { mode: 'server', access_keys: ['key'] };

const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`member-${n}`, n]));

const changed = (count: number) => Object.fromEntries(Object.keys(members(count)).map((name, n) => [name, n + 1]));
const removed = (count: number) => Object.fromEntries(Object.keys(members(count)).map((name) => [name, null]));

const operations = (count: number, make: (n: number) => object) => Array.from({ length: count }, (_, n) => make(n));

function stepsFor([config, form, body]: Case): Steps<unknown> {
  const { document } = readDocument(Buffer.from(typeof config === 'string' ? config : JSON.stringify(config, null, 2)));
  return patchDocumentSteps(document, { form, body: Buffer.from(JSON.stringify(body)), condition: () => undefined });
}

/** Methods that make or order a list in one step. */
const WHOLE = ['map', 'flatMap', 'filter', 'toSorted', 'sort'] as const;

/** What costs in such work: members put into maps, elements of lists that are made or ordered, and KiB gone back through for the beginning of a line; by step. */
function workOf(steps: Steps<unknown>): readonly number[] {
  const { set } = Map.prototype;
  const { add } = Set.prototype;
  const whole = Object.fromEntries(WHOLE.map((name) => [name, Array.prototype[name]]));
  const { lastIndexOf } = Buffer.prototype;
  const work: number[] = [];
  let count = 0;
  Map.prototype.set = function (key, value) {
    count += 1;
    return set.call(this, key, value);
  };
  Set.prototype.add = function (value) {
    count += 1;
    return add.call(this, value);
  };
  for (const name of WHOLE)
    Object.assign(Array.prototype, {
      [name](this: readonly unknown[], ...given: readonly unknown[]) {
        count += this.length;
        return Reflect.apply(whole[name] as () => unknown, this, given);
      },
    });
  Buffer.prototype.lastIndexOf = function (this: Buffer, ...sought: Parameters<typeof lastIndexOf>) {
    const found = lastIndexOf.apply(this, sought);
    count += (this.length - Math.max(found, 0)) / 1024;
    return found;
  };
  try {
    for (let done = false; !done; count = 0) {
      done = steps.next().done === true;
      work.push(count);
    }
  } finally {
    Object.assign(Map.prototype, { set });
    Object.assign(Set.prototype, { add });
    Object.assign(Array.prototype, whole);
    Object.assign(Buffer.prototype, { lastIndexOf });
  }
  return work;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const SCALED: Readonly<Record<string, (count: number) => Case>> = {
  'a merge of new members': (count) => [ROOT, 'merge', members(count)],
  'a merge that takes members away': (count) => [{ ...ROOT, ...members(count) }, 'merge', removed(count)],
  'replacements in a large object': (count) => [
    { ...ROOT, large: members(count) },
    'json',
    operations(count / 10, (n) => ({ op: 'replace', path: `/large/member-${n}`, value: 'new' })),
  ],
  'replacements in a file on one line': (count) => [
    JSON.stringify({ ...ROOT, large: members(3 * count) }),
    'json',
    operations(count / 10, (n) => ({ op: 'replace', path: `/large/member-${2 * count + n}`, value: 'new' })),
  ],
  'additions to a large object': (count) => [
    ROOT,
    'json',
    operations(count / 10, (n) => ({ op: 'add', path: `/new-${n}`, value: n })),
  ],
  'moves of a large object to and fro': (count) => [
    { ...ROOT, one: { large: members(count) }, other: {} },
    'json',
    operations(count / 10, (n) => {
      const [from, to] = n % 2 === 0 ? ['one', 'other'] : ['other', 'one'];
      return { op: 'move', from: `/${from}/large`, path: `/${to}/large` };
    }),
  ],
  'tests in a large object that changes between them': (count) => [
    { ...ROOT, large: members(count) },
    'json',
    operations(count / 10, (n) =>
      n % 2 === 0
        ? { op: 'replace', path: '/large/member-0', value: n }
        : { op: 'test', path: '/large/member-0', value: n - 1 },
    ),
  ],
  'a replacement by much the same': (count) => [
    { ...ROOT, list: Object.keys(members(count)) },
    'json',
    [{ op: 'replace', path: '/list', value: Object.keys(members(count)).reverse() }],
  ],
};

it.each(Object.keys(SCALED))('does at most twelve times the work for ten times the input: %s', (name) => {
  const make = SCALED[name];
  if (make === undefined) throw new Error(name);
  const [small, large] = [500, 5_000].map((count) => sum(workOf(stepsFor(make(count)))));
  expect(large, `work of 5,000, where 500 take ${small}`).toBeLessThanOrEqual(12 * (small ?? 0));
});

const MANY = 20_000;

const STEPPED: Readonly<Record<string, Case>> = {
  'new members of the root': [ROOT, 'merge', members(MANY)],
  'members of the root that change': [{ ...ROOT, ...members(MANY) }, 'merge', changed(MANY)],
  'members that go': [{ ...ROOT, large: members(MANY) }, 'merge', { large: removed(MANY) }],
  'members in another order': [
    { ...ROOT, large: members(MANY) },
    'json',
    [{ op: 'replace', path: '/large', value: Object.fromEntries(Object.entries(changed(MANY)).reverse()) }],
  ],
  'elements that change': [
    { ...ROOT, list: Object.values(members(MANY)) },
    'json',
    [{ op: 'replace', path: '/list', value: Object.values(changed(MANY)) }],
  ],
};

it.each(Object.entries(STEPPED))('gives way after every few thousand of 20,000: %s', (_, given) => {
  expect(Math.max(...workOf(stepsFor(given)))).toBeLessThanOrEqual(15_000);
});

it('refuses copies of copies before it builds them, and names the operation', () => {
  const text = 'x'.repeat(500_000);
  const copies = Array.from({ length: 15 }, (_, n) => ({ op: 'copy', from: '/x', path: `/x/${n}` }));
  const steps = stepsFor([ROOT, 'json', [{ op: 'add', path: '/x', value: { text } }, ...copies]]);
  expect(() => finish(steps)).toThrow('configFormatFailed: operation 10 (copy /x/9): it would have more than 256 MiB');
  expect(text.length * 2 ** 9).toBeGreaterThan(0.9 * FILE_LIMITS.configuration);
});

it('refuses a patch that indentation would blow up, as a replacement is refused', () => {
  const deep = JSON.parse(`${'['.repeat(400)}${'1,'.repeat(20_000)}1${']'.repeat(400)}`);
  expect(() => finish(stepsFor([ROOT, 'merge', { deep }]))).toThrow('configFormatFailed');
});

import { expect, it } from 'vitest';
import type { ConfigurationPatch } from '../../../src/core/backend.js';
import { FILE_LIMITS } from '../../../src/core/file-limits.js';
import { finish, type Steps } from '../../../src/core/steps.js';
import { readDocument } from '../../../src/document/document.js';
import { patchDocumentSteps } from '../../../src/document/patch/patch-document.js';

type Case = readonly [config: object | string, form: ConfigurationPatch['form'], body: unknown];

const ROOT = { mode: 'server', access_keys: ['key'] };

const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`member-${n}`, n]));

const operations = (count: number, make: (n: number) => object) => Array.from({ length: count }, (_, n) => make(n));

function stepsFor([config, form, body]: Case): Steps<unknown> {
  const { document } = readDocument(Buffer.from(typeof config === 'string' ? config : JSON.stringify(config, null, 2)));
  return patchDocumentSteps(document, { form, body: Buffer.from(JSON.stringify(body)), condition: () => undefined });
}

/** What costs in such work: members put into maps, and KiB gone back through for the beginning of a line; by step. */
function workOf(steps: Steps<unknown>): readonly number[] {
  const { set } = Map.prototype;
  const { lastIndexOf } = Buffer.prototype;
  const work: number[] = [];
  let count = 0;
  Map.prototype.set = function (key, value) {
    count += 1;
    return set.call(this, key, value);
  };
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
    Object.assign(Buffer.prototype, { lastIndexOf });
  }
  return work;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const SCALED: Readonly<Record<string, (count: number) => Case>> = {
  'a merge of new members': (count) => [ROOT, 'merge', members(count)],
  'a merge that takes members away': (count) => [
    { ...ROOT, ...members(count) },
    'merge',
    Object.fromEntries(Object.keys(members(count)).map((name) => [name, null])),
  ],
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

it('gives way after every few thousand members, however many there are', () => {
  const work = workOf(stepsFor([{ ...ROOT, large: members(10_000) }, 'merge', { large: null, ...members(15_000) }]));
  expect(work.length).toBeGreaterThan(50);
  expect(Math.max(...work)).toBeLessThanOrEqual(17_000);
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

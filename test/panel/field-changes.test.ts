import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactValue } from '../../panel/text/exact-json.js';
import { areSame, mergeFields, patchBetween, type Side } from '../../panel/text/field-changes.js';
import { parseTree } from '../../panel/text/json-tree.js';
import { finish, Pace } from '../../src/core/steps.js';
import { readPatchSteps } from '../../src/document/patch/patch.js';
import { broughtValueSteps, identitySteps } from '../../src/document/patch/value.js';

const tree = (value: unknown) => parseTree(JSON.stringify(value));
const pace = new Pace();

function merge(base: unknown, now: unknown, present: unknown, choices: readonly (readonly [string, Side])[] = []) {
  const { merged, conflicts } = mergeFields(tree(base), tree(now), tree(present), new Map(choices));
  return {
    merged: exactValue(merged),
    fields: conflicts.map(({ field }) => field),
    ids: conflicts.map(({ id }) => id),
  };
}

const inbounds = (...items: object[]) => ({ inbounds: items });
const rules = (domain: string, action: string) => ({ rules: [{ protocol: 'tcp', domains: [domain], action }] });
const [TUNNEL, API] = [
  { tag: 'in', port: 1 },
  { protocol: 'api', port: 2 },
];

/** Fields whose own value comes without what stood beside it. */
const MADE_ANEW: Readonly<Record<string, unknown>> = { 'a.c': { a: { c: 2 } } };

describe('a merge of fields', () => {
  it.each([
    ['another member', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 2 }, { a: 2, b: 2 }],
    ['the same change', { a: 1 }, { a: 2 }, { a: 2 }, { a: 2 }],
    ['a member that is removed', { a: 1, b: 1 }, { b: 1 }, { a: 1, b: 2 }, { b: 2 }],
    ['an object that both made', {}, { a: { b: 1 } }, { a: { c: 2 } }, { a: { b: 1, c: 2 } }],
    [
      'an item that moved',
      inbounds(TUNNEL, API),
      inbounds(TUNNEL, { ...API, port: 3 }),
      inbounds(API, { tag: 'new' }, TUNNEL),
      inbounds({ ...API, port: 3 }, { tag: 'new' }, TUNNEL),
    ],
    ['other items of a list', { a: [1, 2, 3] }, { a: [9, 2, 3] }, { a: [1, 2, 3, 4] }, { a: [9, 2, 3, 4] }],
    ['items before those of a list', { a: [1, 2] }, { a: [1] }, { a: [0, 1, 2] }, { a: [0, 1] }],
  ])('keeps both changes: %s', (_, base, now, present, merged) => {
    expect(merge(base, now, present)).toEqual({ merged, fields: [], ids: [] });
  });

  it.each([
    ['a value', { a: { b: 1 } }, { a: { b: 2 } }, { a: { b: 3 } }, 'a.b'],
    [
      'an item',
      inbounds(TUNNEL, API),
      inbounds(TUNNEL, { ...API, port: 3 }),
      inbounds(TUNNEL, { ...API, port: 4 }),
      'inbounds[api].port',
    ],
    [
      'an item that went',
      inbounds(TUNNEL, API),
      inbounds(TUNNEL, { ...API, port: 3 }),
      inbounds(TUNNEL),
      'inbounds[api].port',
    ],
    [
      'a new field of an item that went',
      inbounds(TUNNEL, API),
      inbounds(TUNNEL, { ...API, username: 'me' }),
      inbounds(TUNNEL),
      'inbounds[api].username',
    ],
    ['a new member of what was removed', { a: { b: 1 } }, { a: { b: 1, c: 2 } }, {}, 'a.c'],
    ['rules of one protocol', rules('a', 'proxy'), rules('a', 'block'), rules('b', 'proxy'), 'rules'],
    ['the same items of a list', { a: [1, 2] }, { a: [1, 3] }, { a: [1, 4] }, 'a'],
    ['insertions at one place', { a: [1] }, { a: [1, 2] }, { a: [1, 3] }, 'a'],
    ['a member that was removed', { a: 1 }, { a: 2 }, {}, 'a'],
  ])('asks about a change of both: %s', (_, base, now, present, field) => {
    const asked = merge(base, now, present);
    expect(asked).toMatchObject({ merged: present, fields: [field] });
    const id = asked.ids[0] ?? '';
    const mine = merge(base, now, present, [[id, 'mine']]).merged;
    expect(mine).toEqual(MADE_ANEW[field] ?? now);
    expect(merge(base, now, present, [[id, 'theirs']]).merged).toEqual(present);
  });

  it('asks again when the other value is another one', () => {
    const chosen = merge({ a: 1 }, { a: 2 }, { a: 3 }).ids.map((id) => [id, 'mine'] as const);
    expect(merge({ a: 1 }, { a: 2 }, { a: 4 }, chosen)).toMatchObject({ merged: { a: 4 }, fields: ['a'] });
  });
});

it('numbers keep their spelling in a patch, and differ by what they are worth alone', () => {
  const [before, after] = [parseTree('{"a":1.0,"b/~":0.10}'), parseTree('{"a":1,"b/~":0.20}')];
  expect(patchBetween(before, after)).toBe('[{"op":"replace","path":"/b~1~0","value":0.20}]');
  expect(areSame(parseTree('18446744073709551615'), parseTree('18446744073709551614'))).toBe(false);
});

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom('', 'x', null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', '/', '~', 'tag'), tie('value'), { maxKeys: 4 }),
}));

it('a patch between any two documents makes the one of the other, as the server applies it', () => {
  fc.assert(
    fc.property(json.object, json.object, (a, b) => {
      const patch = patchBetween(tree(a), tree(b));
      const [value, wanted] = [a, b].map((one) => finish(broughtValueSteps(Buffer.from(JSON.stringify(one)), pace)));
      if (value === undefined || wanted === undefined) throw new Error('a value is missing');
      const made =
        patch === null
          ? value
          : finish(
              finish(readPatchSteps({ form: 'json', body: Buffer.from(patch) }, pace))(value, { copied: 0, bytes: 0 }),
            );
      expect(finish(identitySteps(made, pace))).toBe(finish(identitySteps(wanted, pace)));
    }),
  );
});

it('whatever others did, a merge changes nothing else, and leaves nothing to be done where both did the same', () => {
  fc.assert(
    fc.property(json.object, json.object, json.object, (base, now, present) => {
      expect(areSame(mergeFields(tree(base), tree(base), tree(present), new Map()).merged, tree(present))).toBe(true);
      expect(areSame(mergeFields(tree(base), tree(now), tree(base), new Map()).merged, tree(now))).toBe(true);
      expect(mergeFields(tree(base), tree(now), tree(now), new Map())).toEqual({ merged: tree(now), conflicts: [] });
    }),
  );
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { areSame, patchBetween } from '../../panel/text/field-changes.js';
import { parseTree } from '../../panel/text/json-tree.js';
import { finish, Pace } from '../../src/core/steps.js';
import { readPatchSteps } from '../../src/document/patch/patch.js';
import { broughtValueSteps, identitySteps } from '../../src/document/value.js';

const tree = (value: unknown) => parseTree(JSON.stringify(value));
const pace = new Pace();

it('a patch names the items of a list by their places where both have the same tags, and else replaces the list', () => {
  const [tunnel, api] = [
    { tag: 'in', port: 1 },
    { protocol: 'api', port: 2 },
  ];
  const inbounds = (...items: object[]) => tree({ inbounds: items });
  const changed = patchBetween(inbounds(tunnel, api), inbounds(tunnel, { ...api, port: 3 }));
  expect(changed).toBe('[{"op":"replace","path":"/inbounds/1/port","value":3}]');
  expect(patchBetween(inbounds(tunnel, api), inbounds(api, tunnel))).toContain('"path":"/inbounds",');
  const rules = (domain: string) => tree({ rules: [{ protocol: 'tcp', domains: [domain] }] });
  expect(patchBetween(rules('a'), rules('b')), 'the protocol of a rule is no name').toContain('"path":"/rules",');
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

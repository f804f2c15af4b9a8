import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { finish } from '../../src/core/steps.js';
import { readDocument, readDocumentSteps } from '../../src/document/document.js';
import { toReplacement, toReplacementSteps } from '../../src/document/replacement.js';

it('makes a replacement of many keys in steps of some thousand keys each, to the same document', () => {
  const keys = Array.from({ length: 50_000 }, (_, n) => ({ access_key: `key-number-${n}`, name: `Name ${n}` }));
  const body = Buffer.from(JSON.stringify({ mode: 'server', access_keys: keys }));
  const steps = toReplacementSteps(body, readDocumentSteps);
  let count = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count += 1;
  expect(count).toBeGreaterThan(2 * Math.floor(body.length / 2 ** 18));
  // The matcher takes a minute on a busy machine to compare so many keys.
  const atOnce = toReplacement(body, { read: readDocument });
  expect(isDeepStrictEqual(step.value, atOnce), 'the document made in steps is the one made at once').toBe(true);
});

it('looks for the mode behind many keys in steps, too, wherever they stand', () => {
  const keys = Array.from({ length: 20_000 }, (_, n) => ({ access_key: `key-number-${n}`, name: `Name ${n}` }));
  const bare = Array.from({ length: 50_000 }, (_, n) => `key-number-${n}`);
  const many = [
    { access_keys: keys },
    { access_keys: bare },
    { inbounds: [{ protocol: 'ostp', settings: { clients: keys } }] },
    { notes: Object.fromEntries(bare.map((name, n) => [name, n])) },
  ];
  for (const members of many) {
    const behind = Buffer.from(JSON.stringify({ ...members, mode: 'server' }));
    const before = Buffer.from(JSON.stringify({ mode: 'server', ...members }));
    expect(stepsOf(behind)).toBeGreaterThanOrEqual(stepsOf(before) + Math.floor(behind.length / 2 ** 18));
    const without = toReplacementSteps(Buffer.from(JSON.stringify(members)), readDocumentSteps);
    expect(() => finish(without)).toThrow('configModeMissing');
  }
});

function stepsOf(body: Buffer): number {
  return [...toReplacementSteps(body, readDocumentSteps)].length;
}

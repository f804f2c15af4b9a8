import { expect, it } from 'vitest';
import { Turns } from '../../src/core/steps.js';
import { createKey } from '../ports/key-changes.js';
import { ownStage } from './stage.js';

const KEYS = 20_000;

it('lets works go on one piece a turn of the event loop, however many there are, and each in its turn', async () => {
  const turns = new Turns();
  const done: string[] = [];
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const works = ['a', 'b', 'c'].map((name) =>
    turns.run(
      (function* () {
        for (let piece = 0; piece < 4; piece += 1) {
          done.push(`${name}${turn}`);
          yield;
        }
      })(),
    ),
  );
  await Promise.all(works);
  isOver = true;
  const [names, at] = [done.map((text) => text.charAt(0)), done.map((text) => text.slice(1))];
  expect(new Set(at).size).toBe(done.length);
  expect(names.join('')).toBe('abcabcabcabc');
});

it('answers others between the pieces of the long pages that many ask for at once', async () => {
  const { app, call } = await ownStage();
  for (let n = 0; n < KEYS; n += 1)
    await createKey(app.keyway.backend, { accessKey: `key-${n}`, name: null, limitBytes: null });
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  const asked = Array.from({ length: 16 }, () => call('GET /keys?limit=10000'));
  count();
  const answers = await Promise.all(asked);
  isOver = true;
  expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200));
  // Each looks at all keys, 5,000 a piece, and writes 10,000, 1,000 a piece.
  expect(turns).toBeGreaterThan(16 * (KEYS / 5_000 + 10));
});

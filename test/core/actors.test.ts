import { expect, it } from 'vitest';
import { Actors } from '../../src/core/actors.js';
import type { Principal } from '../../src/core/principal.js';

const caller = (name: string): Principal => ({ name, may: 'keys' });

it('who changes a key is its actor until that is done, whoever else changes it meanwhile', async () => {
  const actors = new Actors({ monotonic: () => 0 });
  const ends: (() => void)[] = [];
  const change = () => new Promise<void>((resolve) => ends.push(resolve));
  const one = actors.during(caller('one'), ['a'], change);
  const two = actors.during(caller('two'), ['a'], change);
  expect(actors.of('a')).toBe('two');
  ends[0]?.();
  await one;
  expect(actors.of('a')).toBe('two');
  ends[1]?.();
  await two;
  expect(actors.of('a')).toBe('two');
  actors.forget(['a']);
  expect(actors.of('a')).toBeNull();
});

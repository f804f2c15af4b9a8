import { expect, it } from 'vitest';
import { ChangeListeners } from '../../src/core/change-listeners.js';

it('a follower of the configuration that fails is logged, and keeps no other from being told', () => {
  const errors: unknown[] = [];
  const listeners = new ChangeListeners({ debug() {}, info() {}, warn() {}, error: (...said) => errors.push(said) });
  const told: string[] = [];
  listeners.add(() => {
    throw new Error('the resolver cannot listen');
  });
  listeners.add((reason) => told.push(reason));
  listeners.tell('edited');
  expect(told).toEqual(['edited']);
  expect(errors).toEqual([
    [{ reason: 'the resolver cannot listen' }, 'a change of the configuration could not be followed'],
  ]);
});

import { describe, expect, it } from 'vitest';
import { COUNTED, createAccount, type Outcome, type Told } from './database-account.js';

const shown = (keys: Readonly<Record<string, number>>, counted: number): Told => ({
  users: [
    ...Object.entries(keys).map(([access_key, limit_bytes]) => ({ access_key, limit_bytes, name: 'n', bytes_up: 0 })),
    { access_key: `${COUNTED}0`, limit_bytes: null, bytes_up: counted },
  ],
  rules: [],
  configuration: {},
});

describe('an account of what a database was told', () => {
  it.each<[string, Outcome, Readonly<Record<string, number>>, boolean]>([
    ['an acknowledged write that is lost', 'done', {}, true],
    ['an acknowledged write that is there', 'done', { a: 1 }, false],
    ['an acknowledged write under which another shows', 'done', { a: 2 }, true],
    ['a refused write that has happened', 'nothing', { a: 1 }, true],
    ['a refused write that has not happened', 'nothing', {}, false],
    ['a write of unknown outcome that has happened', 'unknown', { a: 1 }, false],
    ['a write of unknown outcome that has not', 'unknown', {}, false],
  ])('%s is told as what it is', (_name, outcome, keys, isFault) => {
    const account = createAccount();
    account.key('a', 'n/1', outcome);
    expect(account.faults(shown(keys, 0)).length > 0).toBe(isFault);
  });

  it.each([
    [1, true],
    [2, false],
    [3, true],
  ])('two reports that were acknowledged and come to %i are a fault: %s', (sum, isFault) => {
    const account = createAccount();
    account.counted([`${COUNTED}0`]);
    account.counted([`${COUNTED}0`]);
    expect(account.faults(shown({}, sum)).length > 0).toBe(isFault);
  });

  it('half of a bulk whose outcome nobody knows is a fault', () => {
    const account = createAccount();
    account.bulk(7, 2, [], 'unknown');
    expect(account.faults(shown({ x: 7 }, 0))).toHaveLength(1);
    expect(account.faults(shown({ x: 7, y: 7 }, 0))).toEqual([]);
  });
});

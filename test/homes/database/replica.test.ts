import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import { finish } from '../../../src/core/steps.js';
import { createReplica, type KeyRow } from '../../../src/homes/database/replica.js';

function stage() {
  const keys = new KeyRegistry(() => 0);
  const heard = { keys: 0, all: 0 };
  const one = () => {
    heard.keys += 1;
  };
  const all = () => {
    heard.all += 1;
  };
  const replica = createReplica(keys, { recordChanged: one, placeChanged: one, allChanged: all });
  const names = () => [...keys.entries()].map(({ accessKey }) => accessKey);
  return { keys, replica, heard, names };
}

/** Keys in this order, as writes from this one on have left them, each with as many bytes as its place. */
function rowsOf(names: readonly string[], write: number): readonly KeyRow[] {
  return names.map((accessKey, ordinal) => {
    const counters = { incarnation: write, number: 0, bytesUp: BigInt(ordinal), bytesDown: 0n, createdAt: 0 };
    const position = { position: write, ordinal, incarnation: write };
    return { accessKey, name: null, limitBytes: null, removed: false, ...position, counters };
  });
}

const connectedOf = (names: readonly string[], incarnation: number) =>
  names.map((accessKey) => ({ accessKey, incarnation, connections: 3n }));

describe('keys that are read anew', () => {
  it('are as they were told at the end, and until then all that stay are there with their connections', () => {
    const names = fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e', 'f']);
    fc.assert(
      fc.property(names, names, fc.integer({ min: 1, max: 2 }), (before, after, write) => {
        const { keys, replica, heard, names: present } = stage();
        replica.takeKeys(rowsOf(before, 1));
        replica.takeConnections(connectedOf(before, 1));
        const staying = before.filter((each) => after.includes(each));
        const steps = replica.replaceAll(rowsOf(after, write), connectedOf(after, write));
        for (let isDone = false; !isDone; isDone = steps.next().done === true) {
          for (const each of staying) expect(keys.get(each)?.counters).toMatchObject({ connections: 3n });
        }
        expect(present()).toEqual(after);
        for (const [at, each] of after.entries())
          expect(keys.get(each)?.counters).toMatchObject({ bytesUp: BigInt(at), connections: 3n });
        expect(heard.all).toBe(2);
        finish(replica.replaceAll(rowsOf(after, write), []));
        for (const each of after) expect(keys.get(each)?.counters).toMatchObject({ connections: 0n });
      }),
      { seed: 28, numRuns: 200 },
    );
  });

  it('are taken in steps of so many, that nobody waits for all of them', () => {
    const { keys, replica, heard, names } = stage();
    const many = Array.from({ length: 12_000 }, (_, n) => `k${n}`);
    const reversed = many.toReversed();
    replica.takeKeys(rowsOf(many, 1));
    const most: number[] = [];
    const steps = replica.replaceAll(rowsOf([...reversed, 'new'], 2), []);
    for (let isDone = false; !isDone; ) {
      const before = heard.keys;
      isDone = steps.next().done === true;
      expect(keys.size).toBeGreaterThanOrEqual(many.length);
      most.push(heard.keys - before);
    }
    expect(Math.max(...most)).toBeLessThanOrEqual(10_000);
    expect(names()).toEqual([...reversed, 'new']);
  });
});

it('what a batch counted that cannot be read back is not added to counters that were reset after it', () => {
  const { keys, replica } = stage();
  replica.takeKeys(rowsOf(['a', 'b'], 1));
  replica.takeKeys(rowsOf(['a'], 9));
  const used = ['a', 'b'].map((accessKey) => ({ accessKey, up: 5n, down: 5n }));
  replica.addUnread(used, 6, 8);
  expect(keys.get('a')?.counters).toMatchObject({ bytesUp: 0n, bytesDown: 0n });
  expect(keys.get('b')?.counters).toMatchObject({ bytesUp: 6n, bytesDown: 5n });
});

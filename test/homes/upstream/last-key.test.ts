import { expect, it } from 'vitest';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import { createLastKey, type LastKeyOptions } from '../../../src/homes/upstream/last-key.js';
import { silent } from '../database/gateways.js';

/** Deletions over a server that takes a turn of the event loop for each, and fails some. */
function deletionsOver(accessKeys: readonly string[], fails: readonly string[] = []) {
  const keys = new KeyRegistry(() => 0);
  for (const accessKey of accessKeys) keys.create({ accessKey, name: null, limitBytes: null });
  const kept: string[] = [];
  const options = {
    server: { name: 'a server', line: () => ({ storing: { startsWithKeys: true }, capabilities: {}, versions: [] }) },
    keys,
    writes: {
      async make(asked: { readonly accessKey: string }) {
        await new Promise(setImmediate);
        if (fails.includes(asked.accessKey)) throw new Error('not deleted');
        keys.setAside(asked.accessKey);
      },
    },
    listRefresh: { fresh: async () => undefined, status: () => ({ ageMilliseconds: 0 }) },
    configuration: {
      read: async () => ({
        value: { document: { bytes: Buffer.from([...keys.entries()].map((key) => key.accessKey).join()) } },
      }),
      keep: async (bytes: Buffer) => void kept.push(bytes.toString()),
    },
    log: silent,
  };
  return { keys, kept, lastKey: createLastKey(options as unknown as LastKeyOptions) };
}

it('of two keys that are deleted at once the last one is refused where that is, and else a version with it is kept', async () => {
  const refusing = deletionsOver(['a', 'b']);
  const refused = await Promise.allSettled(['a', 'b'].map((key) => refusing.lastKey.deleteKey(key, true)));
  expect(refused.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect([...refusing.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(['b']);
  const letting = deletionsOver(['a', 'b', 'c']);
  await Promise.all(['a', 'b', 'c'].map((key) => letting.lastKey.deleteKey(key, false)));
  expect([letting.keys.size, letting.kept]).toEqual([0, ['c']]);
});

it('a key is not the last one where the deletion of another one has failed', async () => {
  const { keys, lastKey } = deletionsOver(['a', 'b'], ['a']);
  const deleted = await Promise.allSettled(['a', 'b'].map((key) => lastKey.deleteKey(key, true)));
  expect(deleted.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect(keys.size).toBe(1);
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { DatabaseBackend } from '../../../src/homes/database/backend.js';
import { openConnections } from '../../../src/homes/database/connection.js';
import { SNAPSHOT } from '../../../src/homes/database/statements.js';
import { readStoredDocument, type StoredDocument } from '../../../src/homes/database/stored-document.js';
import { createKey, deleteKey, resetKey, updateKey } from '../../ports/key-changes.js';
import { tries } from '../../tries.js';
import { describeDatabase, freshDatabase } from './database.js';
import { key, openBackend } from './gateways.js';

const DOCUMENTS = [
  '{"mode":"server","access_keys":["a",{"access_key":"b","name":"Bea","note":1.50},"c"]}',
  '{\n  // kept\n  "mode": "server",\n  "outbound": { "enabled": true, "rules": [] },\n  "access_keys": [\n    "c", // last\n    "a"\n  ]\n}\n',
  '{"mode":"server","inbounds":[{"protocol":"ostp","settings":{"users":["b",{"key":"d","limit_bytes":7}]}}],"access_keys":["b"]}',
  '{"mode":"server"}',
  '{"mode":"client","access_keys":["x"]}',
];
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
type Change = (backend: DatabaseBackend) => Promise<unknown>;
const put = fc.constantFrom(...DOCUMENTS).map(
  (text): Change =>
    (backend) =>
      backend.document.put(Buffer.from(text)),
);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(name, fc.option(name)).map(
    ([one, called]): Change =>
      (backend) =>
        createKey(backend, key(one, called)),
  ),
  name.map(
    (one): Change =>
      (backend) =>
        backend.createBareKeys([key(one), key(`${one}${one}`)]),
  ),
  name.map(
    (one): Change =>
      (backend) =>
        deleteKey(backend, one),
  ),
  name.map(
    (one): Change =>
      (backend) =>
        resetKey(backend, one),
  ),
  fc.tuple(name, fc.option(fc.bigInt(0n, 2n ** 64n - 1n))).map(
    ([one, limitBytes]): Change =>
      (backend) =>
        updateKey(backend, one, { name: null, limitBytes }),
  ),
  fc.constantFrom('direct', 'block').map(
    (action): Change =>
      (backend) =>
        backend.replaceRules([{ domainSuffix: ['x'], ipCidr: [], protocol: null, action } as never]),
  ),
  fc.boolean().map(
    (enabled): Change =>
      (backend) =>
        backend.changeDns({ enabled }),
  ),
);

/** A listed key goes, another comes again at the end, and one has another name. */
const REMOVALS: Change[] = [
  (to) => deleteKey(to, 'a'),
  (to) => deleteKey(to, 'c'),
  (to) => createKey(to, key('c')),
  (to) => updateKey(to, 'b', { name: 'other', limitBytes: null }),
];

async function stored(url: string): Promise<StoredDocument> {
  const connections = openConnections({ url, most: 1 });
  const read = connections.session(async (run) => {
    await run(SNAPSHOT.begin, 5_000);
    return readStoredDocument(
      async (text) => (await run(text, 5_000))[0] ?? [],
      () => {},
    );
  });
  return read.finally(connections.close);
}

describeDatabase('the configuration that is read without a gateway', () => {
  it('is byte for byte what a gateway that starts shows, whatever has changed', async () => {
    const url = await freshDatabase();
    const gateway = await openBackend(url, { listens: false });
    await fc.assert(
      fc.asyncProperty(put, fc.array(change, { minLength: 1, maxLength: 6 }), async (first, changes) => {
        for (const make of [first, ...changes]) await make(gateway).catch(() => undefined);
        const other = await openBackend(url, { listens: false });
        const { number, bytes } = await other.document.at().finally(other.close);
        const read = await stored(url);
        expect(read.bytes.toString()).toBe(bytes.toString());
        expect(read.seen.state).toBe(number);
      }),
      { numRuns: tries(10), examples: [[(to) => to.document.put(Buffer.from(DOCUMENTS[0] ?? '')), REMOVALS]] },
    );
  });
});

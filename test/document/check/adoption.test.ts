import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AdoptionRequest, planAdoption } from '../../../src/document/check/adoption.js';
import { readDocument } from '../../../src/document/document.js';

const FILE = `{
  "mode": "server",
  "inbounds": [
    { "protocol": "ostp", "users": [
      "same",
      { "key": "other", "limit_bytes": 1, "owner": "o" }, // kept
      "gone"
    ] }
  ],
  // what the server left
  "access_keys": [
    "same", // the same
    { "access_key": "other", "name": "O", "limit_bytes": 18446744073709551615 },
    { "key": "new", "name": "N", "note": 1 }
  ],
  "debug": false
}
`;

const NOTHING: AdoptionRequest = { add: false, remove: false, update: false, keys: null };
const plan = (request: Partial<AdoptionRequest>, text = FILE) => {
  const adoption = planAdoption(Buffer.from(text), { ...NOTHING, ...request });
  if (adoption === null) throw new Error('there is no root list');
  return adoption;
};
const names = (keys: readonly { readonly accessKey: string }[]) => keys.map(({ accessKey }) => accessKey);

describe('an adoption', () => {
  it('without a request tells the differences and changes nothing', () => {
    const { bytes, left, listRemoved } = plan({});
    expect(bytes.toString()).toBe(FILE);
    expect(names(left.onlyInList)).toEqual(['new']);
    expect(names(left.onlyInInbounds)).toEqual(['gone']);
    expect(left.differing).toEqual([
      {
        inList: { accessKey: 'other', name: 'O', limitBytes: 2n ** 64n - 1n },
        inInbounds: { accessKey: 'other', name: null, limitBytes: 1n },
      },
    ]);
    expect(listRemoved).toBeNull();
  });

  it('does each thing alone, every other byte staying, the list whole while something is left in it', () => {
    expect(plan({ remove: true }).bytes.toString()).toBe(FILE.replace(', // kept\n      "gone"', ' // kept'));
    expect(plan({ add: true }).bytes.toString()).toBe(
      FILE.replace('"gone"', '"gone",\n      { "key": "new", "name": "N" }'),
    );
    const updated = '{ "key": "other", "name": "O", "limit_bytes": 18446744073709551615, "owner": "o" }';
    expect(plan({ update: true }).bytes.toString()).toBe(
      FILE.replace('{ "key": "other", "limit_bytes": 1, "owner": "o" }', updated),
    );
  });

  it('removes the list once the inbounds say all that it says, and names what goes with it', () => {
    const { bytes, listRemoved, left } = plan({ add: true, update: true });
    expect(listRemoved).toEqual({
      elements: 3,
      comments: ['// the same'],
      members: [{ place: 'access_keys[2].note', name: 'note', count: 1, known: expect.anything() }],
    });
    expect(names(left.onlyInInbounds)).toEqual(['gone']);
    const text = bytes.toString();
    expect(text).toMatch(/\/\/ what the server left\n {2}"debug": false\n}\n$/);
    expect(readDocument(bytes).configuration.warnings).toEqual([]);
  });

  it('keeps to the keys that are named, and refuses one that stands nowhere', () => {
    const { added, updated, removed, listRemoved } = plan({
      add: true,
      remove: true,
      update: true,
      keys: new Set(['gone']),
    });
    expect([names(added), updated, names(removed), listRemoved]).toEqual([[], [], ['gone'], null]);
    expect(() => plan({ add: true, keys: new Set(['same', 'nobody']) })).toThrow(
      'neither access_keys nor inbounds have "nobody"',
    );
  });

  it('leaves a list with an element that has no key', () => {
    const text = FILE.replace('"same", // the same', '"same", 7,');
    const { listRemoved, withoutKey } = plan({ add: true, update: true, remove: true }, text);
    expect({ listRemoved, withoutKey }).toEqual({ listRemoved: null, withoutKey: [1] });
  });

  it.each([
    ['{"mode": "server", "access_keys": ["a"]}', 'the file has no inbounds'],
    ['{"mode": "server", "inbounds": [], "access_keys": {}}', 'access_keys: expected an array'],
    [
      '{"mode": "server", "inbounds": [{"protocol": "api"}], "access_keys": ["a"]}',
      'inbounds: expected one with the protocol "ostp"',
    ],
  ])('of %s is an error that says why', (text, message) => {
    expect(() => plan({ add: true }, text)).toThrow(message);
  });

  it('of a file without a root list beside its inbounds is none', () => {
    expect(planAdoption(Buffer.from('{"mode": "server", "inbounds": []}'), { ...NOTHING, add: true })).toBeNull();
  });

  it('of everything makes the inbounds say what the list said, for any two lists', () => {
    const keys = fc.uniqueArray(
      fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), name: fc.option(fc.constantFrom('N', 'M')) }),
      { selector: ({ key }) => key },
    );
    fc.assert(
      fc.property(keys, keys, (users, list) => {
        const named = ({ name }: { readonly name: string | null }) => (name === null ? {} : { name });
        const text = JSON.stringify({
          inbounds: [{ protocol: 'ostp', users: users.map(({ key, name }) => ({ key, ...named({ name }) })) }],
          access_keys: list.map(({ key, name }) => ({ access_key: key, ...named({ name }) })),
        });
        const { bytes, listRemoved } = plan({ add: true, remove: true, update: true }, text);
        const after = readDocument(bytes).configuration.keys.map(({ accessKey, name }) => ({ key: accessKey, name }));
        expect(after.toSorted((x, y) => (x.key < y.key ? -1 : 1))).toEqual(
          list.toSorted((x, y) => (x.key < y.key ? -1 : 1)),
        );
        expect(listRemoved).not.toBeNull();
        expect(JSON.parse(bytes.toString())).not.toHaveProperty('access_keys');
      }),
    );
  });
});

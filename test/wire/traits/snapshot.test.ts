import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { type KeySnapshot, MAX_U64 } from '../../../src/core/model.js';
import { parseJson } from '../../../src/wire/json/json.js';
import { type SnapshotForm, snapshotWithNameAndLastSeen } from '../../../src/wire/traits/snapshot.js';
import { codePoint } from '../../code-points.js';

const u64 = fc.bigInt({ min: 0n, max: MAX_U64 });
const limit = fc.option(u64);
const counters = fc.record({
  bytesUp: u64,
  bytesDown: u64,
  connections: u64,
  limitBytes: limit,
  createdAt: fc.constant(0),
});
const key: fc.Arbitrary<KeySnapshot> = fc.record({
  accessKey: fc.string({ unit: codePoint, minLength: 1 }),
  name: fc.option(fc.string({ unit: codePoint })),
  limitBytes: limit,
  counters: fc.option(counters),
});

const forms = [...new Set(REVISIONS.map(({ snapshot }) => snapshot))];
const read = (form: SnapshotForm, text: string) => form.decode(parseJson(Buffer.from(text)));

describe.each(forms)('a snapshot with $name', (form) => {
  const names = form.members.map(({ name }) => name);

  it('is one JSON object with the members of the form in their order', () => {
    fc.assert(
      fc.property(key, fc.boolean(), (one, online) => {
        expect(Object.keys(JSON.parse(form.encode(one, online)))).toEqual(names);
      }),
    );
  });

  it('says when it is read what the key was, a key without counters with zeros', () => {
    fc.assert(
      fc.property(key, fc.boolean(), (one, online) => {
        const zeros = { bytesUp: 0n, bytesDown: 0n, connections: 0n, limitBytes: one.limitBytes, createdAt: 0 };
        const shown = one.counters ?? zeros;
        expect(read(form, form.encode(one, online))).toEqual({
          accessKey: one.accessKey,
          name: names.includes('name') ? one.name : null,
          limitBytes: shown.limitBytes,
          counters: shown,
          online,
        });
      }),
    );
  });

  it('is the same text when what was read is written again', () => {
    fc.assert(
      fc.property(key, fc.boolean(), (one, online) => {
        const text = form.encode(one, online);
        const again = read(form, text);
        expect(form.encode(again, again.online)).toBe(text);
      }),
    );
  });

  it('is refused without any one of its members that says something, which is named', () => {
    const whole = { access_key: 'a', name: null, limit_bytes: null, online: false, last_seen: null };
    const text = { ...whole, bytes_up: 0n, bytes_down: 0n, connections: 0n };
    for (const name of names.filter((each) => each !== 'last_seen')) {
      const { [name]: _, ...rest } = text as Record<string, string | bigint | boolean | null>;
      expect(() => form.decode(rest)).toThrow(`${name}: expected `);
    }
  });
});

it.each([
  ['bytes_up', MAX_U64 + 1n, 'bytes_up: expected an unsigned 64-bit integer'],
  ['connections', -1n, 'connections: expected an unsigned 64-bit integer'],
  ['limit_bytes', 'none', 'limit_bytes: expected an unsigned 64-bit integer or null'],
  ['online', 1n, 'online: expected true or false'],
  ['name', 5n, 'name: expected a string or null'],
])('a snapshot whose %s is %s is refused with the member and what was expected', (name, value, problem) => {
  const form = snapshotWithNameAndLastSeen;
  const whole = form.encode({ accessKey: 'a', name: null, limitBytes: null, counters: null }, false);
  const wire = parseJson(Buffer.from(whole));
  expect(() => form.decode({ ...(wire as object), [name]: value })).toThrow(problem);
});

it('members that a form does not have are read past', () => {
  const form = snapshotWithNameAndLastSeen;
  const text = form.encode({ accessKey: 'a', name: null, limitBytes: null, counters: null }, true);
  expect(read(form, text.replace('{', '{"later":[1],'))).toEqual(read(form, text));
});

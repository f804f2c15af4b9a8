import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { createListReader } from '../../src/client/list-reader.js';
import { type KnownKey, readSnapshot, type SnapshotLine } from '../../src/client/snapshots.js';
import { type KeySnapshot, MAX_U64 } from '../../src/core/model.js';
import { JsonSyntaxError, parseJson } from '../../src/wire/json/json.js';
import { codePoint } from '../code-points.js';
import { someOf, WHOLE } from '../whole.js';

/** What a list says that comes in pieces of so many bytes. */
async function readSnapshots(line: SnapshotLine, body: Buffer, { known, piece = body.length }: Reading = {}) {
  const reader = createListReader(line, { known });
  for (let at = 0; at < body.length; at += piece) await reader.take(body.subarray(at, at + piece));
  return reader.end();
}

interface Reading {
  readonly known?: KnownKey;
  readonly piece?: number;
}

const u64 = fc.oneof(fc.bigInt({ min: 0n, max: MAX_U64 }), fc.constantFrom(0n, 10n ** 15n, 2n ** 53n + 1n, MAX_U64));
const limit = fc.option(u64);
const key: fc.Arbitrary<KeySnapshot> = fc
  .record({
    accessKey: fc.string({ unit: codePoint, minLength: 1 }),
    name: fc.option(fc.string({ unit: codePoint })),
    limitBytes: limit,
    bytesUp: u64,
    bytesDown: u64,
    connections: u64,
    hasCounters: fc.boolean(),
  })
  .map(({ accessKey, name, limitBytes, hasCounters, ...counts }) => ({
    accessKey,
    name,
    limitBytes,
    counters: hasCounters ? { ...counts, limitBytes, createdAt: 0 } : null,
  }));

describe.each(someOf(REVISIONS, 2).map((line) => ({ id: line.id, line })))('a list of line $id', ({ line }) => {
  const encode = (each: KeySnapshot) => line.snapshot.encode(each, line.online.isOnline(each.counters));
  const hasName = line.snapshot.members.some(({ name }) => name === 'name');
  const tellsCounters = !line.online.mayHaveCounters(false);

  it('is read as it was written, exact to the last digit, as each snapshot is alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(key, { maxLength: 20 }), fc.integer({ min: 1, max: 300 }), async (keys, piece) => {
        const texts = keys.map(encode);
        const read = await readSnapshots(line, Buffer.from(`{"ok":true,"data":[${texts.join(',')}]}`), { piece });
        expect(read).toEqual(texts.map((text) => readSnapshot(line, parseJson(Buffer.from(text)))));
        expect(read).toEqual(
          keys.map((each) => ({
            ...each,
            name: hasName ? each.name : null,
            // Where they cannot be told from zeros, they are zeros.
            counters: each.counters ?? (tellsCounters ? null : { ...ZEROS, limitBytes: each.limitBytes }),
          })),
        );
      }),
    );
  });

  it('that says what is known gives what is known', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(key, { selector: ({ accessKey }) => accessKey }), async (keys) => {
        const body = Buffer.from(`{"ok":true,"data":[${keys.map(encode).join(',')}]}`);
        const first = (await readSnapshots(line, body)) ?? [];
        const known = new Map(first.map((each) => [each.accessKey, each]));
        const again = (await readSnapshots(line, body, { known: (accessKey) => known.get(accessKey) })) ?? [];
        expect(again.every((each, index) => each === first[index])).toBe(true);
      }),
    );
  });
});

const ZEROS = { bytesUp: 0n, bytesDown: 0n, connections: 0n, createdAt: 0 };

const [line] = REVISIONS.filter(({ id }) => id === 'current');
if (line === undefined) throw new Error('no such line');
const SNAPSHOT =
  '{"access_key":"a","name":null,"bytes_up":1,"bytes_down":2,"connections":0,"limit_bytes":null,"online":false,"last_seen":null}';
const listOf = (...elements: readonly string[]) => Buffer.from(`{"ok":true,"data":[${elements.join(',')}]}`);

it.each([
  [
    'a member is missing',
    SNAPSHOT.replace('"bytes_up":1,', ''),
    'data[1].bytes_up: expected an unsigned 64-bit integer',
  ],
  ['a number is negative', SNAPSHOT.replace('1,', '-1,'), 'data[1].bytes_up: expected an unsigned 64-bit integer'],
  ['a number is too large', SNAPSHOT.replace('1,', '18446744073709551616,'), 'data[1].bytes_up: expected'],
  ['a number is none', SNAPSHOT.replace('1,', '1.5,'), 'data[1].bytes_up: expected'],
  ['a key is null', SNAPSHOT.replace('"a"', 'null'), 'data[1].access_key: expected a string'],
  ['an element is no object', '"a"', 'data[1]'],
])('a list in which %s is refused with its place', async (_, element, message) => {
  await expect(readSnapshots(line, listOf(SNAPSHOT, element))).rejects.toThrow(message);
});

const wherever = (body: string) => Array.from(Buffer.from(body), (_, index) => index + 1);

it.each([
  [
    'a list with members around it',
    `{ "note": {"data":[1]}, "data" : [ ${SNAPSHOT} ] , "ok" : true, "more": [[]] } `,
    1,
  ],
  ['an empty list', '{"ok":true,"data":[]}', 0],
  ['a refusal', '{"ok":false,"error":"no"}', null],
  ['a list that is no success', `{"ok":false,"data":[${SNAPSHOT}]}`, null],
  ['data that is no list', '{"ok":true,"data":true}', null],
])('%s is read as that wherever it is cut', async (_, body, count) => {
  for (const piece of wherever(body)) {
    const keys = await readSnapshots(line, Buffer.from(body), { piece });
    expect(keys?.length ?? null).toBe(count);
  }
});

it.each([
  ['ends half-way', `{"ok":true,"data":[${SNAPSHOT},{"access_key":"b`],
  ['ends before its last bracket', `{"ok":true,"data":[${SNAPSHOT}]`],
  ['goes on behind its end', `{"ok":true,"data":[${SNAPSHOT}]}{}`],
  ['has two lists', `{"ok":true,"data":[${SNAPSHOT}],"data":[]}`],
  ['lacks a comma', `{"ok":true,"data":[${SNAPSHOT}${SNAPSHOT}]}`],
  ['has half of a character', `{"ok":true,"data":[${SNAPSHOT.replace('"a"', '"\\ud83d"')}]}`],
  ['is a page', '<!doctype html><title>"data":[</title>'],
])('an answer that %s is refused wherever it is cut', async (_, body) => {
  for (const piece of wherever(body)) {
    await expect(readSnapshots(line, Buffer.from(body), { piece })).rejects.toThrow(JsonSyntaxError);
  }
});

it('bytes that are no UTF-8 are refused', async () => {
  const body = listOf(SNAPSHOT.replace('"a"', '"\u00e9"'), SNAPSHOT);
  body[body.indexOf(0xa9)] = 0x22;
  for (const piece of [1, 20, body.length]) {
    await expect(readSnapshots(line, body, { piece })).rejects.toThrow(JsonSyntaxError);
  }
});

it('what has no list is there as it came', async () => {
  const body = Buffer.from('{"ok":false,"error":"no"}');
  const reader = createListReader(line);
  for (const byte of body) await reader.take(Buffer.from([byte]));
  expect(await reader.end()).toBeNull();
  expect(reader.unread()).toEqual(body);
  expect(reader.length).toBe(body.length);
});

it('a list that is given up takes no more of its keys, and has no end', async () => {
  const body = listOf(SNAPSHOT, SNAPSHOT, SNAPSHOT);
  const reader = createListReader(line);
  expect(await reader.take(body.subarray(0, -5))).toBe(true);
  reader.giveUp();
  expect(await reader.take(body.subarray(-5))).toBe(false);
  await expect(reader.end()).rejects.toThrow('a list that was given up');
});

it('members that a later version may have, and what it may say of last_seen, do not matter', async () => {
  const later = SNAPSHOT.replace('"last_seen":null', '"last_seen":1763000000,"devices":[{"id":1}]');
  const keys = await readSnapshots(line, listOf(SNAPSHOT));
  expect(await readSnapshots(line, listOf(later))).toEqual(keys);
  expect([readSnapshot(line, parseJson(Buffer.from(later)))]).toEqual(keys);
});

if (WHOLE)
  it('a list of 100,000 keys lets others have their turn', async () => {
    const body = listOf(...Array.from({ length: 100_000 }, (_, index) => SNAPSHOT.replace('"a"', `"key-${index}"`)));
    let turns = 0;
    const count = () => {
      turns += 1;
      if (isReading) setImmediate(count);
    };
    let isReading = true;
    setImmediate(count);
    const keys = await readSnapshots(line, body);
    isReading = false;
    expect(keys).toHaveLength(100_000);
    expect(turns).toBeGreaterThan(3);
  });

import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_U64 } from '../../../../src/core/model.js';
import {
  checkState,
  countersLine,
  readBesides,
  readCountersLines,
  readState,
  writeState,
} from '../../../../src/homes/file/counters/lines.js';
import { codePoint } from '../../../code-points.js';

const count = fc.bigInt({ min: 0n, max: MAX_U64 });
const time = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const counters = fc.record({
  accessKey: fc.string({ minLength: 1, unit: codePoint }),
  bytesUp: count,
  bytesDown: count,
  connections: count,
  createdAt: time,
  leftAt: fc.option(time),
});
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const runs = fc.nat();
/** By an age of 300 years, and of 2^64 s. */
const farAgo = fc.constantFrom(-8_000_000_000_000, 1_700_000_000_000 - Number(2n ** 64n) * 1000);
const source = fc.record({
  name: fc.string({ minLength: 1 }),
  run: fc.oneof(
    fc.record({ kind: fc.constant('epoch' as const), epoch: u64 }),
    fc.record({ kind: fc.constant('uptime' as const), startedAt: fc.oneof(time, farAgo), uptimeSeconds: u64 }),
  ),
  number: u64,
  isBegun: fc.boolean(),
  isBaseline: fc.boolean(),
  connections: fc.constantFrom('total' as const, 'present' as const),
  postedAt: time,
  runs,
  comparedFrom: runs,
});
const base = fc.record({
  source: fc.string({ minLength: 1 }),
  accessKey: fc.string({ minLength: 1 }),
  bytesUp: u64,
  bytesDown: u64,
  connections: u64,
  runs,
});
const sources = fc.record({
  sources: fc.array(source, { minLength: 1, maxLength: 3 }),
  bases: fc.array(base, { maxLength: 5 }),
});
/** A note as records have it. */
const note = fc.string({ unit: codePoint }).map((text) => JSON.stringify(text));
const mapOf = (notes: Readonly<Record<string, string>>) => new Map(Object.entries(notes));
const state = fc.record({
  configuration: fc.option(fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))),
  counters: fc.array(counters, { maxLength: 20 }),
  reports: fc.option(fc.array(fc.string(), { maxLength: 10 })),
  sources: fc.option(sources),
  notes: fc.dictionary(fc.string({ minLength: 1, unit: codePoint }), note, { maxKeys: 3 }).map(mapOf),
});

/** The same bytes, cut anywhere. */
function cut(bytes: Buffer, at: readonly number[]): readonly Buffer[] {
  const places = [0, ...at.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

async function refusal(reading: Promise<unknown>): Promise<string> {
  return reading.then(
    () => 'none',
    (error: Error) => `${error.name} ${error.message}`,
  );
}

describe('a state as lines', () => {
  it('comes back as it was, however its bytes come', async () => {
    await fc.assert(
      fc.asyncProperty(state, time, fc.array(fc.nat(), { maxLength: 8 }), async (given, createdAt, places) => {
        const bytes = await buffer(writeState(given, createdAt));
        const read = await readState(cut(bytes, places));
        expect({ ...read, counters: [...read.counters] }).toEqual(given);
        const { configuration: _, ...besides } = given;
        const readThen = await readBesides(cut(bytes, places));
        expect({ ...readThen, counters: [...readThen.counters] }).toEqual(besides);
        expect(await checkState(cut(bytes, places))).toEqual({
          configuration: given.configuration,
          counters: given.counters.length,
          notes: given.notes.size,
        });
      }),
    );
  });

  it('is refused when any byte of it is another, or missing at its end', async () => {
    await fc.assert(
      fc.asyncProperty(state, fc.nat(), fc.integer({ min: 1, max: 255 }), async (given, place, change) => {
        const bytes = await buffer(writeState(given, 7));
        // Without its last line end it is whole.
        const at = place % (bytes.length - 1);
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        const isBlank = /^[\t-\r ]$/;
        const inEnding = bytes.subarray(at).indexOf('\n') === bytes.length - 1 - at;
        // What may stand between the members of the last line is in no checksum.
        if (inEnding && isBlank.test(String.fromCharCode(changed[at] ?? 0))) return;
        expect(await refusal(readState([changed]))).toMatch(/^LinesError /);
        expect(await refusal(readState([bytes.subarray(0, at)]))).toMatch(/^LinesError /);
      }),
    );
  });

  it('is written in pieces that are small, whatever its size', async () => {
    const configuration = Buffer.alloc(3_000_001, 'configuration ');
    const given = {
      configuration,
      counters: Array.from({ length: 20_000 }, (_, index) => ({
        accessKey: `key-${index}`,
        bytesUp: 1n,
        bytesDown: 2n,
        connections: 3n,
        createdAt: 4,
        leftAt: null,
      })),
      reports: ['a', 'b'],
      sources: null,
      notes: new Map(),
    };
    const pieces: Buffer[] = [];
    for await (const piece of writeState(given, 7)) pieces.push(piece);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(256 * 1024);
    const read = await readState(pieces);
    expect(read.configuration?.equals(configuration)).toBe(true);
    expect([[...read.counters], read.reports]).toEqual([given.counters, given.reports]);
  });

  it('is refused at its first line when that is none of a backup, without reading on', async () => {
    let pieces = 0;
    function* endless() {
      for (;;) {
        pieces += 1;
        yield Buffer.alloc(64 * 1024);
      }
    }
    expect(await refusal(readState(endless()))).toBe('LinesError line 1: expected a line of at most 1048576 bytes');
    expect(pieces).toBe(17);
  });
});

describe('lines of counters', () => {
  it('come back as they were, however their bytes come, with empty lines between them', async () => {
    const unique = fc.uniqueArray(counters, { maxLength: 20, selector: ({ accessKey }) => accessKey });
    await fc.assert(
      fc.asyncProperty(unique, fc.array(fc.nat(), { maxLength: 8 }), async (given, places) => {
        const text = given.map((one) => `${countersLine(one)}\n\n \r\n`).join('');
        expect(await readCountersLines(cut(Buffer.from(text), places))).toEqual(given);
      }),
    );
  });

  it('name the line of a key that comes a second time, empty ones counted', async () => {
    const line = '{"access_key":"a","bytes_up":1,"bytes_down":1,"connections":1,"created_at":1}\n';
    expect(await refusal(readCountersLines([Buffer.from(`${line}\n\n${line}`)]))).toBe(
      'LinesError line 4: "a" comes a second time',
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DomainError } from '../../src/core/errors.js';
import { MAX_U64 } from '../../src/core/model.js';
import { readReport } from '../../src/feed/report-body.js';
import { isJsonObject, type JsonValue, parseJson } from '../../src/wire/json/json.js';
import { codePoint } from '../code-points.js';

const aNumber = fc.oneof(
  fc.nat().map(String),
  fc.bigInt({ min: 0n, max: MAX_U64 }).map(String),
  fc.constantFrom('0', '999999999999999', '9999999999999999', String(MAX_U64)),
);
const anOddNumber = fc.constantFrom('-1', '1.5', '1e3', '01', '', 'null', String(MAX_U64 + 1n), '"1"', '1 2');
const aKey = fc.oneof(
  fc.constantFrom('a', 'b'),
  fc.string({ minLength: 1 }),
  fc.string({ minLength: 1, unit: codePoint }),
);
const aBlank = fc.constantFrom('', '', '', ' ', '  ', '\n');

/** An entry as text: members in any order, blanks anywhere, sometimes odd. */
const anEntryText = fc
  .tuple(
    aKey,
    aNumber,
    aNumber,
    fc.option(aNumber),
    fc.nat(23),
    fc.array(aBlank, { minLength: 4, maxLength: 4 }),
    fc.option(fc.tuple(fc.nat(3), anOddNumber), { freq: 8 }),
    fc.constantFrom('', '', '', ',"more":[1,{}]', ',"bytes_up":1'),
  )
  .map(([key, up, down, connections, order, blanks, odd, more]) => {
    const numbers = [up, down, connections].map((number, i) => (odd?.[0] === i ? odd[1] : number));
    const members = [
      `"access_key"${blanks[0]}:${blanks[1]}${JSON.stringify(key)}`,
      `"bytes_up":${blanks[2]}${numbers[0]}`,
      `"bytes_down":${numbers[1]}`,
      ...(numbers[2] === null ? [] : [`"connections":${numbers[2]}${blanks[3]}`]),
    ];
    const turned = members.map((_, i) => members[(i + order) % members.length]);
    return `{${turned.join(`,${blanks[0]}`)}${more}}`;
  });

/** What a report says, read by way of a tree; null when it is none. */
function reference(text: string): unknown {
  try {
    const body = parseJson(Buffer.from(text));
    const entries = isJsonObject(body) ? body.entries : null;
    return Array.isArray(entries) ? entries.map(entryOf) : null;
  } catch {
    return null;
  }
}

function entryOf(value: JsonValue) {
  if (!isJsonObject(value)) throw new Error('no object');
  const { access_key: accessKey, bytes_up: bytesUp, bytes_down: bytesDown, connections = null } = value;
  const isCount = (count: unknown) => typeof count === 'bigint' && count >= 0n && count <= MAX_U64;
  if (typeof accessKey !== 'string' || !isCount(bytesUp) || !isCount(bytesDown)) throw new Error('no entry');
  if (connections !== null && !isCount(connections)) throw new Error('no entry');
  return { accessKey, bytesUp, bytesDown, connections };
}

function read(text: string): unknown {
  try {
    return readReport(Buffer.from(text)).entries;
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

describe('a report', () => {
  it('however it is written, says what a JSON parser makes of it, or is refused where that refuses it', () => {
    fc.assert(
      fc.property(fc.array(anEntryText, { maxLength: 6 }), (entries) => {
        const text = `{"entries":[${entries.join(',')}]}`;
        expect(read(text)).toEqual(reference(text));
      }),
      { numRuns: 3000 },
    );
  });

  it('cut short or with any byte changed, never gives other numbers than a JSON parser', () => {
    const text =
      '{"entries":[{"access_key":"k1","bytes_up":12,"bytes_down":345,"connections":0},{"access_key":"k2","bytes_up":1,"bytes_down":2}]}';
    for (let at = 0; at <= text.length; at += 1) {
      expect(read(text.slice(0, at)), String(at)).toEqual(reference(text.slice(0, at)));
      for (const byte of '"0,.:{}[]e-\\ x') {
        const changed = text.slice(0, at) + byte + text.slice(at + 1);
        expect(read(changed), changed).toEqual(reference(changed));
      }
    }
  });

  it('may say its id before or after the entries', () => {
    expect(readReport(Buffer.from('{"entries":[],"report_id":"r"}'))).toEqual({ id: 'r', entries: [] });
    expect(readReport(Buffer.from('{"report_id":null,"entries":[]}'))).toEqual({ id: null, entries: [] });
  });
});

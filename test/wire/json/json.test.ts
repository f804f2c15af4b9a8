import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finish } from '../../../src/core/steps.js';
import {
  compactJsonSteps,
  isJsonObject,
  type JsonOptions,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
  prettyJson,
  prettyJsonSteps,
} from '../../../src/wire/json/json.js';

const compactJson = (bytes: Uint8Array): Buffer => Buffer.concat(finish(compactJsonSteps(bytes)));

const parse = (text: string, options?: JsonOptions): JsonValue => parseJson(Buffer.from(text), options);

function failure(work: () => unknown): JsonSyntaxError {
  try {
    work();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** A value as `JSON.parse` would give it: bigints as doubles, ordinary objects. */
function asPlain(value: JsonValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(asPlain);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asPlain(member)]));
}

const blanks = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

/** Blanks put around every structural byte of a text that has none inside its strings. */
function spread(compact: string, filler: string): string {
  return compact.replace(/("(?:[^"\\]|\\.)*")|([{}[\],:])/g, (whole, text) =>
    text === undefined ? filler + whole + filler : whole,
  );
}

describe('parseJson', () => {
  it('an integer lexeme of any size is an exact bigint', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), (value) => {
        expect(parse(value.toString())).toBe(value);
      }),
    );
    expect(parse('18446744073709551615')).toBe(18446744073709551615n);
  });

  it.each([
    ['-0', -0],
    ['1.0', 1],
    ['1e3', 1000],
    ['0.10', 0.1],
    ['-2E-2', -0.02],
    ['-0.0', -0],
  ])('%s is no integer lexeme and becomes a double', (text, value) => {
    expect(parse(text)).toBe(value);
  });

  it('any JSON text reads as JSON.parse reads it, whatever the blanks', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), blanks, (value, filler) => {
        const text = spread(JSON.stringify(value), filler);
        expect(asPlain(parse(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('a member named __proto__ is an ordinary member of an object without a prototype', () => {
    const value = parse('{"__proto__": {"admin": true}, "constructor": 1}');
    expect(isJsonObject(value) && Object.getPrototypeOf(value)).toBe(null);
    expect(isJsonObject(value) && Object.keys(value)).toEqual(['__proto__', 'constructor']);
  });

  it('a repeated member is an error, or the last one counts where that is asked for', () => {
    const text = '{"a": 1,\n "b": 2, "\\u0061": 3}';
    expect(failure(() => parse(text)).message).toBe('duplicate member "a" at line 2 column 10');
    expect(parse(text, { duplicates: 'last' })).toEqual(Object.assign(Object.create(null), { a: 3n, b: 2n }));
  });

  it('comments of all three kinds and a byte order mark are read past where they are allowed', () => {
    const text = '\ufeff// one\n{ # two\r\n "a": /* three\n*/ [1 /**/, "//", "#"] } // end';
    expect(asPlain(parse(text, { comments: true }))).toEqual({ a: [1, '//', '#'] });
  });

  it.each<[string, string, JsonOptions?]>([
    ['', 'unexpected end of input at line 1 column 1'],
    ['{"a": 1, ', 'unexpected end of input at line 1 column 10'],
    ['{"a": 1,}', "unexpected '}', expected a member name at line 1 column 9"],
    ['[1,]', "unexpected ']', expected a value at line 1 column 4"],
    ['[1 2]', "unexpected '2', expected ',' or ']' at line 1 column 4"],
    ['{"a" 1}', "unexpected '1', expected ':' at line 1 column 6"],
    ['{a: 1}', "unexpected 'a' at line 1 column 2"],
    ['[\n  "é", x]', "unexpected 'x' at line 2 column 8"],
    ['1 1', "unexpected '1', expected the end of input at line 1 column 3"],
    ['01', "unexpected '1' in a number at line 1 column 2"],
    ['1.', 'unexpected end of input at line 1 column 3'],
    ['[1.]', "unexpected ']' in a number at line 1 column 4"],
    ['-', 'unexpected end of input at line 1 column 2'],
    ['+1', "unexpected '+' at line 1 column 1"],
    ['NaN', "unexpected 'N' at line 1 column 1"],
    ['nul', 'unexpected end of input at line 1 column 4'],
    ['truest', "unexpected 's' at line 1 column 5"],
    ['"a\tb"', 'unexpected control character 9 in a string at line 1 column 3'],
    ['"\\x"', 'invalid escape in a string at line 1 column 2'],
    ['"\\u12g4"', 'invalid escape in a string at line 1 column 2'],
    ['"abc', 'unexpected end of input at line 1 column 5'],
    ['// a\n1', "unexpected '/' at line 1 column 1"],
    ['\ufeff1', 'unexpected byte order mark at line 1 column 1'],
  ])('%j is refused, naming the place', (text, message) => {
    const error = failure(() => parse(text));
    expect(error.message).toBe(message);
    expect(error.step).toBe('parse');
  });

  it.each([
    ['{ /* open', 'unterminated comment at line 1 column 3'],
    ['[1,\n / 2]', "unexpected '/' at line 2 column 2"],
  ])('%j fails in the step that takes comments off', (text, message) => {
    const error = failure(() => parse(text, { comments: true }));
    expect([error.step, error.message]).toEqual(['comments', message]);
  });

  it('bytes that are not UTF-8 are refused, naming the place', () => {
    const bytes = Buffer.from([0x5b, 0x22, 0xc3, 0xa9, 0xff, 0x22, 0x5d]);
    expect(failure(() => parseJson(bytes)).message).toBe('invalid UTF-8 at line 1 column 4');
  });

  it('512 levels are read and 513 are an error, never a stack overflow', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    expect(Array.isArray(parse(nested(512)))).toBe(true);
    expect(failure(() => parse(nested(513))).message).toBe('nested deeper than 512 levels at line 1 column 513');
    expect(failure(() => parse('{"a":['.repeat(1e6))).message).toContain('nested deeper than 512 levels');
    expect(failure(() => compactJson(Buffer.from(nested(1e6)))).message).toContain('nested deeper');
    expect(failure(() => prettyJson(Buffer.from(nested(1e6)))).message).toContain('nested deeper');
  });

  it('a lone surrogate escape stays a lone surrogate', () => {
    expect(parse('"\\ud800x\\udc00"')).toBe('\ud800x\udc00');
  });

  it('of a stranger, a text is refused exactly where JavaScript calls it not well-formed', () => {
    const unit = fc.constantFrom(
      ...['\\ud83d', '\\uDE00', '\\udbff', '\\uDFFF', '\\u0041', '\\ud7ff', '\\ue000', '\\\\', 'x', '😀', 'ud83d'],
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 6 }), fc.boolean(), (units, asName) => {
        const string = `"${units.join('')}"`;
        const text = asName ? `{${string}:1}` : `[1,${string}]`;
        const isWellFormed = !/\p{Surrogate}/u.test(JSON.parse(string) as string);
        if (isWellFormed) expect(parse(text, { foreign: true })).toEqual(parse(text));
        else expect(failure(() => parse(text, { foreign: true })).step).toBe('unicode');
      }),
    );
  });

  it('of a stranger, half of a surrogate pair is refused, naming it and the place', () => {
    const error = failure(() => parse('{"a": "ok",\n "b": "é\\uD83D"}', { foreign: true }));
    expect(error.message).toBe('lone surrogate \\uD83D (half of a character) at line 2 column 9');
  });

  it('of a stranger, an integer that is too long for 64 bits is a double, and others are exact', () => {
    expect(parse('[18446744073709551615, -5, 99999999999999999999]', { foreign: true })).toEqual([
      18446744073709551615n,
      -5n,
      99999999999999999999n,
    ]);
    expect(parse('100000000000000000000', { foreign: true })).toBe(1e20);
    expect(parse('9'.repeat(2 ** 20), { foreign: true })).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('compactJsonSteps and prettyJson', () => {
  it('compact text is that of JSON.stringify, whatever the blanks and comments', () => {
    const comment = fc.constantFrom('', '/* [ */', '// x\n', '# "\r\n', ' ');
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), comment, (value, filler) => {
        const text = JSON.stringify(value);
        expect(compactJson(Buffer.from(spread(text, filler))).toString()).toBe(text);
      }),
    );
  });

  it('pretty text is that of JSON.stringify with two blanks', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), blanks, (value, filler) => {
        const text = JSON.stringify(value);
        expect(prettyJson(Buffer.from(spread(text, filler))).toString()).toBe(
          JSON.stringify(JSON.parse(text), null, 2),
        );
      }),
    );
  });

  it('numbers, strings and the order of members stay as they are spelled', () => {
    const text = '{"10":1e3,"2":[0.10,-0,18446744073709551615,12345678901234567890123],"\\u0061\\/":"\\ud800"}';
    expect(compactJson(Buffer.from(text)).toString()).toBe(text);
    expect(compactJson(prettyJson(Buffer.from(text))).toString()).toBe(text);
  });

  it('pretty text refuses a repeated member, at any depth and not across objects', () => {
    expect(failure(() => prettyJson(Buffer.from('[{"a":1},{"a":{"a":2}, "a":3}]'))).message).toContain(
      'duplicate member "a"',
    );
    expect(prettyJson(Buffer.from('[{"a":1},{"a":{"a":2}}]')).length).toBeGreaterThan(0);
  });

  it('long texts pass through unchanged', () => {
    const text = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ key: `k${i}`.repeat(20), limit: i })));
    expect(compactJson(prettyJson(Buffer.from(text))).toString() === text).toBe(true);
  });

  it('compact text is made a piece at a time, with a pause after so many bytes', () => {
    const text = JSON.stringify(Array.from({ length: 40_000 }, (_, i) => ({ key: `k${i}`.repeat(20), limit: i })));
    const steps = compactJsonSteps(prettyJson(Buffer.from(text)));
    let pauses = 0;
    let next = steps.next();
    for (; next.done !== true; next = steps.next()) pauses += 1;
    expect(Buffer.concat(next.value).toString() === text).toBe(true);
    expect(pauses).toBeGreaterThan(text.length / 2 ** 18);
    expect(Math.max(...next.value.map(({ length }) => length))).toBeLessThanOrEqual(2 ** 18);
  });

  it('a text that indentation would blow up beyond the limit is refused', () => {
    const text = `${'['.repeat(512)}${'1,'.repeat(2 ** 12)}1${']'.repeat(512)}`;
    expect(() => finish(prettyJsonSteps(Buffer.from(text), { limit: 2 ** 20 }))).toThrow(RangeError);
  });

  it('a text that would pass its limit is given up there: nothing is read or kept beyond', () => {
    const text = `${'['.repeat(512)}${'1,'.repeat(2 ** 12)} no JSON from here on`;
    expect(() => finish(prettyJsonSteps(Buffer.from(text), { limit: 2 ** 20 }))).toThrow(RangeError);
    expect(failure(() => prettyJson(Buffer.from(text))).message).toContain("unexpected 'o'");
  });

  it('of a stranger, half of a surrogate pair is refused in names and values; of a file it stays as it is spelled', () => {
    for (const text of ['{"a":"\\ud83d"}', '{"\\uDE00":1}']) {
      expect(failure(() => finish(prettyJsonSteps(Buffer.from(text), { foreign: true }))).message).toContain(
        'lone surrogate \\u',
      );
      expect(compactJson(prettyJson(Buffer.from(text))).toString()).toBe(text);
    }
  });
});

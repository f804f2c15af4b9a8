import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { current } from '../../revisions/current.js';
import { jsonDifferences } from '../../src/lab/format/json-difference.js';
import { createBindings } from '../../src/lab/format/placeholders.js';
import { Replacements } from '../../src/lab/format/replacements.js';
import { stripJson } from '../../src/lab/format/strip.js';
import { describeExchange, type PassedExchange } from '../../src/lab/record/describe.js';
import { type JsonValue, parseJson } from '../../src/wire/json/json.js';
import { writeJson } from '../../src/wire/json/write-json.js';

/** Texts that stand in no vocabulary of the format. */
const foreign = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  .map((text) => `§${text.replaceAll('<', '')}`);
const member = fc.oneof(
  fc.constantFrom('name', 'token', 'access_key', 'key', 'mode', 'users', 'custom_domains', 'password_hash', 'dns'),
  foreign,
);
const { value: anyJson } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    foreign,
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.uniqueArray(fc.tuple(member, tie('value')), { maxLength: 4, selector: ([name]) => name }).map((entries) => {
      const result: Record<string, JsonValue> = Object.create(null);
      for (const [name, each] of entries) result[name] = each;
      return result;
    }),
  ),
}));

describe('stripping', () => {
  test('leaves no text of anybody in any value', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(writeJson(stripJson(value, new Replacements(false)))).not.toContain('§');
      }),
    );
  });

  test('gives what the value itself matches', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const stripped = stripJson(value, new Replacements(false));
        const options = { unordered: [], bindings: createBindings(true) };
        expect(jsonDifferences(stripped, value, options)).toEqual([]);
      }),
    );
  });

  test('keeps numbers, truth values and the words of the format', () => {
    const value = parseJson(
      Buffer.from('{"mode":"server","limit_bytes":18446744073709551615,"enabled":true,"name":null}'),
    );
    expect(writeJson(stripJson(value, new Replacements(false)))).toBe(writeJson(value));
  });

  test('gives the same value the same placeholder, whatever it is to the reader', () => {
    const value: JsonValue = { access_keys: ['both', { access_key: 'other', name: 'both' }], note: 'other' };
    expect(stripJson(value, new Replacements(false))).toEqual({
      access_keys: ['<key:1>', { access_key: '<key:2>', name: '<key:1>' }],
      note: '<key:2>',
    });
  });
});

describe('a described exchange', () => {
  const passed = (change: Partial<PassedExchange>): PassedExchange => ({
    method: 'GET',
    path: '/panel/api/users/a%20b',
    requestHeaders: new Map(),
    requestBody: Buffer.alloc(0),
    status: 200,
    responseHeaders: new Map([['content-type', 'application/json']]),
    responseBody: Buffer.from('{"ok":true,"data":{"access_key":"a b"}}'),
    ...change,
  });
  const describeOne = (change: Partial<PassedExchange>) =>
    describeExchange(
      passed(change),
      { apiRoot: '/panel/api', base: '/panel', traits: current },
      new Replacements(false),
    );

  test('names the operation, and has the key of the path as the key of the answer', () => {
    expect(describeOne({})).toMatchObject({
      operation: 'getUser',
      request: { method: 'GET', path: '/users/<key:1>' },
      response: { body: { data: { access_key: '<key:1>' } } },
    });
  });

  test('takes a share link apart', () => {
    const responseBody = Buffer.from('{"ok":true,"data":"ostp://a b@vpn.example:1?type=udp"}');
    expect(describeOne({ path: '/panel/api/subscribe/a%20b', responseBody }).response.body).toEqual({
      ok: true,
      data: 'ostp://<key:1>@<text:1>?type=udp',
    });
  });

  test('keeps the words of the error table, and the beginning alone of those that go on', () => {
    const errorOf = (error: string) =>
      describeOne({ status: 400, responseBody: Buffer.from(JSON.stringify({ ok: false, error })) }).response.body;
    expect(errorOf('user not found')).toEqual({ ok: false, error: 'user not found' });
    expect(errorOf('Failed to read config file: /home/ann/x')).toEqual({
      ok: false,
      error: '<text starting:Failed to read config file>',
    });
    expect(errorOf('ann is unknown')).toEqual({ ok: false, error: '<text:1>' });
  });

  test('hides the web path: it is a secret', () => {
    const headers = new Map([['location', '/panel/']]);
    const described = describeOne({
      path: '/panel',
      status: 308,
      responseHeaders: headers,
      responseBody: Buffer.alloc(0),
    });
    expect(described).toMatchObject({
      request: { root: 'base', path: '' },
      response: { headers: { location: '<secret:1>' } },
    });
  });
});

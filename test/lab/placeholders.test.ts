import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillText, hasUnbound, matchText, UnboundPlaceholder } from '../../src/lab/format/placeholders.js';

const KEY = 'c9cb2f7c8e6a4a2f9c6d1f0e4b7a8d55';
const OTHER = '0123456789abcdef0123456789abcdef';

describe('a numbered placeholder', () => {
  test('takes its value at its first match and asks for it from then on', () => {
    const bindings = new Map<string, string>();
    expect(matchText('<key:1>', KEY, bindings)).toBe(true);
    expect(bindings).toEqual(new Map([['key:1', KEY]]));
    expect(matchText('ostp://<key:1>@h:1', `ostp://${KEY}@h:1`, bindings)).toBe(true);
    expect(matchText('<key:1>', OTHER, bindings)).toBe(false);
  });

  test('never shares its value with another number', () => {
    const bindings = new Map([['key:1', KEY]]);
    expect(matchText('<key:2>', KEY, bindings)).toBe(false);
    expect(matchText('<key:2>', OTHER, bindings)).toBe(true);
    expect(matchText('<key:3>-<key:4>', `${'a'.repeat(32)}-${'a'.repeat(32)}`, bindings)).toBe(false);
  });

  test('matches only what has its form', () => {
    for (const wrong of ['', 'short', KEY.toUpperCase(), `${KEY}0`, '<key:1>']) {
      expect(matchText('<key:1>', wrong, new Map())).toBe(false);
    }
    expect(matchText('<session:1>', 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6', new Map())).toBe(true);
    expect(matchText('<session:1>', 'F81D4FAE-7DEC-41D0-A765-00A0C91E6BF6', new Map())).toBe(false);
    expect(matchText('<audit-id:1>', 'f', new Map())).toBe(true);
    expect(matchText('<audit-id:1>', '', new Map())).toBe(false);
  });

  test('twice in one text asks for one value', () => {
    expect(matchText('<key:1>/<key:1>', `${KEY}/${KEY}`, new Map())).toBe(true);
    expect(matchText('<key:1>/<key:1>', `${KEY}/${OTHER}`, new Map())).toBe(false);
  });

  test('binds nothing when the text around it does not match', () => {
    const bindings = new Map<string, string>();
    expect(matchText('a<key:1>', `b${KEY}`, bindings)).toBe(false);
    expect(bindings.size).toBe(0);
  });

  test('in a request stands for its value, and has to have one', () => {
    const bindings = new Map([['key:1', 'a/b']]);
    expect(fillText('/users/<key:1>/limit', bindings, encodeURIComponent)).toBe('/users/a%2Fb/limit');
    expect(() => fillText('/users/<key:2>', bindings)).toThrow(UnboundPlaceholder);
    expect(hasUnbound('<key:1>', bindings)).toBe(false);
    expect(hasUnbound('<key:2>', bindings)).toBe(true);
  });
});

describe('a placeholder without a number', () => {
  test('matches by form', () => {
    expect(matchText('<time>', '23:59:59', new Map())).toBe(true);
    expect(matchText('<time>', '24:00:00', new Map())).toBe(false);
    expect(matchText('<version>', '0.2.48', new Map())).toBe(true);
    expect(matchText('<version>', 'latest', new Map())).toBe(false);
    expect(matchText('<uptime>', 12n, new Map())).toBe(true);
    expect(matchText('<uptime>', '12', new Map())).toBe(false);
    expect(matchText('<uptime>', 1.5, new Map())).toBe(false);
  });

  test('describes a text by its beginning, a part or a pattern', () => {
    expect(matchText('<text containing:limit_bytes>', 'the member limit_bytes must …', new Map())).toBe(true);
    expect(matchText('<text containing:limit_bytes>', 'the member name must …', new Map())).toBe(false);
    expect(matchText('<text starting:Failed to>', 'Failed to read', new Map())).toBe(true);
    expect(matchText('<text starting:Failed to>', 'has Failed to read', new Map())).toBe(false);
    expect(matchText('<text matching:[0-9a-f]{16}>', '0123456789abcdef', new Map())).toBe(true);
    expect(matchText('<text matching:[0-9a-f]{16}>', '0123456789abcdef0', new Map())).toBe(false);
  });
});

test('a text without placeholders matches itself alone', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (expected, actual) => {
      fc.pre(!expected.startsWith('<'));
      expect(matchText(expected, actual, new Map())).toBe(expected === actual);
      expect(matchText(expected, expected, new Map())).toBe(true);
    }),
  );
});

test('what fillText writes is what matchText accepts', () => {
  const value = fc.stringMatching(/^[0-9a-f]{32}$/);
  fc.assert(
    fc.property(fc.string(), fc.string(), value, (before, after, key) => {
      fc.pre(!before.startsWith('<'));
      const template = `${before}<key:1>${after}`;
      const bindings = new Map([['key:1', key]]);
      expect(matchText(template, fillText(template, bindings), bindings)).toBe(true);
    }),
  );
});

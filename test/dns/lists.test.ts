import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBlocklist } from '../../src/dns/blocklist.js';
import { readLineOfAnEngine, readOlderLine } from '../../src/dns/line-rules.js';
import { createListReader, ListError, readRules } from '../../src/dns/list-lines.js';
import { createListRules } from '../../src/dns/list-rules.js';

interface Read {
  readonly blocked: readonly string[];
  readonly excepted: readonly string[];
}

/** Reads a list in pieces of so many bytes. */
function readList(content: string | Buffer, piece = 1 << 16): Read {
  const rules = createListRules();
  const reader = createListReader(rules, readOlderLine);
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += piece) reader.push(bytes.subarray(at, at + piece));
  reader.end();
  return { blocked: [...rules.blocked.below], excepted: [...rules.excepted.below] };
}

function blocklistOf(blocked: readonly string[], excepted: readonly string[] = []) {
  const rules = createListRules();
  for (const name of blocked) rules.blocked.below.add(name);
  for (const name of excepted) rules.excepted.below.add(name);
  return createBlocklist([{ name: 'list', rules, isAllowing: false }]);
}

describe('a list', () => {
  it.each([
    ['hosts lines', '0.0.0.0 a.example\n127.0.0.1\tb.example c.example # why\n:: d.example', ['a', 'b', 'c', 'd']],
    ['plain names', 'a.example\n b.example \nC.EXAMPLE.\n*.d.example # why', ['a', 'b', 'c', 'd']],
    ['rules', '||a.example^\n||b.example^$important\n||c.example\n||*.d.example^', ['a', 'b', 'c', 'd']],
    ['CRLF and a byte order mark', '\ufeffa.example\r\n\r\nb.example\r\n', ['a', 'b']],
    ['a byte order mark before a comment', '\ufeff# title\na.example', ['a']],
    ['comments', '# x.example\n! y.example\n[Adblock Plus 2.0]\na.example', ['a']],
  ])('of %s gives its names', (_what, content, expected) => {
    expect(readList(content).blocked).toEqual(expected.map((name) => `${name}.example`));
  });

  it('with exceptions gives them apart', () => {
    expect(readList('||a.example^\n@@||b.a.example^')).toEqual({ blocked: ['a.example'], excepted: ['b.a.example'] });
  });

  it('that gives a name addresses without end gives those for which an answer has room', () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `10.0.${index >> 8}.${index & 255} a.example`);
    expect(readRules(lines, readLineOfAnEngine).addresses.get('a.example')).toHaveLength(4_096);
  });

  it.each([
    ['carets', `||${'^'.repeat(500_000)}x`],
    ['bars', `||x${'|'.repeat(500_000)}x`],
  ])('with a line of very many %s is read at once', (_what, line) => {
    for (const readLine of [readOlderLine, readLineOfAnEngine]) expect(readRules([line], readLine).unsupported).toBe(1);
  });

  it('with a text that is longer than a name does not put it into ASCII, which would take long', () => {
    const softHyphens = '\u00ad'.repeat(253);
    expect(readRules([`a${softHyphens}.example`], readOlderLine).unsupported).toBe(1);
  });

  it('with names in other scripts gives their ASCII form', () => {
    expect(readList('bücher.example\n0.0.0.0 пример.example\n||BÜCHER.test^').blocked).toEqual([
      'xn--bcher-kva.example',
      'xn--e1afmkfd.example',
      'xn--bcher-kva.test',
    ]);
  });

  it.each([
    ['what hosts files say of the machine', '127.0.0.1 localhost\n::1 localhost.localdomain\n0.0.0.0 0.0.0.0'],
    ['hosts lines that lead somewhere', '192.0.2.1 nas.example'],
    ['prose', 'This is a list of names.\nHello'],
    [
      'rules for paths, elements and parties',
      '||a.example/ads^\nb.example##.ad\n||c.example^$third-party\n|d.example|',
    ],
    [
      'what is no name',
      `1.2.3.4\na..b\n.a\n${'x'.repeat(64)}.example\na.123\na.b#bücher\nb.example%bücher\n-\n|\n||\n||^\n@@\n@@||^`,
    ],
    ['single words, but for rules', 'com\n0.0.0.0 net'],
    ['a line beyond all measure', `0.0.0.0 ${'a.example '.repeat(4000)}`],
  ])('of %s gives nothing', (_what, content) => {
    expect(readList(content)).toEqual({ blocked: [], excepted: [] });
  });

  it.each([
    ['a web page', '\n <!DOCTYPE html><html><body>a.example</body></html>'],
    ['binary data', Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0])],
  ])('that is %s is refused', (_what, content) => {
    expect(() => readList(content)).toThrow(ListError);
  });

  it('cut anywhere into pieces gives the same', () => {
    const line = fc.constantFrom(
      '0.0.0.0 a.example b.example',
      'c.example',
      '||d.example^',
      '@@||e.example^',
      '# f',
      '',
      'bücher.example',
    );
    fc.assert(
      fc.property(
        fc.array(line),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 40 }),
        (lines, end, piece) => {
          const content = lines.join(end);
          expect(readList(content, piece)).toEqual(readList(content));
        },
      ),
    );
  });

  it('of any bytes is read to its end or refused, and gives sound names only', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.integer({ min: 1, max: 100 }), (bytes, piece) => {
        try {
          for (const name of readList(Buffer.from(bytes), piece).blocked) expect(name).toMatch(/^[a-z0-9_.-]+$/);
        } catch (error) {
          expect(error).toBeInstanceOf(ListError);
        }
      }),
    );
  });
});

describe('blocked names', () => {
  it('are those of the list and all below, not those above or beside', () => {
    const { blocks } = blocklistOf(['ads.example', 'x.y.test']);
    expect(['ads.example', 'a.ads.example', 'a.b.ads.example', 'x.y.test'].every(blocks)).toBe(true);
    expect(['example', 'badads.example', 'ads.example.org', 'y.test', '', 'ads'].some(blocks)).toBe(false);
  });

  it('leave out exceptions with all names below them', () => {
    const { blocks } = blocklistOf(['ads.example'], ['good.ads.example']);
    expect(blocks('ads.example')).toBe(true);
    expect(blocks('good.ads.example')).toBe(false);
    expect(blocks('very.good.ads.example')).toBe(false);
  });

  it('below those of a hundred thousand patterns, as some lists have, are found at once, the first pattern first', () => {
    const patterns = Array.from({ length: 100_000 }, (_, index) => `*.ads-${index}.example`);
    const rules = readRules(['||ads-7*.example^', ...patterns, '|*.x.ads-8.example^'], readLineOfAnEngine);
    const list = createBlocklist([{ name: 'list', rules, isAllowing: false }]);
    const others = Array.from({ length: 20_000 }, (_, index) => `a.b.host-${index}.example`);
    expect(others.filter(list.blocks)).toEqual([]);
    const ruleFor = (name: string) => list.verdict(name)?.rule;
    expect(ruleFor('a.ads-99999.example')).toBe('||*.ads-99999.example^');
    expect(ruleFor('ads-99999.example')).toBeUndefined();
    expect(ruleFor('a.ads-77.example')).toBe('||ads-7*.example^');
    expect(ruleFor('a.x.ads-8.example')).toBe('||*.ads-8.example^');
  });

  it('are exactly those that a plain search finds, whatever the names', () => {
    const name = fc
      .array(fc.constantFrom('a', 'b', 'ab', 'ba', 'c-1'), { minLength: 1, maxLength: 4 })
      .map((labels) => labels.join('.'));
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 200 }),
        fc.array(name, { minLength: 1, maxLength: 50 }),
        (listed, asked) => {
          const { blocks } = blocklistOf(listed);
          for (const one of asked) {
            expect(blocks(one)).toBe(listed.some((entry) => one === entry || one.endsWith(`.${entry}`)));
          }
        },
      ),
    );
  });
});

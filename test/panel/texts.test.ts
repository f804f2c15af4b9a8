import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { en } from '../../panel/i18n/en.js';
import { EVENTS } from '../../panel/i18n/events.js';
import { fill, type Message } from '../../panel/i18n/message.js';
import { ru } from '../../panel/i18n/ru.js';
import { ageText, showIn, wordsIn } from '../../panel/i18n/text.js';
import { planImport } from '../../panel/state/import-plan.js';
import { filterUsers, keepOrder, largest, usedPart } from '../../panel/state/key-list.js';
import { raised } from '../../panel/state/limits.js';
import { readAuditText, signature } from '../../panel/text/audit-text.js';
import { add, encodeExact, parseExact } from '../../panel/text/exact-json.js';
import { JsonProblem, parseTree, printTree, text, withValue } from '../../panel/text/json-tree.js';
import { diffLines, hunks } from '../../panel/text/line-diff.js';
import { isCidr, isDomainSuffix, isIpv6 } from '../../panel/text/networks.js';
import { sha256 } from '../../panel/text/sha256.js';
import { atOnce } from '../../panel/text/steps.js';
import { csvTable, jsonLines } from '../../panel/text/tables.js';
import { visible } from '../../panel/text/visible.js';
import { whoText } from '../../panel/ui/who.js';
import { EVENT_TYPES } from '../../src/own-api/events.js';
import { formatLimit, ownUnit, readLimit } from '../../src/text/sizes.js';
import { ROOT } from '../clone.js';

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

describe('exact JSON', () => {
  it('keeps every unsigned 64-bit integer, as a number where that is exact and as a bigint elsewhere', () => {
    fc.assert(
      fc.property(fc.array(u64), (list) => {
        const read = parseExact(`{"data":[${list.join(',')}]}`);
        expect(encodeExact(read)).toBe(`{"data":[${list.join(',')}]}`);
      }),
    );
  });

  it('reads what JSON.parse reads, by either way', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const read = encodeExact(parseExact(`[9007199254740993,${json}]`));
        expect(read.startsWith('[9007199254740993,')).toBe(true);
        expect(JSON.parse(read)).toEqual(JSON.parse(`[9007199254740993,${JSON.stringify(JSON.parse(json))}]`));
      }),
    );
  });

  it('does not take a hexadecimal key of digits for a long number', () => {
    expect(parseExact('{"access_key":"1234567890123456"}')).toEqual({ access_key: '1234567890123456' });
  });

  it('never sets a prototype', () => {
    const read = parseExact('{"__proto__":{"polluted":9007199254740993}}');
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(Object.keys(Object(read))).toEqual(['__proto__']);
  });

  it('refuses nesting that would overflow the stack', () => {
    expect(() => parseExact(`[9007199254740993,${'['.repeat(5000)}`)).toThrow(JsonProblem);
  });

  it('adds exactly', () => {
    fc.assert(
      fc.property(u64, u64, (a, b) => {
        expect(BigInt(add(a, b))).toBe(a + b);
      }),
    );
  });
});

describe('the configuration as a tree', () => {
  it('prints what it read with the same values, order and spelling of numbers', () => {
    const source = '{"b":1e3,"a":[0.10,18446744073709551615,{}],"2":"x","1":[]}';
    expect(printTree(parseTree(source)).replace(/\s/g, '')).toBe(source);
  });

  it('changes the member at a path and nothing else', () => {
    const tree = parseTree('{"mode":"server","api":{"token":"a","x":1.50}}');
    const changed = withValue(tree, ['api', 'token'], text('b'));
    expect(printTree(changed).replace(/\s/g, '')).toBe('{"mode":"server","api":{"token":"b","x":1.50}}');
    expect(printTree(withValue(tree, ['api', 'token'], undefined)).replace(/\s/g, '')).toBe(
      '{"mode":"server","api":{"x":1.50}}',
    );
    expect(printTree(withValue(tree, ['dns', 'enabled'], text('c'))).replace(/\s/g, '')).toBe(
      '{"mode":"server","api":{"token":"a","x":1.50},"dns":{"enabled":"c"}}',
    );
  });

  it('refuses what JSON.parse refuses, and nothing else', () => {
    const part = fc.constantFrom(
      ...'{}[]:,"\\/ \n\t\u0001\u00a0truefalsn-+.0123eE#/*ué',
      'true',
      'null',
      '"a"',
      '"a":',
      '\\u00e9',
    );
    const isRead = (read: () => unknown) => {
      try {
        read();
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(part),
          fc
            .json()
            .chain((json) =>
              fc
                .tuple(fc.constant([...json]), fc.nat(), part)
                .map(([signs, place, sign]) => signs.with(place % signs.length, sign)),
            ),
        ),
        (parts) => {
          const source = parts.join('');
          expect(isRead(() => parseTree(source, 'keep'))).toBe(isRead(() => JSON.parse(source)));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['{\n  "a": 1,\n  "a": 2\n}', 'duplicate', 3],
    ['{\n  // hello\n}', 'comment', 2],
    ['{"a": 01}', 'unexpected', 1],
    ['{"a": 1', 'end', 1],
    ['{} {}', 'unexpected', 1],
    ['{"a": tru}', 'unexpected', 1, 7],
    ['{"a" 1}', 'unexpected', 1, 6],
    ['[1,]', 'unexpected', 1, 4],
    ['[-]', 'unexpected', 1, 2],
    ['["a\\x"]', 'string', 1, 2],
    ['["a', 'end', 1, 4],
    ['{"a": truex}', 'unexpected', 1, 11],
    ['{"a": null#b\n}', 'comment', 1, 11],
    ['{\n  "a": "b\tc"\n}', 'string', 2, 10],
    ['{\n  "a": "bcd\n}', 'string', 2, 12],
  ])('says what is wrong with %j and where', (source, kind, line, column?: number) => {
    try {
      parseTree(source);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ kind, line, ...(column !== undefined && { column }) });
    }
  });

  it('takes a thousand levels and refuses one more', () => {
    expect(parseTree('['.repeat(1000) + ']'.repeat(1000))).toMatchObject({ kind: 'array' });
    expect(() => parseTree('['.repeat(1001) + ']'.repeat(1001))).toThrow(
      expect.objectContaining({ kind: 'unexpected', line: 1, column: 1001, found: '[' }),
    );
  });
});

it.each([
  [30, 'just now', 'только что'],
  [-20, 'just now', 'только что'],
  [200, '3 min ago', '3 мин назад'],
  [7_300, '2 h ago', '2 ч назад'],
  [-7_300, 'in 2 h', 'через 2 ч'],
  [200_000, '2 days ago', '2 дня назад'],
  [40 * 86_400, 'Dec 23, 2025', '23 дек. 2025 г.'],
])('a time of %i seconds ago is told as %s, and in Russian as %s', async (seconds, english, russian) => {
  vi.stubGlobal('navigator', { languages: ['en-US', 'ru'] });
  onTestFinished(() => void vi.unstubAllGlobals());
  const now = Date.parse('2026-02-01T12:00:00Z');
  await Promise.all([showIn('ru'), showIn('en')]);
  const told = (language: 'en' | 'ru') => ageText(now - seconds * 1000, now, wordsIn(language));
  expect([told('en'), told('ru')]).toEqual([english, russian]);
});

it.each([
  ['20 GB', '30\u00a0GB'],
  ['50 GiB', '60\u00a0GiB'],
  ['1.5 TB', '11.5\u00a0TB'],
  ['750 MB', '760\u00a0MB'],
  ['0', '10\u00a0GiB'],
  ['30017010 KiB', '38.6\u00a0GiB'],
  ['18446744073709551615', '16\u00a0EiB'],
])('a limit of %s is raised by ten of its own unit to %s', (typed, shown) => {
  const reading = readLimit(typed, 'B');
  const bytes = reading.ok ? reading.bytes : null;
  expect(formatLimit(raised(bytes, ownUnit(bytes, 'GiB')), 'en')).toBe(shown);
});

describe('the list of keys', () => {
  const user = (access_key: string, bytes_down: number | bigint, name: string | null = null) => ({
    access_key,
    name,
    bytes_up: 0,
    bytes_down,
    connections: 0,
    limit_bytes: 100n,
    online: false,
  });

  it('finds the largest as a sort would', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(9), fc.nat())), (items) => {
        const sorted = [...items].sort(([a], [b]) => b - a).slice(0, 5);
        expect(largest(items, 5, ([a], [b]) => a > b)).toEqual(sorted);
      }),
    );
  });

  it('keeps the order on the screen, drops what went and appends what came', () => {
    const kept = keepOrder([user('b', 1), user('a', 1)], [user('a', 9), user('c', 9), user('b', 9)]);
    expect(kept.map(({ access_key }) => access_key)).toEqual(['b', 'a', 'c']);
  });

  it('finds by a part of the name or by whole pasted lines', () => {
    const list = [user('one', 1, 'Анна'), user('two', 1), user('twofold', 1)];
    const keys = (found: readonly { readonly access_key: string }[]) => found.map(({ access_key }) => access_key);
    expect(keys(atOnce(filterUsers(list, 'all', { kind: 'part', text: ' АНН ' })))).toEqual(['one']);
    expect(keys(atOnce(filterUsers(list, 'all', { kind: 'lines', lines: ['two', 'анна'] })))).toEqual(['one', 'two']);
    expect(keys(atOnce(filterUsers(list, 'unlimited', { kind: 'part', text: '' })))).toEqual([]);
  });

  it('never calls a limit used up before it is', () => {
    expect(usedPart({ ...user('a', 2n ** 60n - 1n), limit_bytes: 2n ** 60n })).toBeLessThan(1);
    expect(usedPart(user('a', 100))).toBe(1);
  });
});

describe('a table of keys', () => {
  it.each([
    ['key,name,limit\nk,n,1 KiB', { key: 'k', name: 'n', limit: 1024 }],
    ['k;n;1 КиБ', { key: 'k', name: 'n', limit: 1024 }],
    ['Ключ\tЛимит\nk\t5 Б', { key: 'k', limit: 5 }],
    ['key;limit\nk;10', { effect: 'bad', problem: 'noUnit' }],
    ['key;limit_bytes\nk;10', { key: 'k', limit: 10 }],
    ['key;limit\nk;0', { key: 'k', limit: 0 }],
    ['name\nn', { key: '', name: 'n', effect: 'create' }],
    ['k,n,lots', { effect: 'bad', problem: 'notANumber' }],
    ['Ключ;Заметка\nk;n', { key: 'k', note: 'n' }],
    ['k\nk', { effect: 'create' }],
    ['sep=;\nkey;name\n\nk;Anna "A" B', { line: 4, key: 'k', name: 'Anna "A" B' }],
    ['key,name\n"k,n', { line: 2, effect: 'bad', problem: 'quote' }],
    ['key,name\n "k",n', { line: 2, effect: 'bad', problem: 'quote' }],
  ])('reads %j', (text, line) => {
    expect(planImport(text, new Map(), true)[0]).toMatchObject(line);
  });
});

it('direction marks and control characters are shown, and letters of every script stay', () => {
  expect(visible('a\u202eb\u2066\u0007')).toBe('a[U+202E]b[U+2066][U+0007]');
  expect(visible('Анна עברית 👩\u200d💻')).toBe('Анна עברית 👩\u200d💻');
});

describe('the line comparison', () => {
  it('gives both texts back, for any two texts', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 }).map((list) => list.join('\n'));
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = diffLines(before, after);
        const side = (leftOut: string) =>
          diff
            .filter(({ kind }) => kind !== leftOut)
            .map((line) => line.text)
            .join('\n');
        expect(side('added')).toBe(before);
        expect(side('removed')).toBe(after);
      }),
    );
  });

  it('is the shortest, for any two texts', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 12 });
    const common = (a: readonly string[], b: readonly string[]): number => {
      const [[first, ...rest], [other, ...others]] = [a, b];
      if (first === undefined || other === undefined) return 0;
      return first === other ? 1 + common(rest, others) : Math.max(common(rest, b), common(a, others));
    };
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const same = diffLines(before.join('\n'), after.join('\n')).filter(({ kind }) => kind === 'same');
        expect(same).toHaveLength(common(before, after));
      }),
    );
  });

  it('shows a middle of more than 3,000 lines as replaced', () => {
    const numbered = (name: string) => ['head', ...Array.from({ length: 3_001 }, (_, n) => `${name} ${n}`), 'tail'];
    const diff = diffLines(numbered('a').join('\n'), numbered('b').join('\n'));
    expect(diff.map(({ kind }) => kind)).toEqual(
      [['same'], Array(3_001).fill('removed'), Array(3_001).fill('added'), ['same']].flat(),
    );
  });

  it('shows only what changed with lines around it', () => {
    const before = Array.from({ length: 40 }, (_, index) => `line ${index}`);
    const after = before.map((line, index) => (index === 20 ? 'changed' : line));
    const diff = diffLines(before.join('\n'), after.join('\n'));
    expect(diff.filter(({ kind }) => kind !== 'same')).toHaveLength(2);
    expect(hunks(diff).filter((line) => line !== null)).toHaveLength(8);
  });
});

describe('networks and names', () => {
  it.each([
    '10.0.0.0/8',
    '192.0.2.1',
    'fd00::/8',
    '::/0',
    '::ffff:192.0.2.1/128',
    '2001:db8::1',
  ])('takes %s', (text) => {
    expect(isCidr(text)).toBe(true);
  });
  it.each([
    '10.0.0/8',
    '10.0.0.0/33',
    '256.1.1.1',
    'fd00::/129',
    ':::/1',
    '1::2::3',
    '10.0.0.0/08',
    'example.org',
    '',
  ])('refuses %j as a network', (text) => {
    expect(isCidr(text)).toBe(false);
  });
  it.each(['example.org', '.onion', 'пример.рф', 'a-b.example', '_dmarc.example'])('takes %s as a suffix', (name) => {
    expect(isDomainSuffix(name)).toBe(true);
  });
  it.each(['', '.', 'a..b', '-a.example', 'http://a', 'a b', 'x'.repeat(64)])('refuses %j as a suffix', (name) => {
    expect(isDomainSuffix(name)).toBe(false);
  });
  it('takes every IPv6 address that is written in full', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        expect(isIpv6(address)).toBe(true);
      }),
    );
  });
});

it('SHA-256 in the page is SHA-256', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (password) => {
      expect(sha256(password)).toBe(createHash('sha256').update(password).digest('hex'));
    }),
  );
});

describe('the language tables', () => {
  it('have the same members', () => {
    expect(Object.keys(ru)).toEqual(Object.keys(en));
  });

  it('no text is called as an event is, which a build would take for the text', () => {
    expect(Object.keys(en).filter((name) => EVENT_TYPES.some((type) => type === name))).toEqual([]);
  });

  it('use the same values in each message', () => {
    const values = (message: Message) =>
      [...new Set(JSON.stringify(message).match(/\{\w+\}/g) ?? [])].filter((name) => name !== '{n}').sort();
    const pairs: readonly (readonly [string, Message, Message])[] = [
      ...Object.entries(ru).map(([name, text]) => [name, Reflect.get(en, name), text] as const),
      ...Object.entries(EVENTS).map(([name, texts]) => [name, texts.en, texts.ru] as const),
    ];
    const differing = pairs.filter(([, a, b]) => JSON.stringify(values(a)) !== JSON.stringify(values(b)));
    expect(differing.map(([name]) => name)).toEqual([]);
  });

  it('count as each language counts', () => {
    expect(fill(ru['keys.count'], 'ru', { n: 1 })).toBe('1 ключ');
    expect(fill(ru['keys.count'], 'ru', { n: 3 })).toBe('3 ключа');
    expect(fill(ru['keys.count'], 'ru', { n: 11 })).toBe('11 ключей');
    expect(fill(en['keys.count'], 'en', { n: 1 })).toBe('1 key');
  });

  it('say how many where a language counts 21 as it counts 1', () => {
    expect(fill(ru['delete.title'], 'ru', { n: 1 })).toBe('Удалить этот ключ?');
    expect(fill(ru['delete.title'], 'ru', { n: 21 })).toBe('Удалить 21 ключ?');
    const silent = Object.entries(ru).filter(([, message]) => {
      const text = typeof message === 'object' ? message.several : message;
      return text.includes('{n|') && !text.includes('{n}');
    });
    expect(silent).toEqual([]);
  });

  it('hold no message that the page does not use', () => {
    const folder = join(ROOT, 'panel');
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const sources = names.filter((name) => /\.tsx?$/.test(name) && !name.startsWith('i18n/'));
    const code =
      sources.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n') +
      readFileSync(join(folder, 'i18n/text.ts'), 'utf8');
    const made = [...code.matchAll(/`([\w.]+\.)\$\{[^}]*\}([\w.]*)`/g)].map(([, before = '', after = '']) => ({
      before,
      after,
    }));
    const unused = Object.keys(en).filter((name) => {
      return (
        !code.includes(`'${name}'`) &&
        !made.some(({ before, after }) => {
          const given = name.slice(before.length, name.length - after.length);
          return name === before + given + after && !given.includes('.');
        })
      );
    });
    expect(unused).toEqual([]);
  });
});

describe('an audit entry', () => {
  it.each([
    ['Deleted 2 keys · session · 2026-11-23T10:00:00Z', 'Deleted 2 keys', 'session', Date.UTC(2026, 10, 23, 10)],
    ['Deleted 2 keys', 'Deleted 2 keys', null, null],
    ['Deleted · nobody · 2026-11-23T10:00:00Z', 'Deleted · nobody · 2026-11-23T10:00:00Z', null, null],
    ['Token relay (relay) made by ops', 'Token relay (relay) made', 'ops', null],
    ['Токен relay удалён: ops', 'Токен relay удалён', 'ops', null],
    ["Clients' address set to a.example:50000 by static", "Clients' address set to a.example:50000", 'static', null],
    ['Batch 7 (bot-1): 1 of 1 keys done, 0 failed', 'Batch: 1 of 1 keys done, 0 failed', 'bot-1', null],
  ])('%s is read with who and when', (text, shown, by, at) => {
    expect(readAuditText(text)).toEqual({ text: shown, by, at });
  });

  it('is read as it was signed', () => {
    const at = Date.UTC(2026, 10, 23, 10);
    expect(readAuditText(`Saved${signature('token', at)}`)).toEqual({ text: 'Saved', by: 'token', at });
  });
});

it('a token by the name of token is called by its name, and callers without one in words', () => {
  const words = wordsIn('en');
  expect(['token', 'bot-1', 'terminal'].map((by) => whoText(by, words))).toEqual([
    'token',
    'bot-1',
    words('who.terminal'),
  ]);
});

describe('a table', () => {
  const rows = [{ name: '=cmd()', n: 2n ** 64n - 1n, ok: null }];

  it('as CSV has its members, every digit, and no formula', () => {
    expect(csvTable(rows)).toBe("name,n,ok\r\n'=cmd(),18446744073709551615,\r\n");
  });

  it('as JSON has every digit', () => {
    expect(jsonLines(rows)).toBe('[\n{"name":"=cmd()","n":18446744073709551615,"ok":null}\n]\n');
    expect(JSON.parse(jsonLines([]))).toEqual([]);
  });
});

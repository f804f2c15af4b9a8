import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ConfigurationFingerprint, ConfigurationPatch } from '../../../src/core/backend.js';
import { DomainError } from '../../../src/core/errors.js';
import { finish } from '../../../src/core/steps.js';
import { type ConfigurationDocument, readDocument } from '../../../src/document/document.js';
import { fingerprintOf } from '../../../src/document/patch/fingerprint.js';
import { type PatchedDocument, patchDocumentSteps } from '../../../src/document/patch/patch-document.js';
import { compactJsonSteps } from '../../../src/wire/json/json.js';
import { tries } from '../../tries.js';
import { WHOLE } from '../../whole.js';
import { anyFile } from '../generated.js';
import { commentsOf, type JudgedValue, judge, Lexeme } from '../judge.js';

const RUNS = { numRuns: tries(WHOLE ? 130 : 60) };

const patchDocument = (document: ConfigurationDocument, patch: ConfigurationPatch): PatchedDocument =>
  finish(patchDocumentSteps(document, patch));

function applied(text: string | Buffer, form: 'json' | 'merge', body: unknown): PatchedDocument {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const patch = {
    form,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    condition: () => undefined,
  };
  return patchDocument(readDocument(bytes).document, patch);
}

function patched(text: string | Buffer, form: 'json' | 'merge', body: unknown): PatchedDocument {
  const result = applied(text, form, body);
  const read = readDocument(result.document.bytes).document;
  // The comparison of a matcher looks at each byte; it tells what differs.
  if (!isDeepStrictEqual(result.document, read)) expect(result.document).toEqual(read);
  return result;
}

const textAfter = (text: string, form: 'json' | 'merge', body: unknown): string =>
  patched(text, form, body).document.bytes.toString();

function refusal(text: string, form: 'json' | 'merge', body: unknown): string {
  try {
    applied(text, form, body);
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
  return 'none';
}

const FILE = `{
  // who we are
  "mode": "server", // not client
  "listen": "0.0.0.0:50000",
  "access_keys": [
    "plain", // the first
    { "access_key": "named", "name": "N", "limit_bytes": 18446744073709551615 }
  ],
  "big": 18446744073709551615,
  "odd": 1.50,
  /* names */
  "dns": {
    "enabled": false, # for now
    "adblock_urls": [
      "https://a.example/1", // one
      "https://a.example/2",
      "https://a.example/3" // three
    ]
  }
}
`;

describe('a patch of a file with comments', () => {
  it('changes a value in its place and no other byte', () => {
    const merged = textAfter(FILE, 'merge', { dns: { enabled: true } });
    expect(merged).toBe(FILE.replace('"enabled": false,', '"enabled": true,'));
    const replaced = textAfter(FILE, 'json', [{ op: 'replace', path: '/dns/enabled', value: true }]);
    expect(replaced).toBe(merged);
  });

  it('adds members and items in the style of the file, and takes them out with their lines', () => {
    expect(textAfter(FILE, 'merge', { dns: { local_port: 53 } })).toBe(
      FILE.replace('// three\n    ]', '// three\n    ],\n    "local_port": 53'),
    );
    const added = [{ op: 'add', path: '/dns/adblock_urls/1', value: 'https://b.example/' }];
    expect(textAfter(FILE, 'json', added)).toBe(FILE.replace('// one\n', '// one\n      "https://b.example/",\n'));
    expect(textAfter(FILE, 'json', [{ op: 'remove', path: '/dns/adblock_urls/1' }])).toBe(
      FILE.replace('      "https://a.example/2",\n', ''),
    );
    expect(textAfter(FILE, 'merge', { odd: null })).toBe(FILE.replace('  "odd": 1.50,\n', ''));
  });

  it('spares what a replacement has in common with what there is', () => {
    const dns = { enabled: true, adblock_urls: ['https://a.example/1', 'https://a.example/3'] };
    const wanted = FILE.replace('"enabled": false,', '"enabled": true,').replace('      "https://a.example/2",\n', '');
    expect(textAfter(FILE, 'json', [{ op: 'replace', path: '/dns', value: dns }])).toBe(wanted);
    expect(textAfter(FILE, 'merge', { dns })).toBe(wanted);
  });

  it('keeps the spelling of what it moves, and of numbers that a patch brings', () => {
    const moved = textAfter(FILE, 'json', [{ op: 'move', from: '/dns/adblock_urls/2', path: '/dns/adblock_urls/0' }]);
    expect(judge(Buffer.from(moved)).root).toEqual(
      expectedRoot(FILE, [{ op: 'move', from: '/dns/adblock_urls/2', path: '/dns/adblock_urls/0' }]),
    );
    expect(textAfter(FILE, 'json', [{ op: 'copy', from: '/odd', path: '/even' }])).toContain('"even": 1.50\n');
    expect(textAfter(FILE, 'json', '[{"op":"add","path":"/n","value":[18446744073709551615,1.0,1E+2,-0]}]')).toContain(
      '    18446744073709551615,\n    1.0,\n    1E+2,\n    -0\n',
    );
  });

  it('compares numbers by what they are worth, exactly', () => {
    const test = (value: string) => refusal(FILE, 'json', `[{"op":"test","path":"/big","value":${value}}]`);
    expect(test('18446744073709551615')).toBe('none');
    expect(test('18446744073709551615.0')).toBe('none');
    expect(test('1844674407370955161.5e1')).toBe('none');
    expect(test('18446744073709551614')).toBe('conflict');
    expect(test('18446744073709551616')).toBe('conflict');
    expect(refusal(FILE, 'json', '[{"op":"test","path":"/odd","value":1.5}]')).toBe('none');
    expect(refusal(FILE, 'json', '[{"op":"test","path":"/odd","value":15e999999999999}]')).toBe('conflict');
    const dns = { adblock_urls: [1, 2, 3].map((n) => `https://a.example/${n}`), enabled: false };
    expect(refusal(FILE, 'json', [{ op: 'test', path: '/dns', value: dns }])).toBe('none');
  });

  it('changes nothing where a test fails, after whatever operations', () => {
    const operations = [
      { op: 'replace', path: '/dns/enabled', value: true },
      { op: 'test', path: '/dns/enabled', value: false },
    ];
    expect(refusal(FILE, 'json', operations)).toBe('conflict');
    expect(refusal(FILE, 'json', [{ op: 'remove', path: '/nowhere' }])).toBe('conflict');
    expect(refusal(FILE, 'json', [{ op: 'add', path: '/no/where', value: 1 }])).toBe('conflict');
    expect(refusal(FILE, 'json', [{ op: 'replace', path: '/dns/adblock_urls/3', value: 1 }])).toBe('conflict');
    expect(refusal(FILE, 'json', [{ op: 'move', from: '/dns', path: '/dns/x' }])).toBe('conflict');
  });

  it('refuses copies that double again and again what there is', () => {
    const doubled = (times: number) => [
      { op: 'add', path: '/x', value: { y: 1 } },
      ...Array.from({ length: times }, (_, n) => ({ op: 'copy', from: '/x', path: `/x/${n}` })),
    ];
    expect(refusal(FILE, 'json', doubled(6))).toBe('none');
    expect(refusal(FILE, 'json', doubled(200))).toBe('configFormatFailed');
    expect(refusal(FILE, 'json', [{ op: 'add', path: '/x'.repeat(513), value: 1 }])).toBe('invalidBody');
  });

  it('refuses moves that put more levels into one another than any reader takes', () => {
    const chain = (levels: number) => `${'{"c":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const deeper = `{"op":"add","path":"/b","value":${chain(200)}},
      {"op":"move","from":"/a","path":"/b${'/c'.repeat(200)}"},{"op":"move","from":"/b","path":"/a"}`;
    const body = (times: number) =>
      `[{"op":"add","path":"/a","value":${chain(100)}},${Array(times).fill(deeper).join()}]`;
    expect(refusal(FILE, 'json', body(2))).toBe('none');
    expect(refusal(FILE, 'json', body(150))).toBe('configFormatFailed');
  });

  it('tells numbers apart whose exponents are longer than anybody reckons with', () => {
    const long = '9'.repeat(100);
    const test = (value: string, other: string) =>
      refusal(FILE, 'json', `[{"op":"add","path":"/n","value":${value}},{"op":"test","path":"/n","value":${other}}]`);
    expect(test(`1e${long}`, `1.0e+0${long}`)).toBe('none');
    expect(test(`1e${long}`, `1e-${long}`)).toBe('conflict');
    expect(test(`1e${long}`, `2e${long}`)).toBe('conflict');
    expect(test(`1e${long}`, `1e${long}9`)).toBe('conflict');
    expect(test(`1e${'0'.repeat(100)}5`, '100000')).toBe('none');
    const reckoned = vi.spyOn(globalThis, 'BigInt');
    onTestFinished(() => reckoned.mockRestore());
    // The text of so long a whole number takes a time that grows with its square.
    expect(test(`1e${'9'.repeat(100_000)}`, '1')).toBe('conflict');
    expect(reckoned.mock.calls.filter(([text]) => String(text).length > 1_000)).toEqual([]);
  });

  it('refuses a member that comes twice in a patch', () => {
    expect(refusal(FILE, 'merge', '{"dns":{"x":1,"x":2}}')).toBe('invalidBody');
    expect(refusal(FILE, 'json', '[{"op":"test","op":"remove","path":"/dns","value":{}}]')).toBe('invalidBody');
  });

  it('refuses what is no patch, and what would be no configuration', () => {
    for (const body of [
      '{',
      '',
      '[1]',
      '{"op":"add"}',
      '[{"op":"add","path":"x","value":1}]',
      '[{"op":"add","path":"/x"}]',
    ])
      expect(refusal(FILE, 'json', body)).toBe('invalidBody');
    expect(refusal(FILE, 'json', [{ op: 'spin', path: '/mode' }])).toBe('invalidBody');
    expect(refusal(FILE, 'json', [{ op: 'remove', path: '/mode' }])).toBe('configModeMissing');
    expect(refusal(FILE, 'merge', { mode: null })).toBe('configModeMissing');
    expect(refusal(FILE, 'merge', [1])).not.toBe('none');
    expect(refusal(FILE, 'merge', '{"x":"\\ud800"}')).toBe('invalidBody');
  });

  it('says the same document of a patch that changes nothing', () => {
    const { document } = readDocument(Buffer.from(FILE));
    const body = Buffer.from('{"odd":1.5,"nothing":null,"dns":{"enabled":false}}');
    expect(patchDocument(document, { form: 'merge', body, condition: () => undefined }).document).toBe(document);
  });
});

const INBOUNDS = `{
  "mode": "server",
  "inbounds": [
    { "protocol": "api", "port": 9090, "token": "t" }, // the listener
    { "protocol": "ostp", "tag": "in", "port": 1, "users": [{ "key": "a" }, { "key": "b", "limit_bytes": 5 }] },
    { "protocol": "ostp", "tag": "more", "users": [{ "key": "c" }] }
  ],
  "access_keys": ["left"]
}`;

describe('a patch and the lists of keys', () => {
  it('is refused where it touches one', () => {
    const touching = [
      [FILE, { op: 'add', path: '/access_keys/-', value: 'x' }],
      [FILE, { op: 'remove', path: '/access_keys/0' }],
      [FILE, { op: 'remove', path: '/access_keys' }],
      [FILE, { op: 'replace', path: '/access_keys', value: [] }],
      [FILE, { op: 'test', path: '/access_keys/0', value: 'plain' }],
      [FILE, { op: 'copy', from: '/access_keys/0', path: '/x' }],
      [FILE, { op: 'move', from: '/access_keys', path: '/x' }],
      [INBOUNDS, { op: 'remove', path: '/inbounds/1' }],
      [INBOUNDS, { op: 'remove', path: '/inbounds' }],
      [INBOUNDS, { op: 'copy', from: '/inbounds/1', path: '/inbounds/-' }],
      [INBOUNDS, { op: 'replace', path: '/inbounds/1/protocol', value: 'other' }],
      [INBOUNDS, { op: 'replace', path: '/inbounds', value: [] }],
      [INBOUNDS, { op: 'remove', path: '/access_keys' }],
      [INBOUNDS, { op: 'add', path: '/inbounds/-', value: { protocol: 'ostp', users: [{ key: 'new' }] } }],
    ] as const;
    for (const [text, operation] of touching)
      expect([operation, refusal(text, 'json', [operation])]).toEqual([operation, 'useKeys']);
    expect(refusal(FILE, 'merge', { access_keys: [] })).toBe('useKeys');
    expect(refusal(FILE, 'merge', { access_keys: null })).toBe('useKeys');
    expect(refusal(FILE, 'merge', { inbounds: [{ protocol: 'ostp', users: [] }] })).toBe('useKeys');
    expect(refusal(INBOUNDS, 'merge', { inbounds: null })).toBe('useKeys');
  });

  it('is compared with a whole list that it tests, and leaves out one that it does not name', () => {
    const test = (path: string, value = '', text = FILE) =>
      refusal(text, 'json', `[{"op":"test","path":"${path}","value":${value}}]`);
    const shown = (text: string) => Buffer.concat(finish(compactJsonSteps(Buffer.from(text)))).toString();
    const whole = shown(FILE);
    expect(test('', whole)).toBe('none');
    expect(test('', whole.replace('"plain"', '"other"'))).toBe('conflict');
    expect(test('', whole.replace('"plain",', ''))).toBe('conflict');
    expect(test('', whole.replace(/"access_keys":\[.*?\],/, ''))).toBe('none');
    const inbounds = /"inbounds":(\[.*\]),"access_keys"/.exec(shown(INBOUNDS))?.[1];
    expect(test('/inbounds', inbounds, INBOUNDS)).toBe('none');
    expect(test('/inbounds', inbounds?.replace('"limit_bytes":5', '"limit_bytes":6'), INBOUNDS)).toBe('conflict');
  });

  it('keeps the list of what it replaces', () => {
    const inbound = { protocol: 'ostp', tag: 'in', port: 2, users: [] };
    const wanted = INBOUNDS.replace('"port": 1', '"port": 2');
    expect(textAfter(INBOUNDS, 'json', [{ op: 'replace', path: '/inbounds/1', value: inbound }])).toBe(wanted);
    const inbounds = [
      { protocol: 'api', port: 9090, token: 't' },
      { protocol: 'ostp', tag: 'in', port: 2 },
      { protocol: 'ostp', tag: 'more' },
    ];
    expect(textAfter(INBOUNDS, 'merge', { inbounds })).toBe(wanted);
    const whole = { mode: 'server', inbounds, access_keys: ['other'] };
    expect(textAfter(INBOUNDS, 'json', [{ op: 'replace', path: '', value: whole }])).toBe(wanted);
  });

  it('lets inbounds come and go around those that have keys', () => {
    const { document, configuration } = patched(INBOUNDS, 'json', [
      { op: 'add', path: '/inbounds/0', value: { protocol: 'ostp', tag: 'empty', users: [] } },
      { op: 'remove', path: '/inbounds/1' },
    ]);
    expect(configuration.listener).toBeNull();
    expect(readDocument(document.bytes).configuration.keys.map(({ accessKey }) => accessKey)).toEqual(['a', 'b', 'c']);
  });
});

describe('the fingerprint of a configuration', () => {
  const digest = async (text: string): Promise<string> => (await fingerprintOf(Buffer.from(text))).digest;

  it('is the same whatever the keys, comments, order and spelling', async () => {
    const other =
      '{"odd":15e-1,"dns":{"adblock_urls":["https:\\/\\/a.example/1","https://a.example/2","https://a.example/3"],"enabled":false},"big":18446744073709551615.0,"listen":"0.0.0.0:50000","mode":"server"}';
    expect(await digest(other)).toBe(await digest(FILE));
    expect(await digest(other.replace('15e-1', '15e-2'))).not.toBe(await digest(FILE));
    expect(await digest(INBOUNDS.replace('{ "key": "c" }', ''))).toBe(await digest(INBOUNDS));
  });

  it('is what a patch resolves to, and what its condition is given', async () => {
    let present: ConfigurationFingerprint | undefined;
    const result = patchDocument(readDocument(Buffer.from(FILE)).document, {
      form: 'merge',
      body: Buffer.from('{"dns":{"enabled":true}}'),
      condition: (given) => {
        present = given;
      },
    });
    const [before, after] = [await fingerprintOf(Buffer.from(FILE)), await fingerprintOf(result.document.bytes)];
    expect(present).toEqual(before);
    expect(result.fingerprint).toEqual(after);
    const differing = [...after.members].filter(([name, one]) => before.members.get(name) !== one);
    expect(differing.map(([name]) => name)).toEqual(['/dns/enabled']);
  });
});

/** An operation as a client writes it; values are JSON texts, so that numbers keep their spelling. */
interface Given {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

class NoPlace extends Error {}

/** RFC 6902 as plainly as can be, over values as another parser reads them. */
function expectedRoot(text: string, operations: readonly Given[]): JudgedValue {
  let { root } = judge(Buffer.from(text));
  for (const { op, path, from = '', value: given } of operations) {
    const value = given === undefined ? null : judged(JSON.stringify(given));
    if (op === 'test') {
      if (plain(find(root, path)) !== plain(value)) throw new NoPlace();
    } else if (op === 'remove') root = set(root, steps(path), 'remove', null);
    else if (op === 'add') root = set(root, steps(path), 'add', value);
    else if (op === 'replace') root = set(root, steps(path), 'replace', value);
    else {
      const moved = find(root, from);
      if (op === 'move' && path.startsWith(`${from}/`)) throw new NoPlace();
      root = set(op === 'move' ? set(root, steps(from), 'remove', null) : root, steps(path), 'add', moved);
    }
  }
  return root;
}

const judged = (text: string): JudgedValue => {
  const { root } = judge(Buffer.from(`{"x":${text}}`));
  return root instanceof Map ? (root.get('x') ?? null) : null;
};

const steps = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

function find(root: JudgedValue, path: string): JudgedValue {
  return steps(path).reduce((value: JudgedValue, step) => child(value, step), root);
}

function child(value: JudgedValue, step: string): JudgedValue {
  const found =
    value instanceof Map
      ? value.get(step)
      : Array.isArray(value) && /^(0|[1-9]\d*)$/.test(step)
        ? value[Number(step)]
        : undefined;
  if (found === undefined) throw new NoPlace();
  return found;
}

function set(value: JudgedValue, [step, ...rest]: string[], op: string, next: JudgedValue): JudgedValue {
  if (step === undefined) {
    if (op === 'remove') throw new NoPlace();
    return next;
  }
  if (value instanceof Map) {
    if (rest.length > 0) return new Map([...value, [step, set(child(value, step), rest, op, next)]]);
    if (op !== 'add') child(value, step);
    const members = new Map(value);
    if (op === 'remove') members.delete(step);
    else members.set(step, next);
    return members;
  }
  if (!Array.isArray(value)) throw new NoPlace();
  if (rest.length > 0) return value.toSpliced(Number(step), 1, set(child(value, step), rest, op, next));
  const index = step === '-' && op === 'add' ? value.length : Number(step);
  if (op === 'add') {
    if (!/^(-|0|[1-9]\d*)$/.test(step) || index > value.length) throw new NoPlace();
    return value.toSpliced(index, 0, next);
  }
  child(value, step);
  return op === 'remove' ? value.toSpliced(index, 1) : value.toSpliced(index, 1, next);
}

/** A value as a text that is the same for equal ones; these numbers are small enough for fractions. */
function plain(value: JudgedValue): string {
  if (value instanceof Lexeme) {
    const [, mantissa = '', exponent = '0'] = /^([^eE]*)(?:[eE](.*))?$/.exec(value.text) ?? [];
    const [whole = '', fraction = ''] = mantissa.split('.');
    const scaled = BigInt(whole.replace('-', '') + fraction.padEnd(10, '0')) * 10n ** BigInt(Number(exponent) + 20);
    return `${whole.startsWith('-') && scaled !== 0n ? '-' : ''}${scaled}`;
  }
  if (value instanceof Map)
    return `{${[...value]
      .map(([name, member]) => `${JSON.stringify(name)}:${plain(member)}`)
      .sort()
      .join()}}`;
  return Array.isArray(value) ? `[${value.map(plain).join()}]` : JSON.stringify(value);
}

/** Every place of a file. */
function places(value: JudgedValue, path = ''): string[] {
  const children = value instanceof Map ? [...value] : Array.isArray(value) ? [...value.entries()] : [];
  return [
    path,
    ...children.flatMap(([name, one]) =>
      places(one, `${path}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`),
    ),
  ];
}

const LISTS = /^(\/access_keys|\/inbounds\/\d+\/users)(\/|$)/;
/** What a list stands in. */
const HOLDERS = /^(|\/inbounds|\/inbounds\/\d+)$/;

const anyValue = fc.oneof(
  fc.constantFrom(true, null, 'text', 'tc"p', 7, 0, 1.5, [], {}),
  fc.array(fc.constantFrom<unknown>('.a', 'b', { deep: 1 }), { maxLength: 4 }),
  fc.dictionary(
    fc.constantFrom('deep', 'note', 'protocol', 'a/b', 'é'),
    fc.constantFrom<unknown>(1, 'x', [1, 2], { deep: 'y' }),
    {
      maxKeys: 4,
    },
  ),
);

const anyOperations = (all: readonly string[]): fc.Arbitrary<Given[]> => {
  const path = fc
    .tuple(fc.constantFrom(...all), fc.constantFrom('', '', '', '/new', '/-', '/0', '/1', '/deep', '/a~1b'))
    .map(([place, more]) => place + more)
    .filter((place) => place !== '' && !LISTS.test(place));
  return fc.array(
    fc.record({
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'replace', 'add'),
      path,
      from: path,
      value: anyValue,
    }),
    { minLength: 1, maxLength: 3 },
  );
};

const anyPatched = anyFile.chain((file) => {
  const text = file.inbounds ? file.text.replace('{', '{"mode":"server",') : file.text;
  return anyOperations(places(judge(Buffer.from(text)).root)).map((operations) => ({ text, operations }));
});

describe('any file, any patch', () => {
  it('says what the same patch makes of the parsed file, with the keys, and the comments outside, as they were', () => {
    const seen = { done: 0, refused: 0, keys: 0 };
    fc.assert(
      fc.property(anyPatched, ({ text, operations }) => {
        const before = judge(Buffer.from(text));
        let expected: JudgedValue | null = null;
        try {
          expected = expectedRoot(text, operations);
        } catch (error) {
          if (!(error instanceof NoPlace)) throw error;
        }
        let result: Buffer;
        try {
          result = patched(text, 'json', operations).document.bytes;
        } catch (error) {
          if (!(error instanceof DomainError)) throw error;
          if (error.code === 'conflict') expect(expected).toBeNull();
          else expect(['useKeys', 'configModeMissing']).toContain(error.code);
          seen[error.code === 'useKeys' ? 'keys' : 'refused'] += 1;
          return;
        }
        seen.done += 1;
        const after = judge(result);
        const elements = (of: typeof after) =>
          of.lists.map((list) => list.elements.map(({ value }) => value)).filter((list) => list.length > 0);
        expect(elements(after)).toEqual(elements(before));
        if (!operations.some(({ op, path }) => HOLDERS.test(path) && op !== 'test')) {
          expect(expected).not.toBeNull();
          expect(plain(after.root)).toBe(plain(expected));
        }
        // The lines of a comment move in or out with what they stand in.
        const textsIn = (bytes: Buffer) => commentsOf(bytes).map((one) => one.text.replaceAll(/\n[ \t]*/g, '\n'));
        const comments = textsIn(result);
        const known = new Set(textsIn(Buffer.from(text)));
        expect(comments.filter((one) => !known.has(one))).toEqual([]);
      }),
      RUNS,
    );
    expect(seen.done).toBeGreaterThan(RUNS.numRuns / 30);
  });

  it('changes one scalar into another by its own bytes alone', () => {
    fc.assert(
      fc.property(anyPatched, fc.nat(), fc.constantFrom('text', 77, false), ({ text }, which, value) => {
        const { root } = judge(Buffer.from(text));
        const scalars = places(root).filter((place) => {
          const found = find(root, place);
          return (
            !LISTS.test(place) && !/protocol|mode|tag/.test(place) && !(found instanceof Map) && !Array.isArray(found)
          );
        });
        const path = scalars[which % Math.max(1, scalars.length)];
        if (path === undefined) return;
        const result = patched(text, 'json', [{ op: 'replace', path, value }]).document.bytes.toString();
        let start = 0;
        while (start < text.length && text[start] === result[start]) start += 1;
        let end = 0;
        while (end < text.length - start && end < result.length - start && text.at(-1 - end) === result.at(-1 - end))
          end += 1;
        const removed = text.slice(start, text.length - end);
        const known = find(root, path);
        expect(JSON.stringify(value)).toContain(result.slice(start, result.length - end));
        expect(known instanceof Lexeme ? known.text : JSON.stringify(known)).toContain(removed);
      }),
      RUNS,
    );
  });

  it('merges as RFC 7396 says', () => {
    const reference = (target: JudgedValue, patch: JudgedValue): JudgedValue => {
      if (!(patch instanceof Map)) return patch;
      const members = new Map(target instanceof Map ? target : []);
      for (const [name, value] of patch) {
        if (value === null) members.delete(name);
        else members.set(name, reference(members.get(name) ?? null, value));
      }
      return members;
    };
    const leaf = fc.oneof(anyValue, fc.constant(null));
    const patch = fc.dictionary(
      fc.constantFrom('dns', 'extra', 'outbound', 'routing', 'more'),
      fc.oneof(leaf, fc.dictionary(fc.constantFrom('rules', 'deep', 'enabled', 'note', 'x'), leaf)),
      {
        maxKeys: 4,
      },
    );
    fc.assert(
      fc.property(anyPatched, patch, ({ text }, body) => {
        const after = judge(patched(text, 'merge', body).document.bytes);
        expect(plain(after.root)).toBe(plain(reference(judge(Buffer.from(text)).root, judged(JSON.stringify(body)))));
      }),
      RUNS,
    );
  });

  it('answers bodies that are no patch with a refusal, never another error', () => {
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((text) => Buffer.from(text)),
      fc
        .array(
          fc.record(
            {
              op: fc.constantFrom('add', 'test', 'move', 1),
              path: fc.constantFrom('', '/', '/a~2', '/dns', '/__proto__', 5),
              value: fc.jsonValue(),
            },
            { requiredKeys: [] },
          ),
        )
        .map((all) => Buffer.from(JSON.stringify(all))),
    );
    const { document } = readDocument(Buffer.from(FILE));
    fc.assert(
      fc.property(body, fc.constantFrom<'json' | 'merge'>('json', 'merge'), (bytes, form) => {
        try {
          const result = patchDocument(document, { form, body: bytes, condition: () => undefined });
          judge(result.document.bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(DomainError);
        }
      }),
      { numRuns: tries(WHOLE ? 700 : 200) },
    );
  });
});

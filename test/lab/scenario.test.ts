import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scenarioSchemaFile } from '../../scripts/document-tables.js';
import { playEmbedded } from '../../src/embedded/play.js';
import { formatScenario } from '../../src/lab/format/format.js';
import { readFixtureJson, readScenario, scenarioSchema } from '../../src/lab/format/scenario.js';
import { createCall } from '../../src/lab/play/create-call.js';
import { checked } from '../../src/wire/schema-check.js';
import { foldersOf, readFixture, scenariosOf } from '../acceptance/pack.js';
import { blocksOf } from '../docs/markdown.js';
import { someOf } from '../whole.js';

const MINIMAL = {
  title: 't',
  revision: 'current',
  source: 'spec',
  given: {},
  exchanges: [
    { operation: 'getStatus', request: { method: 'GET', path: '/server/status' }, response: { status: 200 } },
  ],
};

function problem(change: (scenario: Record<string, unknown>) => void): string {
  const scenario: Record<string, unknown> = structuredClone(MINIMAL);
  change(scenario);
  try {
    readScenario(JSON.stringify(scenario), 'x.json');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'none';
}

/** A step that sends this. */
const asking = (operation: string, request: object, body?: unknown) => ({
  operation,
  request: { method: 'GET', path: '/users', ...request },
  response: { status: 200, ...(body === undefined ? {} : { body }) },
});

describe('a file that is no scenario', () => {
  test.each([
    [
      'a misspelt operation',
      [asking('listUser', {})],
      `/exchanges/0/operation: expected an operation of the API, of Keyway's own interface (v1.…), or cors, panel, unmatched, found the text "listUser" (did you mean listUsers?)`,
    ],
    [
      'a misspelt operation of the own interface',
      [asking('v1.listKey', { root: 'v1' })],
      `/exchanges/0/operation: expected an operation of the API, of Keyway's own interface (v1.…), or cors, panel, unmatched, found the text "v1.listKey" (did you mean v1.listKeys?)`,
    ],
    [
      'a member that there is not',
      [asking('listUsers', { header: {} })],
      '/exchanges/0/request/header: expected no such member (did you mean headers?); known are method, path, root, headers, body, text',
    ],
    [
      'a placeholder that nothing before it tells',
      [asking('createUser', {}, { data: '<key:1>' }), asking('getUser', { path: '/users/<key:2>' })],
      '/exchanges/1/request/path: expected only placeholders that an answer before it tells, found <key:2>; told so far: <key:1>',
    ],
    [
      'a placeholder of no kind',
      [asking('listUsers', { headers: { authorization: 'Bearer <sesion:1>' } })],
      '/exchanges/0/request/headers: expected a placeholder of a known kind, found <sesion:1> (did you mean session?)',
    ],
  ])('for %s names the place and what may have been meant', (_, exchanges, words) => {
    expect(problem((scenario) => Object.assign(scenario, { exchanges }))).toBe(`x.json: ${words}`);
  });

  test('that lacks a member names it', () => {
    expect(problem((scenario) => delete scenario.title)).toBe('x.json: /: expected a member title');
  });

  test('with a wrong type names the place and what was expected', () => {
    const wrong = [{ operation: 'getUser', request: { method: 'get', path: '/' }, response: { status: 200 } }];
    expect(problem((scenario) => Object.assign(scenario, { exchanges: wrong }))).toBe(
      'x.json: /exchanges/0/request/method: expected a method in capitals, found the text "get"',
    );
  });

  test('with a path that no request line can carry names the place', () => {
    const wrong = [{ operation: 'getUser', request: { method: 'GET', path: '/a b' }, response: { status: 200 } }];
    expect(problem((scenario) => Object.assign(scenario, { exchanges: wrong }))).toContain('/exchanges/0/request/path');
  });

  test('with an unknown member lists the known ones', () => {
    expect(problem((scenario) => Object.assign(scenario, { titel: 1 }))).toMatch(
      /^x\.json: \/titel: expected no such member \(did you mean title\?\); known are \$schema, title, /,
    );
  });

  test('with a step of no known kind says which there are', () => {
    expect(problem((scenario) => Object.assign(scenario, { exchanges: [{ wait: 1 }] }))).toContain(
      'x.json: /exchanges/0: expected a member operation, counters, handEdit, settle or breakFile',
    );
  });

  test('with a file as value and as text is refused', () => {
    expect(problem((scenario) => Object.assign(scenario, { given: { config: {}, configText: [] } }))).toContain(
      'either config or configText',
    );
  });

  test('with a status out of range is refused', () => {
    const wrong = [{ operation: 'panel', request: { method: 'GET', path: '/' }, response: { status: 1000 } }];
    expect(problem((scenario) => Object.assign(scenario, { exchanges: wrong }))).toContain('from 100 to 599');
  });

  test('that is no JSON names line and column', () => {
    expect(() => readScenario('{ "title": ', 'x.json')).toThrow(/x\.json: \/: expected JSON: .*line 1 column/);
  });
});

test('a header and a member of a body that are called __proto__ stay what they are, and numbers of a body exact', () => {
  const body = '{"__proto__":{"n":18446744073709551616},"status":7}';
  const response = `{"status":200,"headers":{"__proto__":"x"},"body":${body}}`;
  const text = JSON.stringify(MINIMAL).replace('{"status":200}', response);
  expect(formatScenario(readScenario(text, 'x.json'))).toContain(`"response": ${response}`);
});

const name = fc.stringMatching(/^[a-z_][a-z0-9_-]{0,8}$/);
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    fc.string(),
    fc.bigInt(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
})).value;
const headers = fc.dictionary(name, fc.string(), { maxKeys: 3 });
const lines = fc.array(fc.string(), { maxLength: 3 });
const counters = fc.array(
  fc.record({
    access_key: fc.string(),
    bytes_up: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    bytes_down: fc.bigInt({ min: 0n }),
    connections: fc.bigInt({ min: 0n }),
  }),
  { maxLength: 2 },
);
const exchange = fc.record({
  operation: fc.constantFrom('listUsers', 'login', 'panel'),
  request: fc.record(
    {
      method: fc.constantFrom('GET', 'PUT'),
      path: fc.webPath(),
      root: fc.constantFrom('api' as const, 'base' as const, 'server' as const),
      headers,
      body: json,
      text: fc.string(),
    },
    { requiredKeys: ['method', 'path'] },
  ),
  response: fc.record(
    { status: fc.integer({ min: 100, max: 599 }), headers, body: json, text: fc.string(), unordered: lines },
    { requiredKeys: ['status'] },
  ),
});
const step = fc.oneof(
  exchange,
  fc.record({ counters }),
  fc.record({ handEdit: fc.string() }),
  fc.constant({ settle: true as const }),
  fc.constant({ breakFile: 'the file is gone' as const }),
);
const file = fc.oneof(fc.constant({}), fc.record({ config: json }), fc.record({ configText: lines }));
const scenario = fc.record(
  {
    title: fc.string(),
    revision: name,
    source: fc.constantFrom('spec' as const, 'recorded' as const),
    serverVersion: name,
    recordedAt: name,
    anonymous: fc.constant(true as const),
    covers: lines,
    given: fc
      .tuple(file, fc.record({ counters, listener: fc.record({ token: fc.string() }) }, { requiredKeys: [] }))
      .map(([first, second]) => ({ ...first, ...second })),
    exchanges: fc.array(step, { maxLength: 4 }),
    // biome-ignore lint/suspicious/noThenProperty: the format's own name
    then: file,
  },
  { requiredKeys: ['title', 'revision', 'source', 'given', 'exchanges'] },
);

test('any scenario formatted and read again is the same scenario', () => {
  fc.assert(
    fc.property(scenario, (each) => {
      // Through text once, for the readonly types and the null prototypes of the reader.
      const first = readScenario(formatScenario(each as Parameters<typeof formatScenario>[0]), 'x.json');
      expect(first).toEqual(each);
      expect(readScenario(formatScenario(first), 'x.json')).toEqual(first);
    }),
  );
});

test('every recording is read, and formatting it changes no byte of it', () => {
  const root = join(import.meta.dirname, '../../fixtures/recorded');
  const folders = readdirSync(root, { withFileTypes: true }).filter((each) => each.isDirectory());
  for (const folder of folders.filter(({ name }) => name !== 'divergences')) {
    for (const file of readdirSync(join(root, folder.name))) {
      const content = readFileSync(join(root, folder.name, file), 'utf8');
      expect(formatScenario(readScenario(content, file)), `${folder.name}/${file}`).toBe(content);
    }
  }
});

describe('the format', () => {
  const FOLDERS = [
    'earliest',
    'dns',
    'current',
    'v1',
    'lines',
    ...foldersOf('recorded').map((each) => `recorded/${each}`),
  ];
  const ALL = FOLDERS.filter((each) => !each.endsWith('divergences')).flatMap(scenariosOf);

  test('is described by the JSON Schema of the package, which every scenario that ships satisfies', () => {
    expect(readFixture('scenario.schema.json')).toBe(scenarioSchemaFile());
    for (const { file, content } of someOf(ALL, 60))
      expect(() => checked(scenarioSchema(), readFixtureJson(content, file), file), file).not.toThrow();
  });

  test('of every scenario written by hand is canonical, and names the schema', () => {
    for (const { file, content, scenario } of ALL.filter((each) => each.scenario.source === 'spec')) {
      expect(formatScenario(scenario), file).toBe(content);
      expect(scenario.$schema, file).toBe('../scenario.schema.json');
    }
  });

  test('has a complete example that is canonical and plays as it stands', async () => {
    const [example] = blocksOf(readFixture('README.md')).filter(({ language }) => language === 'json');
    const scenario = readScenario(example?.text ?? '', 'README.md');
    expect(formatScenario(scenario)).toBe(`${example?.text}\n`);
    const file = { kind: 'scenario', name: 'example', path: 'README.md', scenario, register: null } as const;
    const options = { revision: null, timeoutMilliseconds: 10_000, isStopped: () => false };
    expect(await playEmbedded(file, options)).toMatchObject({ outcome: 'equal', reason: null, differences: [] });
  });

  test('gives a body its content type where no header says one', () => {
    const at = {
      target: { origin: 'http://x', apiRoot: '/api', base: '' },
      addresses: { api: '', listen: '' },
      bindings: new Map<string, string>(),
    };
    const typeOf = (headers: Record<string, string>) =>
      [...createCall({ method: 'POST', path: '/users', body: {}, headers }, at).headers].join(';');
    expect(typeOf({})).toBe('content-type,application/json');
    expect(typeOf({ 'Content-Type': 'text/plain' })).toBe('Content-Type,text/plain');
    expect([...createCall({ method: 'POST', path: '/users', text: '{}' }, at).headers]).toEqual([]);
  });
});

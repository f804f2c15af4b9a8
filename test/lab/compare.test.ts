import { describe, expect, test } from 'vitest';
import type { Answer } from '../../src/client/call.js';
import type { ScenarioResponse } from '../../src/lab/format/scenario.js';
import { compareAnswer, compareFile, compareFileAt } from '../../src/lab/play/compare.js';

function answer(status: number, headers: Readonly<Record<string, string>>, body: string): Answer {
  return { status, headers: new Map(Object.entries(headers)), body: Buffer.from(body), firstByteMilliseconds: 0 };
}

function where(response: ScenarioResponse, given: Answer, request: Readonly<Record<string, string>> = {}): string[] {
  const comparison = {
    bindings: new Map<string, string>(),
    requestHeaders: new Map(Object.entries(request)),
    pages: 'exact' as const,
  };
  return compareAnswer(response, given, comparison).map((difference) => difference.where);
}

const JSON_TYPE = { 'content-type': 'application/json' };

describe('an answer', () => {
  test('with the same status, type and value is equal, whatever the order of its members', () => {
    const response = { status: 200, headers: JSON_TYPE, body: { ok: true, data: 'x' } };
    expect(where(response, answer(200, JSON_TYPE, '{"data":"x","ok":true}'))).toEqual([]);
  });

  test('with another status, type and member differs in all three', () => {
    const response = { status: 200, headers: JSON_TYPE, body: { ok: true, data: 'x' } };
    const given = answer(400, { 'content-type': 'application/json; charset=utf-8' }, '{"ok":false,"data":"x"}');
    expect(where(response, given)).toEqual(['status', 'header content-type', 'body /ok']);
  });

  test('a missing and an additional member are two differences', () => {
    const response = { status: 200, body: { ok: true, data: null } };
    expect(where(response, answer(200, JSON_TYPE, '{"ok":true,"error":"x"}'))).toEqual(['body /data', 'body /error']);
  });

  test('without headers in the scenario a body is expected as application/json', () => {
    expect(where({ status: 200, body: null }, answer(200, { 'content-type': 'text/html' }, 'null'))).toEqual([
      'header content-type',
    ]);
  });

  test('a content type that the scenario does not have is a difference', () => {
    expect(where({ status: 404, headers: {}, text: '' }, answer(404, JSON_TYPE, ''))).toEqual(['header content-type']);
  });

  test('that is no JSON where JSON is expected differs as a text', () => {
    expect(where({ status: 200, body: { ok: true } }, answer(200, JSON_TYPE, '<html>'))).toEqual(['body']);
  });

  test('allow is compared as a set', () => {
    const response = { status: 405, headers: { allow: 'GET,HEAD,POST' }, text: '' };
    expect(where(response, answer(405, { allow: 'POST, GET, HEAD' }, ''))).toEqual([]);
    expect(where(response, answer(405, { allow: 'GET,HEAD' }, ''))).toEqual(['header allow']);
    expect(where(response, answer(405, {}, ''))).toEqual(['header allow']);
  });

  test('location is compared exactly, and its absence counts', () => {
    const response = { status: 308, headers: { location: '/panel/' }, text: '' };
    expect(where(response, answer(308, { location: '/panel/' }, ''))).toEqual([]);
    expect(where(response, answer(308, { location: 'http://h/panel/' }, ''))).toEqual(['header location']);
    expect(where({ status: 200, headers: {} }, answer(200, { location: '/' }, ''))).toEqual(['header location']);
  });

  test('of the open-ended error texts only the beginning counts', () => {
    const response = {
      status: 400,
      body: { ok: false, error: 'Failed to read config file: No such file (os error 2)' },
    };
    expect(
      where(response, answer(400, JSON_TYPE, '{"ok":false,"error":"Failed to read config file: ENOENT"}')),
    ).toEqual([]);
    expect(where(response, answer(400, JSON_TYPE, '{"ok":false,"error":"Failed to strip comments: x"}'))).toEqual([
      'body /error',
    ]);
  });
});

test("a page of a server's own counts only as long as pages are compared", () => {
  const response = { status: 200, headers: { 'content-type': 'text/html' }, text: '<p>theirs</p>' };
  const given = answer(200, { 'content-type': 'text/html' }, '<p>ours</p>');
  const comparison = { bindings: new Map<string, string>(), requestHeaders: new Map<string, string>() };
  expect(compareAnswer(response, given, { ...comparison, pages: 'exact' })).toHaveLength(1);
  expect(compareAnswer(response, given, { ...comparison, pages: 'ignored' })).toEqual([]);
});

describe('numbers', () => {
  test('1000 equals 1e3 and 1000.0', () => {
    expect(where({ status: 200, body: [1000n] }, answer(200, JSON_TYPE, '[1e3]'))).toEqual([]);
    expect(where({ status: 200, body: [1000] }, answer(200, JSON_TYPE, '[1000]'))).toEqual([]);
  });

  test('64-bit neighbours that share one double differ', () => {
    const response = { status: 200, body: [18446744073709551615n] };
    expect(where(response, answer(200, JSON_TYPE, '[18446744073709551615]'))).toEqual([]);
    expect(where(response, answer(200, JSON_TYPE, '[18446744073709551614]'))).toEqual(['body /0']);
  });

  test('a number and its text differ', () => {
    expect(where({ status: 200, body: [5n] }, answer(200, JSON_TYPE, '["5"]'))).toEqual(['body /0']);
  });
});

describe('arrays without an order', () => {
  const body = { data: [{ k: 'a' }, { k: 'b' }] };

  test('equal in any order where the pointer stands', () => {
    expect(
      where({ status: 200, body, unordered: ['/data'] }, answer(200, JSON_TYPE, '{"data":[{"k":"b"},{"k":"a"}]}')),
    ).toEqual([]);
  });

  test('differ in order without the pointer', () => {
    expect(where({ status: 200, body }, answer(200, JSON_TYPE, '{"data":[{"k":"b"},{"k":"a"}]}'))).toEqual([
      'body /data/0/k',
      'body /data/1/k',
    ]);
  });

  test('one difference for each element without a partner, doubles counted', () => {
    const given = answer(200, JSON_TYPE, '{"data":[{"k":"a"},{"k":"a"},{"k":"c"}]}');
    expect(where({ status: 200, body, unordered: ['/data'] }, given)).toEqual([
      'body /data',
      'body /data',
      'body /data',
    ]);
  });

  test('open placeholders take what the known elements leave', () => {
    const first = 'a'.repeat(32);
    const wanted = { status: 200, body: ['<key:1>', first], unordered: [''] };
    expect(where(wanted, answer(200, JSON_TYPE, JSON.stringify([first, 'b'.repeat(32)])))).toEqual([]);
  });
});

describe('cross-origin headers', () => {
  const recorded = {
    status: 200,
    headers: {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': '*',
      'access-control-allow-headers': '*',
    },
  };
  const preflight = {
    origin: 'https://panel.example',
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'authorization,content-type',
  };

  test('that spell out what the request asks for permit the same as an asterisk', () => {
    const given = answer(
      200,
      {
        'access-control-allow-origin': 'https://panel.example',
        'access-control-allow-methods': 'GET, PUT',
        'access-control-allow-headers': 'Content-Type, Authorization',
      },
      '',
    );
    expect(where(recorded, given, preflight)).toEqual([]);
  });

  test('that leave out the method or a header differ', () => {
    const given = answer(
      200,
      {
        'access-control-allow-origin': 'https://other.example',
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'content-type',
      },
      '',
    );
    expect(where(recorded, given, preflight)).toEqual([
      'header access-control-allow-origin',
      'header access-control-allow-methods',
      'header access-control-allow-headers',
    ]);
  });

  test('do not matter to a request without an origin', () => {
    expect(where(recorded, answer(200, {}, ''))).toEqual([]);
  });
});

describe('the file afterwards', () => {
  const lines = ['{ "mode": "server", "access_keys": ["a", "b"], "n": 1e3 }'];

  test('is compared by value, comments apart', () => {
    const actual = '{ // here\n "n": 1000, "access_keys": ["a", "b"], "mode": "server" }';
    expect(compareFile({ configText: lines }, actual, { bindings: new Map(), keyOrder: 'exact' })).toEqual([]);
  });

  test('the order of the key list counts only where asked for, in both layouts', () => {
    const turned = '{ "mode": "server", "access_keys": ["b", "a"], "n": 1e3 }';
    const differ = compareFile({ configText: lines }, turned, { bindings: new Map(), keyOrder: 'exact' });
    expect(differ.map((each) => each.where)).toEqual(['file /access_keys/0', 'file /access_keys/1']);
    expect(compareFile({ configText: lines }, turned, { bindings: new Map(), keyOrder: 'ignored' })).toEqual([]);
    const inbounds = { config: { inbounds: [{ users: ['a', 'b'] }] } };
    const actual = '{"inbounds":[{"users":["b","a"]}]}';
    expect(compareFile(inbounds, actual, { bindings: new Map(), keyOrder: 'ignored' })).toEqual([]);
  });

  test('compared byte for byte a comment counts', () => {
    const expected = { configText: ['{ // kept', '}'], compare: 'bytes' as const };
    const comparison = { bindings: new Map<string, string>(), keyOrder: 'exact' as const };
    expect(compareFile(expected, '{ // kept\n}', comparison)).toEqual([]);
    expect(compareFile(expected, '{\n}', comparison).map((each) => each.where)).toEqual(['file']);
  });

  test('at one place is compared without its order, or is not there', () => {
    const actual = '{ "inbounds": [{ "users": ["b", "a"] }] }';
    expect(compareFileAt('/inbounds/0/users', ['a', 'b'], actual, new Map())).toEqual([]);
    const [difference] = compareFileAt('/inbounds/1/users', [], actual, new Map());
    expect(difference).toEqual({ where: 'file /inbounds/1/users', expected: [], actual: undefined });
  });
});

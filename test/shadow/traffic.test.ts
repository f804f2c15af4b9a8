import { describe, expect, test } from 'vitest';
import { isSafe } from '../../src/replay/format/effects.js';
import type { UnreadExchange } from '../../src/replay/record/proxy.js';
import { Backlog, WritesBeside } from '../../src/shadow/traffic.js';
import { OPERATIONS } from '../../src/wire/operations.js';

const MIB = 1024 * 1024;
const API = '/panel/api';

function exchange(sequence: number, method: string, path: string, given: Partial<UnreadExchange> = {}) {
  const [client, requestBody, responseBody] = ['127.0.0.1 node', Buffer.alloc(0), Buffer.from('{"ok":true}')];
  const heads = { requestHead: [], responseHead: [] };
  return { sequence, client, method, path: API + path, status: 200, requestBody, responseBody, ...heads, ...given };
}

/** Has a write begin and end, with nothing between. */
function write(writes: WritesBeside, each: UnreadExchange) {
  writes.begin(each);
  return writes.end(each.sequence, each);
}

describe('the writes beside a request', () => {
  test('are everything, and no more is kept, once there were too many beside one that does not end', () => {
    const writes = new WritesBeside();
    const [stream, later] = [exchange(1, 'GET', '/users'), exchange(2, 'GET', '/users')];
    writes.begin(stream);
    for (let count = 0; count < 20_000; count += 1) write(writes, exchange(10, 'DELETE', `/users/key-${count}`));
    writes.begin(later);
    write(writes, exchange(10, 'DELETE', '/users/last'));
    const { keys, subjects } = writes.end(1, stream);
    expect(subjects).toEqual(['configuration']);
    expect(keys.length).toBeLessThanOrEqual(10_000);
    expect(keys.at(-1)).toBe('last');
    expect(writes.end(2, later)).toEqual({ keys: ['last'], subjects: [] });
  });

  test('are none of those that the target refused', () => {
    const writes = new WritesBeside();
    const list = exchange(1, 'GET', '/users');
    writes.begin(list);
    for (const path of ['/users', '/users/refused/reset'])
      write(writes, exchange(2, 'POST', path, { status: 404, requestBody: Buffer.from('{"access_key":"refused"}') }));
    write(writes, exchange(3, 'POST', '/users/failed/reset', { status: 500 }));
    expect(writes.end(1, list)).toEqual({ keys: ['failed'], subjects: [] });
  });

  test('are known by the keys that they made, where their bodies are short', () => {
    const beside = (data: string) => {
      const writes = new WritesBeside();
      const list = exchange(1, 'GET', '/users');
      writes.begin(list);
      write(writes, exchange(2, 'POST', '/users', { responseBody: Buffer.from(JSON.stringify({ ok: true, data })) }));
      return writes.end(1, list);
    };
    expect(beside('made')).toEqual({ keys: ['made'], subjects: [] });
    expect(beside('x'.repeat(MIB))).toEqual({ keys: [], subjects: ['keys'] });
  });

  test('are those of its own key, where it has one, however that is written', () => {
    const writes = new WritesBeside();
    const read = exchange(1, 'GET', '/users/a%2541');
    writes.begin(read);
    for (const path of ['/users/a%2541/reset', '/users/aA/reset', '/users/other/reset'])
      write(writes, exchange(2, 'POST', path));
    expect(writes.end(1, read)).toEqual({ keys: ['a%41'], subjects: [] });
  });
});

test('no operation writes whose method is safe', () => {
  const writing = OPERATIONS.filter(({ method, effect }) => isSafe(method) && effect.kind !== 'reads');
  expect(writing.map(({ name }) => name)).toEqual([]);
});

describe('what is kept for the shadow', () => {
  test('has its room again once it waits no more', () => {
    const backlog = new Backlog();
    const pass = () => {
      const watch = backlog.watch({ passed: () => undefined, dropped: () => undefined });
      const isKept = watch.keeps(MIB, () => undefined);
      if (isKept) watch.passed(exchange(1, 'GET', '/users'));
      return isKept;
    };
    for (let number = 0; number < 64; number += 1) expect(pass()).toBe(true);
    expect(pass()).toBe(false);
    backlog.done(2);
    expect([pass(), pass(), pass()]).toEqual([true, true, false]);
  });

  test('is no upload that does not go on, where there is no room left', () => {
    const backlog = new Backlog();
    const [letGo, dropped]: [number[], string[]] = [[], []];
    const begun = (number: number) => {
      const watch = backlog.watch({ passed: () => undefined, dropped: (why) => dropped.push(why) });
      return { watch, takes: (bytes: number) => watch.keeps(bytes, () => letGo.push(number)) };
    };
    const uploads = Array.from({ length: 64 }, (_, number) => begun(number));
    for (const upload of uploads) expect(upload.takes(MIB)).toBe(true);
    // The first one goes on, and so the second has waited longest.
    expect(uploads[0]?.takes(0)).toBe(true);
    const other = begun(64);
    expect(other.takes(1_000)).toBe(true);
    expect(letGo).toEqual([1]);
    expect(uploads[1]?.takes(1)).toBe(false);
    uploads[1]?.watch.unkept();
    expect(dropped).toEqual(['the queue is full']);
    // What waits for the shadow stays.
    const waiting = exchange(1, 'POST', '/users', { requestBody: Buffer.alloc(MIB) });
    for (const upload of uploads.slice(2)) upload.watch.passed(waiting);
    expect(other.takes(MIB)).toBe(true);
    expect(begun(65).takes(2 * MIB)).toBe(false);
    expect(letGo.slice(1)).toEqual([0, 65]);
  });
});

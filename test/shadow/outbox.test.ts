import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ToWorker } from '../../src/shadow/messages.js';
import { Outbox } from '../../src/shadow/outbox.js';
import { unpacked } from '../../src/shadow/packing.js';
import type { UnreadPassed } from '../../src/shadow/traffic.js';

const MIB = 1024 * 1024;

function passed(responseBody: Buffer): UnreadPassed {
  const about = { sequence: 1, client: '127.0.0.1 node', method: 'GET', path: '/api/users', status: 200 };
  const heads = { requestHead: [], responseHead: [] };
  const beside = { keys: [], subjects: [] };
  return { ...about, ...heads, requestBody: Buffer.alloc(0), responseBody, startedAt: 0, beside };
}

function opened() {
  const posted: { readonly message: ToWorker; readonly transferred: readonly ArrayBuffer[] }[] = [];
  const outbox = new Outbox((message, transferred) => posted.push({ message, transferred }));
  const bodies = () =>
    posted.flatMap(({ message }) =>
      message.kind === 'passed' ? [...unpacked(message.packed)].map(({ responseBody }) => responseBody.toString()) : [],
    );
  return { outbox, posted, bodies };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the messages for the worker', () => {
  test('are gathered, with one copy of all', () => {
    const { outbox, posted, bodies } = opened();
    for (const text of ['one', 'two']) outbox.add(passed(Buffer.from(text)));
    for (const _ of [1, 2]) outbox.lose('setLimit', 7);
    expect(posted).toEqual([]);
    vi.runAllTimers();
    expect(bodies()).toEqual(['one', 'two']);
    expect(posted.map(({ message, transferred }) => [message.kind, transferred.length])).toEqual([
      ['passed', 1],
      ['lost', 0],
    ]);
    expect(posted.at(-1)?.message).toEqual({ kind: 'lost', operation: 'setLimit', at: 7 });
  });

  test('wait for tasks, which are done in their order', () => {
    const { outbox, bodies } = opened();
    for (const text of ['one', 'two']) outbox.soon(() => outbox.add(passed(Buffer.from(text))));
    outbox.flush();
    expect(bodies()).toEqual(['one', 'two']);
  });

  test('wait for tasks that are done once 16 of them have come, or with the next message', () => {
    const { outbox } = opened();
    const done: number[] = [];
    for (let number = 1; number < 16; number += 1) outbox.soon(() => done.push(number));
    vi.advanceTimersByTime(10);
    expect(done).toEqual([]);
    for (const number of [16, 17]) outbox.soon(() => done.push(number));
    vi.advanceTimersByTime(10);
    expect(done).toEqual(Array.from({ length: 17 }, (_, index) => index + 1));
    outbox.soon(() => done.push(18));
    vi.runAllTimers();
    expect(done.at(-1)).toBe(18);
  });

  test('tell of a write that is lost before what passed after it', () => {
    const { outbox, posted } = opened();
    outbox.add(passed(Buffer.from('before')));
    outbox.lose('setLimit', 7);
    outbox.add(passed(Buffer.from('after')));
    vi.runAllTimers();
    expect(posted.map(({ message }) => message.kind)).toEqual(['passed', 'lost', 'passed']);
  });

  test('go at once where others fill their memory', () => {
    const { outbox, posted, bodies } = opened();
    for (const text of ['v', 'w', 'x', 'y', 'z']) outbox.add(passed(Buffer.alloc(60 * 1024, text)));
    expect(bodies().map((body) => body.slice(0, 1))).toEqual(['v', 'w', 'x', 'y']);
    vi.runAllTimers();
    expect(bodies().map((body) => body.slice(0, 1))).toEqual(['v', 'w', 'x', 'y', 'z']);
    expect(posted).toHaveLength(2);
  });

  test('take a body with them that has its memory for itself, and a copy of one that shares it', () => {
    const { outbox, posted, bodies } = opened();
    const [own, shared] = [Buffer.alloc(2 * MIB, 'x'), Buffer.alloc(4 * MIB, 'y').subarray(0, 2 * MIB)];
    for (const body of [own, shared]) outbox.add(passed(body));
    vi.runAllTimers();
    const transferred = posted.flatMap((each) => each.transferred);
    expect([own, shared].map(({ buffer }) => transferred.includes(buffer))).toEqual([true, false]);
    expect(bodies()).toEqual(['x'.repeat(2 * MIB), 'y'.repeat(2 * MIB)]);
  });
});

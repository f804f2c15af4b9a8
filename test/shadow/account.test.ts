import { describe, expect, test } from 'vitest';
import { Account } from '../../src/shadow/account.js';
import { Tally } from '../../src/shadow/tally.js';

const asked = (path: string, method = 'GET') => ({ sequence: 1, client: '127.0.0.1 bot/1.0 (x)', method, path });
const NONE = { kind: 'compared', differences: [] } as const;

describe('the account of a shadow', () => {
  test('counts at the end what the worker was handed and has in no report, however little of it was told', () => {
    const tally = new Tally(() => 0);
    const account = new Account(tally.report());
    for (const path of ['/p/api/users', '/p/api/users/a', '/p/api/users/b']) account.handed(asked(path));
    account.handed(asked('/p/api/users', 'OPTIONS'));
    tally.add('bot/1.0', 'listUsers', NONE);
    account.reported(tally.report(), 1);
    tally.add('bot/1.0', 'getUser', NONE);
    account.reported(tally.report(), 2);
    expect(account.report()).toMatchObject({ requests: 2, compared: 2, waiting: 2 });
    const { requests, compared, waiting, rows } = account.last();
    expect({ requests, compared, waiting }).toEqual({ requests: 4, compared: 2, waiting: 0 });
    expect(rows).toMatchObject([
      { operation: 'getUser', seen: 2, equal: 1, leftOut: { 'the run ended before': 1 } },
      { operation: 'listUsers', seen: 1, equal: 1, leftOut: {} },
      { operation: 'cors', seen: 1, equal: 0, leftOut: { 'the run ended before': 1 } },
    ]);
  });

  test('counts at the end a request whose answer goes on, and one that has ended only as what it became', () => {
    const account = new Account(new Tally(() => 0).report());
    const requests = [1, 2, 3].map((sequence) => ({ ...asked('/p/api/users'), sequence }));
    for (const request of requests) account.begun(request);
    const [, second, third] = requests;
    if (second !== undefined) account.handed(second);
    if (third !== undefined) account.dropped(third, 'no whole answer');
    expect(account.report()).toMatchObject({ requests: 1 });
    expect(account.last()).toMatchObject({
      requests: 3,
      rows: [{ operation: 'listUsers', seen: 3, leftOut: { 'the run ended before': 2, 'no whole answer': 1 } }],
    });
  });

  test('tells of a dropped request which write is lost by it, and nothing of a read, a preflight or a page', () => {
    const account = new Account(new Tally(() => 0).report());
    const lost = (method: string, path: string) => account.dropped(asked(path, method), 'no whole answer');
    expect(lost('PUT', '/p/api/users/a/limit')).toBe('setLimit');
    expect(lost('POST', '/p/elsewhere')).toBe('unmatched');
    for (const [method, path] of [
      ['GET', '/p/api/users'],
      ['OPTIONS', '/p/api/users'],
      ['GET', '/p/app.js'],
    ] as const)
      expect(lost(method, path)).toBeNull();
  });

  test('counts what was dropped in every report, also where the worker never gives one', () => {
    const tally = new Tally(() => 0);
    const account = new Account(tally.report());
    for (const _ of [1, 2]) account.dropped(asked('/p/api/users/a'), 'the queue is full');
    const leftOut = { 'the queue is full': 2 };
    expect(account.report()).toMatchObject({
      requests: 2,
      rows: [{ client: 'bot/1.0', operation: 'getUser', leftOut }],
    });
    tally.add('bot/1.0', 'getUser', NONE);
    account.handed(asked('/p/api/users/a'));
    account.reported(tally.report(), 1);
    expect(account.last()).toMatchObject({ requests: 3, rows: [{ seen: 3, equal: 1, leftOut }] });
    // What the worker has told stays as it is.
    expect(tally.report().rows).toMatchObject([{ seen: 1, leftOut: {} }]);
  });
});

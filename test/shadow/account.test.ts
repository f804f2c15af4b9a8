import { describe, expect, test } from 'vitest';
import { Account } from '../../src/shadow/account.js';
import type { ShadowDifference } from '../../src/shadow/judge.js';
import { isFailing, standingWords } from '../../src/shadow/report-words.js';
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

describe('the rows of a shadow', () => {
  test('keep the clients of most requests, however many names come once', () => {
    const tally = new Tally(() => 0);
    for (let count = 0; count < 3_000; count += 1) {
      tally.add(`invented/${count}`, 'listUsers', NONE);
      // One that comes late, and now and then, too.
      if (count >= 1_000 && count % 150 === 0) tally.add('bot/1.0', 'getUser', NONE);
    }
    const { rows, requests } = tally.report();
    expect(new Set(rows.map(({ client }) => client)).size).toBe(201);
    expect(rows.reduce((sum, { seen, equal }) => sum + Math.min(seen, equal), 0)).toBe(requests);
    expect(rows.find(({ client }) => client === 'bot/1.0')).toMatchObject({ operation: 'getUser', seen: 13 });
    expect(rows[0]).toMatchObject({ client: 'others', operation: 'listUsers', seen: 2_801 });
  });

  test('name no client more than once where dropped requests are added', () => {
    const tally = new Tally(() => 0);
    const account = new Account(tally.report());
    for (let count = 0; count < 300; count += 1) {
      tally.add(`invented/${count}`, 'getUser', NONE);
      account.dropped({ ...asked('/p/api/users'), client: `127.0.0.1 other/${count}` }, 'the queue is full');
    }
    account.reported(tally.report(), 0);
    const { rows, requests } = account.report();
    expect(new Set(rows.map(({ client }) => client)).size).toBe(201);
    expect(rows.reduce((sum, { seen }) => sum + seen, 0)).toBe(requests);
  });
});

describe('a run', () => {
  const placed = (where: string, because: string | null): ShadowDifference => {
    const explainedBy = because === null ? null : ('lines' as const);
    const place = { step: 1, operation: 'getUser', kind: because === null ? 'new' : 'reads', explainedBy } as const;
    return { ...place, where, because, expected: 1n, actual: 2n };
  };

  test('fails for the kinds of differences, too, that come after 1,000 others', () => {
    const tally = new Tally(() => 0);
    for (let count = 0; count < 1_000; count += 1)
      tally.add('bot/1.0', 'getUser', { kind: 'compared', differences: [placed(`header x-${count}`, 'told before')] });
    expect([isFailing(tally.report(), null), isFailing(tally.report(), 'reads')]).toEqual([false, true]);
    for (const where of ['header y', 'header z'])
      tally.add('bot/1.0', 'getUser', { kind: 'compared', differences: [placed(where, null)] });
    expect(isFailing(tally.report(), null)).toBe(true);
    expect(tally.report().differences).toHaveLength(1_001);
    expect(tally.report().differences[0]).toMatchObject({ where: 'elsewhere', because: null, times: 2 });
  });

  test('keeps no more names of members than kinds of differences', () => {
    const tally = new Tally(() => 0);
    const add = (operation: string, where: string, texts: { expected: string; actual: string }) =>
      tally.add('bot/1.0', operation, {
        kind: 'compared',
        differences: [{ ...placed(where, null), operation, ...texts }],
      });
    for (let count = 0; count < 3_000; count += 1)
      add('getUser', `body /data/somebody-${count}`, { expected: 'of target', actual: 'of shadow' });
    // Texts are numbered as they are kept: one of each place, and two of the examples.
    const [fresh] = add('getRules', 'body /data/domain', { expected: 'new', actual: 'newer' });
    expect(fresh).toMatchObject({ where: 'elsewhere', example: { target: '"<text:1003>"', shadow: '"<text:1004>"' } });
  });

  test('says how old its report is, and that it has ended', () => {
    const report = new Tally(() => Date.parse('2026-11-24T12:00:00Z')).report();
    const at = (seconds: number) => standingWords(report, Date.parse(report.writtenAt) + seconds * 1_000);
    expect(at(2)).toBe('as of 2026-11-24T12:00:00.000Z, 2 s ago');
    expect(at(7_200)).toMatch(
      /, 7200 s ago: one that runs writes twice a second, so that this one has ended or hangs$/,
    );
    expect(standingWords({ ...report, isLast: true }, 0)).toBe('the run ended at 2026-11-24T12:00:00.000Z');
  });
});

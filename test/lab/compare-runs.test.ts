import { describe, expect, test } from 'vitest';
import { changesIn } from '../../src/lab/compare/changes.js';
import { compareRuns, type Run } from '../../src/lab/compare/compare-runs.js';
import { revisionNamed } from './live-server.js';

const sides = { left: revisionNamed('dns'), right: revisionNamed('current') };

/** A run of `[method, path, status, data]`, answered in JSON. */
function runOf(...steps: readonly (readonly [string, string, number, unknown])[]): Run {
  return {
    bindings: new Map(),
    steps: steps.map(([method, path, status, data], index) => ({
      step: index + 1,
      exchange: { operation: 'x', request: { method, path }, response: { status: 200 } },
      answer: {
        status,
        headers: new Map([['content-type', 'application/json']]),
        body: Buffer.from(JSON.stringify({ ok: status === 200, data })),
        firstByteMilliseconds: 0,
      },
      compareWith: () => [],
    })),
  };
}

describe('two runs', () => {
  test('that answer the same do not differ', () => {
    const run = runOf(['GET', '/users', 200, [{ a: 1 }]]);
    expect(compareRuns(run, run, null, sides)).toEqual({ differences: [], partedAt: null, unplayed: [] });
  });

  test('differ where the left one does not differ from itself', () => {
    const left = runOf(['GET', '/users/a', 200, { time: '1', name: 'A' }]);
    const again = runOf(['GET', '/users/a', 200, { time: '2', name: 'A' }]);
    const right = runOf(['GET', '/users/a', 200, { time: '3', name: 'B' }]);
    expect(compareRuns(left, right, again, sides).differences).toEqual([
      { step: 1, operation: 'getUser', where: 'body /data/name', expected: 'A', actual: 'B' },
    ]);
  });

  test('say once that one of them does not serve an operation', () => {
    const left = runOf(['GET', '/dns/config', 200, { enabled: false, adblock_urls: [] }]);
    const right = runOf(['GET', '/dns/config', 404, undefined]);
    expect(compareRuns(left, right, null, sides).differences).toEqual([
      { step: 1, operation: 'getDnsConfig', where: 'operation', expected: 'served', actual: 'not served' },
    ]);
  });

  test('differ once one took a change that the other refused only in what comes of their lines', () => {
    const [list, one] = [['GET', '/users'] as const, ['GET', '/users/a'] as const];
    const left = runOf(
      ['POST', '/users', 200, 'k'],
      [...list, 200, [{ access_key: 'k' }]],
      [...one, 200, { access_key: 'a', name: 'A', online: true }],
      ['DELETE', '/audit', 404, undefined],
    );
    const right = runOf(
      ['POST', '/users', 400, undefined],
      [...list, 200, []],
      [...one, 200, { access_key: 'a', name: 'B', online: false, last_seen: null }],
      ['DELETE', '/audit', 200, null],
    );
    const { differences, partedAt } = compareRuns(left, right, null, sides);
    expect(partedAt).toBe(1);
    expect(differences.map(({ operation, where }) => `${operation} ${where}`)).toEqual([
      'createUser status',
      'getUser body /data/online',
      'getUser body /data/last_seen',
      'clearAudit operation',
    ]);
  });

  test('do not differ in the words with which they refuse what no operation answers, but where one of them serves it', () => {
    const unmatched = (status: number): Run => {
      const run = runOf(['PUT', '/dns/config', status, status === 200 ? true : undefined]);
      return {
        ...run,
        steps: run.steps.map((each) => ({ ...each, exchange: { ...each.exchange, operation: 'unmatched' } })),
      };
    };
    expect(compareRuns(unmatched(405), unmatched(404), null, sides).differences).toEqual([]);
    expect(compareRuns(unmatched(405), unmatched(200), null, sides).differences).toEqual([
      { step: 1, operation: 'unmatched', where: 'body /ok', expected: false, actual: true },
    ]);
  });

  test('differ in what another origin may read only where the request names one', () => {
    const from = (headers: Readonly<Record<string, string>>, allowed: boolean): Run => {
      const run = runOf(['GET', '/users', 200, []]);
      const answered = allowed ? [['access-control-allow-origin', '*'] as const] : [];
      return {
        ...run,
        steps: run.steps.map((each) => ({
          ...each,
          exchange: { ...each.exchange, request: { ...each.exchange.request, headers } },
          answer: each.answer && { ...each.answer, headers: new Map([...each.answer.headers, ...answered]) },
        })),
      };
    };
    const differences = (headers: Readonly<Record<string, string>>) =>
      compareRuns(from(headers, true), from(headers, false), null, sides).differences.map(({ where }) => where);
    expect(differences({})).toEqual([]);
    expect(differences({ origin: 'https://a.example' })).toEqual(['header access-control-allow-origin']);
  });

  test('name the steps that neither server answered', () => {
    const unsent = (run: Run): Run => ({ ...run, steps: run.steps.map((each) => ({ ...each, answer: null })) });
    const run = unsent(runOf(['GET', '/subscribe/<key:1>', 200, '']));
    expect(compareRuns(run, run, run, sides)).toMatchObject({ differences: [], unplayed: run.steps });
  });

  test('show nothing of the age of the counts of a DNS engine', () => {
    const stats = (since_seconds: number) => runOf(['GET', '/dns/stats', 200, { since_seconds }]);
    const newest = { left: revisionNamed('0.4.6'), right: revisionNamed('0.4.7') };
    expect(compareRuns(stats(3), stats(9), stats(3), newest).differences).toEqual([]);
  });

  test('take a server-made value for the same wherever its placeholder stands', () => {
    const named = (run: Run, key: string): Run => ({ ...run, bindings: new Map([['key:1', key]]) });
    const left = named(runOf(['GET', '/users', 200, [{ access_key: 'aaaa' }]]), 'aaaa');
    const right = named(runOf(['GET', '/users', 200, [{ access_key: 'bbbb' }]]), 'bbbb');
    expect(compareRuns(left, right, null, sides).differences).toEqual([]);
  });

  test('take it for the same as the name of a member, and in a list without an order', () => {
    const inList = (run: Run, key: string): Run => ({
      bindings: new Map([['key:1', key]]),
      steps: run.steps.map((step) => ({
        ...step,
        exchange: { ...step.exchange, response: { status: 200, unordered: ['/data/*'] } },
      })),
    });
    const data = (key: string, ...list: readonly string[]) =>
      runOf(['GET', '/server/config', 200, { [key]: 1, list, same: ['x', 'y'] }]);
    const left = inList(data('aaaa', 'aaaa', 'mmmm'), 'aaaa');
    expect(compareRuns(left, inList(data('zzzz', 'mmmm', 'zzzz'), 'zzzz'), null, sides).differences).toEqual([]);
    const other = compareRuns(left, inList(data('zzzz', 'mmmm', 'nnnn'), 'zzzz'), null, sides).differences;
    expect(other.map(({ where }) => where)).toEqual(['body /data/list/0', 'body /data/list/1']);
  });

  const user = (access_key: string, name: string | null = null) => ({ access_key, name });

  test('pair the keys of a list by themselves, in whatever order they come', () => {
    const left = runOf(['GET', '/users', 200, [user('alpha'), user('beta', "Anna's laptop")]]);
    const right = runOf(['GET', '/users', 200, [user('beta', "Anna's laptop"), user('alpha')]]);
    expect(compareRuns(left, right, null, sides).differences).toEqual([]);
    const other = runOf(['GET', '/users', 200, [user('beta'), user('alpha')]]);
    expect(compareRuns(left, other, null, sides).differences).toEqual([
      {
        step: 1,
        operation: 'listUsers',
        where: 'body /data/[beta]/name',
        expected: "Anna's laptop",
        actual: null,
      },
    ]);
  });

  test('pair the keys of a configuration, written in whatever way', () => {
    const config = (...access_keys: readonly unknown[]) => runOf(['GET', '/server/config', 200, { access_keys }]);
    const left = config('alpha', user('beta'));
    expect(compareRuns(left, config(user('beta'), 'alpha'), left, sides).differences).toEqual([]);
  });

  test('leave out the keys that stood on one of them alone, and what counts keys', () => {
    const steps = (...keys: readonly string[]) =>
      runOf(
        ['GET', '/users', 200, keys.map((each) => user(each))],
        ['GET', '/server/status', 200, { total_users: keys.length }],
      );
    const left = { ...steps('both', 'left-only'), foreign: new Set(['left-only']) };
    const right = { ...steps('both'), foreign: new Set<string>() };
    expect(compareRuns(left, right, null, sides).differences).toEqual([]);
    expect(compareRuns(steps('both', 'made'), right, steps('both', 'made'), sides).differences).toHaveLength(2);
  });

  test('never show what is secret', () => {
    const config = (token: string) => runOf(['GET', '/server/config', 200, { api: { token } }]);
    const left = config('one');
    expect(compareRuns(left, config('other'), left, sides).differences).toEqual([]);
  });

  test('go on being compared where only one of them has a login', () => {
    const login = (status: number, name: string) =>
      runOf(['POST', '/login', status, { token: 't' }], ['GET', '/users/alpha', 200, { name }]);
    const { differences, partedAt } = compareRuns(login(404, 'A'), login(200, 'B'), login(404, 'A'), {
      left: revisionNamed('earliest'),
      right: revisionNamed('dns'),
    });
    expect(partedAt).toBeNull();
    expect(differences.map(({ operation, where }) => `${operation} ${where}`)).toEqual([
      'login operation',
      'getUser body /data/name',
    ]);
  });

  test('are summed up by the program that called, its operations and places, with how often each is met', () => {
    const listed = (program: string | null) => ({
      operation: 'listUsers',
      request: { method: 'GET', path: '/users', ...(program === null ? {} : { headers: { 'user-agent': program } }) },
      response: { status: 200 },
    });
    const online = (step: number, index: number) => {
      const where = `body /data/${index}/online`;
      return { step, operation: 'listUsers', where, expected: true, actual: false };
    };
    const recorded = (name: string, ...programs: readonly (string | null)[]) => {
      const told = { title: '', revision: 'dns', source: 'recorded' as const, anonymous: true as const, given: {} };
      const differences = [online(1, 0), online(1, 1)];
      return { name, scenario: { ...told, exchanges: programs.map(listed) }, differences };
    };
    const compared = [recorded('a', 'curl/8.5.0', 'curl/8.5.0'), recorded('b', 'curl/8.5.0'), recorded('c', null)];
    const because = 'online: counters exist → connections > 0';
    const change = { operation: 'listUsers', where: 'body /data/*/online', expected: true, actual: false, because };
    expect(changesIn(compared, sides)).toEqual([
      { ...change, client: 'c', kind: 'new', met: 1, calls: 1 },
      { ...change, client: 'curl/8.5.0', kind: 'new', met: 2, calls: 3 },
    ]);
  });
});

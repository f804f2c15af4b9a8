import { describe, expect, test } from 'vitest';
import { compareRuns, groupDifferences, type Run } from '../../src/replay/compare/compare-runs.js';
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
    })),
  };
}

describe('two runs', () => {
  test('that answer the same do not differ', () => {
    const run = runOf(['GET', '/users', 200, [{ a: 1 }]]);
    expect(compareRuns(run, run, null, sides)).toEqual({ differences: [], partedAt: null });
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

  test('differ once one took a change that the other refused only in what one of them does not serve', () => {
    const list = ['GET', '/users'] as const;
    const left = runOf(['POST', '/users', 200, 'k'], [...list, 200, ['k']], ['DELETE', '/audit', 404, undefined]);
    const right = runOf(['POST', '/users', 400, undefined], [...list, 200, []], ['DELETE', '/audit', 200, null]);
    const { differences, partedAt } = compareRuns(left, right, null, sides);
    expect(partedAt).toBe(1);
    expect(differences.map(({ operation, where }) => `${operation} ${where}`)).toEqual([
      'createUser status',
      'clearAudit operation',
    ]);
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
    expect(compareRuns(steps('both', 'made'), right, steps('both', 'made'), sides).differences).toHaveLength(3);
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

  test('are summed up by operation and place', () => {
    const difference = { step: 1, operation: 'listUsers', expected: true, actual: false };
    const differences = [0, 1].map((index) => ({ ...difference, where: `body /data/${index}/online` }));
    expect(groupDifferences(['a', 'b'].map((name) => ({ name, differences })))).toEqual([
      { operation: 'listUsers', where: 'body /data/*/online', expected: true, actual: false, scenarios: ['a', 'b'] },
    ]);
  });
});

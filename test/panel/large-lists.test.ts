import { describe, expect, it } from 'vitest';
import { createOwnInterface } from '../../panel/api/own-interface.js';
import { createServer } from '../../panel/api/server.js';
import { usersIn } from '../../panel/api/user-list.js';
import { partsOf } from '../../panel/state/job-runs.js';
import { sortUsers } from '../../panel/state/key-list.js';
import { createKeyStream } from '../../panel/state/key-stream.js';
import { chosenKeys, countSelection, unseenOf } from '../../panel/state/selection.js';
import { createUsers } from '../../panel/state/users.js';
import { encodeExact } from '../../panel/text/exact-json.js';
import { atOnce, inTurns, type Steps } from '../../panel/text/steps.js';
import { numberFormat } from '../../src/text/number-format.js';
import { createBrowser } from './without-browser.js';

const user = (access_key: string, bytes_down = 0) => ({
  ...{ access_key, name: null, bytes_up: 0, bytes_down },
  ...{ connections: 0, limit_bytes: null, online: false },
});
const NOBODY: ReadonlySet<string> = new Set();

/** A selection that counts how often all of it is gone through. */
class Watched extends Set<string> {
  passes = 0;

  override [Symbol.iterator]() {
    this.passes += 1;
    return super[Symbol.iterator]();
  }
}

it('a selection is counted from the rows alone where they show all of it, and gone through only where they do not', () => {
  const rows = ['a', 'b', 'c'].map((key) => user(key));
  const byKey = new Set(['a', 'b', 'c', 'd']);
  const all = new Watched(['a', 'b', 'c']);
  expect(countSelection(all, rows, byKey, NOBODY)).toEqual({ ticked: 3, there: 3, unseen: 0 });
  expect(all.passes).toBe(0);
  const some = new Watched(['b', 'd', 'gone']);
  expect(countSelection(some, rows, byKey, NOBODY)).toEqual({ ticked: 1, there: 2, unseen: 1 });
  expect(some.passes).toBe(1);
  expect(countSelection(NOBODY, rows, byKey, NOBODY)).toEqual({ ticked: 0, there: 0, unseen: 0 });
});

it('keys on their way out are ticked still, but not chosen', () => {
  const rows = ['a', 'b'].map((key) => user(key));
  const byKey = new Set(['a', 'b', 'c']);
  const selected = new Set(['a', 'b', 'c']);
  const leaving = new Set(['b', 'c']);
  expect(countSelection(selected, rows, byKey, leaving)).toEqual({ ticked: 2, there: 1, unseen: 0 });
  expect(chosenKeys(selected, byKey, leaving)).toEqual(['a']);
  expect([...unseenOf(chosenKeys(selected, byKey, NOBODY), rows)]).toEqual(['c']);
});

it('the map of the keys is the same while counters change, and another one when a key comes or goes', async () => {
  // A hidden tab: no stream is begun, so that each load asks for the changes.
  const { tab, setHidden } = createBrowser().openTab();
  setHidden(true);
  const { access_key, bytes_up, connections, online } = user('a');
  const counted = { access_key, bytes_up, connections, online, bytes_down: 7 };
  const changes = [
    { cursor: '1', keys: [], removed: [] },
    { cursor: '1', keys: [{ ...user('b'), note: 'By phone' }], removed: [] },
    { cursor: '2', keys: [counted], removed: [] },
    { cursor: '3', keys: [user('c')], removed: ['b'] },
  ].values();
  const answer = (data: unknown) => JSON.stringify({ ok: true, data });
  const exchange = async () => ({ text: answer(changes.next().value), headers: new Headers() });
  const users = createUsers({
    server: createServer(async () => ({ text: answer([user('a'), user('b')]), headers: new Headers() })),
    own: createOwnInterface({ exchange, stream: () => expect.fail() }),
    tellsChanges: () => true,
    tellsConfiguration: () => false,
    root: '/',
    tab,
  });
  users.watch();
  await users.load(true);
  const { byKey: first } = users.state.get();
  expect(first.get('b')).toMatchObject({ note: 'By phone' });
  await users.load(true);
  expect(users.state.get().byKey).toBe(first);
  expect(users.state.get().byKey.get('a')).toMatchObject({ bytes_down: 7, limit_bytes: null });
  expect(users.state.get().users?.map(({ bytes_down }) => bytes_down)).toEqual([7, 0]);
  await users.load(true);
  expect(users.state.get().byKey).not.toBe(first);
  expect([...users.state.get().byKey.keys()]).toEqual(['a', 'c']);
  expect(users.state.get().users?.map((known) => known.access_key)).toEqual(['a', 'c']);
});

it('changes that come at once are taken in a task each', async () => {
  const data = JSON.stringify({ cursor: '1', keys: [], removed: [] });
  const own = createOwnInterface({
    exchange: () => expect.fail(),
    async *stream() {
      for (let event = 0; event < 3; event += 1) yield { event: 'change', id: String(event), data };
    },
  });
  let taken = 0;
  let takenInOneTask = 0;
  const stream = createKeyStream(own, createBrowser().openTab().tab, async () => {
    taken += 1;
    if (taken > 1) return;
    for (let turn = 0; turn < 1_000; turn += 1) await Promise.resolve();
    takenInOneTask = taken;
  });
  stream.keep('0');
  await expect.poll(() => taken).toBe(3);
  expect(takenInOneTask).toBe(1);
});

/** The result of steps, and the number of their pauses. */
function counted<T>(steps: Steps<T>): { readonly result: T; readonly pauses: number } {
  for (let pauses = 0; ; pauses += 1) {
    const step = steps.next();
    if (step.done === true) return { result: step.value, pauses };
  }
}

describe('in steps', () => {
  const NAMES = ['},{"access_key":"x"', '},{', '"},{"', '\\"},{"access_key":', '}]', null];
  const many = Array.from({ length: 9_000 }, (_, index) => ({
    ...user(`key-${index}`, (index * 7919) % 1000),
    name: NAMES[index % NAMES.length] ?? null,
    limit_bytes: index === 5_000 ? 18446744073709551615n : null,
  }));
  const answerOf = (data: unknown) => encodeExact({ ok: true, data });

  it('a long list is read as it would be at once', () => {
    const { result, pauses } = counted(usersIn(answerOf(many)));
    expect(result).toEqual(many);
    expect(pauses).toBeGreaterThan(3);
  });

  it('a list in another form is read at once, and what is wrong in one is told by its place', () => {
    const pretty = JSON.stringify({ ok: true, data: many.slice(0, 4_000) }, null, 2);
    expect(counted(usersIn(pretty))).toEqual({ result: many.slice(0, 4_000), pauses: 0 });
    const nested = many.map((each) => ({ ...each, devices: [{ access_key: 'a' }, { access_key: 'b' }] }));
    expect(counted(usersIn(answerOf(nested))).result).toEqual(nested);
    const wrong = many.map((each, index) => (index === 8_000 ? { ...each, online: 'yes' } : each));
    expect(() => atOnce(usersIn(answerOf(wrong)))).toThrow(/data\[8000\]/);
    expect(() => atOnce(usersIn(answerOf(many).slice(0, -9)))).toThrow(/garbled/);
  });

  it('a list is sorted as by one sort, equal values in the order of the list', () => {
    const { result, pauses } = counted(sortUsers(many, { column: 'down', descending: true }));
    const sorted = [...many].sort((a, b) => b.bytes_down - a.bytes_down);
    expect(result.map(({ access_key }) => access_key)).toEqual(sorted.map(({ access_key }) => access_key));
    expect(pauses).toBeGreaterThan(10);
  });

  it('a batch is cut into its jobs', () => {
    const changes = many.map(({ access_key }) => ({ item: { op: 'reset', access_key } as const }));
    const cut = counted(partsOf([...changes, ...changes]));
    expect(cut.result).toEqual([
      { from: 0, count: 10_000 },
      { from: 10_000, count: 8_000 },
    ]);
    expect(cut.pauses).toBeGreaterThan(3);
  });

  it('work is given up when it is not wanted any more', async () => {
    const ended = new AbortController();
    function* endless(): Steps<never> {
      for (let step = 0; ; step += 1) {
        if (step === 3) ended.abort();
        yield;
      }
    }
    expect(await inTurns(endless(), ended.signal)).toBeNull();
  });
});

it('the way that a language writes numbers is made once', () => {
  expect(numberFormat('ru', { style: 'percent' })).toBe(numberFormat('ru', { style: 'percent' }));
  expect(numberFormat('ru').format(1234.5)).toBe('1\u00a0234,5');
  expect(numberFormat('en').format(1234.5)).toBe('1,234.5');
});

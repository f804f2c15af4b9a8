import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DomainError } from '../../../src/core/errors.js';
import { createSharedCreates } from '../../../src/homes/database/shared-creates.js';
import { LEAST_PATIENCE, WRITE_PATIENCE, type Written } from '../../../src/homes/database/writes.js';
import { createKey } from '../../ports/key-changes.js';
import { describeDatabase, freshDatabase, holding, query, waiting } from './database.js';
import { key, openBackend, seesAll } from './gateways.js';

const HEAD = "select from keyway.heads where name = 'state' for update";

const writesOf = (url: string) =>
  query(url, "select count(*)::int as count from keyway.operations where head = 'state' and number > 0");

const DONE: Written = { kind: 'done', operation: '', outcome: 'done', number: 1n, rest: [] };
const refusedWith = (sqlState: string): Written => ({ kind: 'nothing', reason: 'refused', sqlState });

/** The names of what each write creates, with the milliseconds that it has, and how it ends: as it is told. */
function stage() {
  const sent: (readonly string[])[] = [];
  const times: number[] = [];
  const ends: ((written: Written, show?: () => Promise<void>) => void)[] = [];
  const clock = { time: 0, monotonic: () => clock.time };
  const create = createSharedCreates({
    write(keys, { until }) {
      sent.push(keys.map(({ accessKey }) => accessKey));
      times.push(until - clock.time);
      return new Promise((resolve) => ends.push((written, show = async () => undefined) => resolve({ written, show })));
    },
    errorOf: ({ kind }) => new DomainError(kind === 'unknown' ? 'outcomeUnknown' : 'saveFailed'),
    clock,
  });
  const sentAre = async (count: number) => expect.poll(() => sent.length).toBe(count);
  return { sent, times, ends, clock, create, sentAre };
}

/** How each ends: the code of its error, or null. */
const endsOf = async (all: readonly Promise<void>[]) =>
  (await Promise.allSettled(all)).map((one) => (one.status === 'rejected' ? one.reason.code : null));

describe('creates', () => {
  it('that wait while another is on its way share a write, but for two of one key', async () => {
    const { sent, ends, create, sentAre } = stage();
    const first = create(key('a'));
    await sentAre(1);
    const others = Promise.all(['b', 'c', 'b', 'd'].map((name) => create(key(name))));
    for (let n = 0; n < 3; n += 1) {
      await sentAre(n + 1);
      ends[n]?.(DONE);
    }
    await Promise.all([first, others]);
    expect(sent).toEqual([['a'], ['b', 'c'], ['b', 'd']]);
  });

  it('go in writes of so many keys and characters at most, and one that is larger goes by itself', async () => {
    const { sent, ends, create, sentAre } = stage();
    const all = Promise.all([
      ...Array.from({ length: 501 }, (_, n) => create(key(`key-${n}`))),
      create(key('large', 'n'.repeat(300_000))),
      create(key('last')),
    ]);
    for (let n = 0; n < 4; n += 1) {
      await sentAre(n + 1);
      ends[n]?.(DONE);
    }
    await all;
    expect(sent.map(({ length }) => length)).toEqual([500, 1, 1, 1]);
  });

  it('are refused beyond so many that wait, or so many characters of them, and taken again once others have gone', async () => {
    const { ends, create, sentAre } = stage();
    const first = create(key('first'));
    await sentAre(1);
    const large = Array.from({ length: 2 }, (_, n) => create(key(`large-${n}`, 'n'.repeat(9 * 2 ** 20))));
    await expect(large[1]).rejects.toMatchObject({ code: 'saveFailed' });
    const many = Array.from({ length: 9_999 }, (_, n) => create(key(`key-${n}`)));
    await expect(create(key('one-more'))).rejects.toMatchObject({ code: 'saveFailed' });
    ends[0]?.(DONE);
    await sentAre(2);
    const last = create(key('last'));
    for (let n = 1; n <= 22; n += 1) {
      await sentAre(n + 1);
      ends[n]?.(DONE);
      if (n === 21) break;
    }
    await Promise.all([first, large[0], ...many]);
    ends[22]?.(DONE);
    await last;
  });

  it('are told of the write that they shared, and the next one does not wait until it shows', async () => {
    const { sent, ends, create, sentAre } = stage();
    const lost = endsOf([create(key('a')), create(key('b'))]);
    await sentAre(1);
    const shows = create(key('c'));
    ends[0]?.({ kind: 'unknown', reason: 'no answer' });
    expect(await lost).toEqual(['outcomeUnknown', 'outcomeUnknown']);
    await sentAre(2);
    let shown = () => undefined as unknown;
    ends[1]?.(DONE, () => new Promise<void>((resolve) => (shown = resolve)));
    const last = create(key('d'));
    await sentAre(3);
    shown();
    await shows;
    ends[2]?.(DONE);
    await last;
    expect(sent).toEqual([['a', 'b'], ['c'], ['d']]);
  });

  it('that have waited for too long are refused unsent, and the others go at once', async () => {
    const { sent, times, ends, clock, create, sentAre } = stage();
    const first = create(key('a'));
    await sentAre(1);
    const late = create(key('b'));
    clock.time = WRITE_PATIENCE - 2_000;
    const timely = create(key('c'));
    ends[0]?.(DONE);
    await expect(late).rejects.toMatchObject({ code: 'saveFailed' });
    await sentAre(2);
    ends[1]?.(DONE);
    await Promise.all([first, timely]);
    expect(sent).toEqual([['a'], ['c']]);
    expect(times).toEqual([WRITE_PATIENCE, WRITE_PATIENCE]);
  });

  it('have each the time that they would have had alone, though one of them has waited', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { sent, times, ends, clock, create, sentAre } = stage();
    const first = create(key('first'));
    await sentAre(1);
    const elder = create(key('elder'));
    vi.advanceTimersByTime(7_000);
    clock.time = 7_000;
    const others = endsOf([create(key('a')), create(key('b'))]);
    ends[0]?.(DONE);
    await Promise.all([first, sentAre(2)]);
    vi.advanceTimersByTime(WRITE_PATIENCE - clock.time);
    clock.time = WRITE_PATIENCE;
    await expect(elder).rejects.toMatchObject({ code: 'outcomeUnknown' });
    ends[1]?.(refusedWith('55P03'));
    await sentAre(3);
    ends[2]?.(DONE);
    expect(await others).toEqual([null, null]);
    expect(sent.slice(1)).toEqual([
      ['elder', 'a', 'b'],
      ['a', 'b'],
    ]);
    expect(times).toEqual([WRITE_PATIENCE, LEAST_PATIENCE, 7_000]);
  });

  it('are told at the end of their time what is so, also where the write before takes longer, or that of the other half', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { sent, ends, clock, create, sentAre } = stage();
    const pass = (milliseconds: number) => {
      clock.time += milliseconds;
      vi.advanceTimersByTime(milliseconds);
    };
    const halves = endsOf([create(key('a')), create(key('b'))]);
    await sentAre(1);
    const behind = endsOf([create(key('c'))]);
    ends[0]?.(refusedWith('23514'));
    await sentAre(2);
    pass(WRITE_PATIENCE);
    expect(await halves).toEqual(['outcomeUnknown', 'saveFailed']);
    expect(await behind).toEqual(['saveFailed']);
    ends[1]?.(DONE);
    const later = create(key('d'));
    await sentAre(3);
    ends[2]?.(DONE);
    await later;
    expect(sent).toEqual([['a', 'b'], ['a'], ['d']]);
  });

  it('are refused together where the database refuses them for what none of them is the reason of', async () => {
    const { sent, ends, create, sentAre } = stage();
    const refused = endsOf([create(key('a')), create(key('b'))]);
    await sentAre(1);
    ends[0]?.(refusedWith('25006'));
    expect(await refused).toEqual(['saveFailed', 'saveFailed']);
    expect(sent).toHaveLength(1);
  });
});

describeDatabase('creates of a gateway', () => {
  it('that wait for a commit are one commit, show at once, and stand in one order everywhere', async () => {
    const url = await freshDatabase();
    const [one, other] = [await openBackend(url), await openBackend(url)];
    await createKey(one, key('a', 'before'));
    const release = await holding(url, HEAD);
    const first = createKey(one, key('first'));
    await waiting(url, 1);
    const names = ['z', 'a', ...Array.from({ length: 40 }, (_, n) => `key-${n}`)];
    const others = Promise.all(names.map((name) => createKey(one, key(name, `name of ${name}`))));
    // In the turn in which they come all of them wait behind the first.
    await pause(0);
    await release();
    await Promise.all([first, others]);
    expect(await writesOf(url)).toEqual([{ count: 3 }]);
    const order = ['a', 'first', ...names.filter((name) => name !== 'a')];
    expect([...one.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(order);
    expect(one.keys.get('a')).toMatchObject({ name: 'name of a' });
    await seesAll(other);
    expect([...other.keys.entries()].map(({ accessKey }) => accessKey)).toEqual(order);
  });

  it('fail each for itself: the database refuses one of them, and two become the same key there', async () => {
    const url = await freshDatabase();
    const one = await openBackend(url);
    await createKey(one, key('there', 'before'));
    await query(url, "alter table keyway.keys add constraint no_bad check (access_key not like 'bad%')");
    const release = await holding(url, HEAD);
    const first = createKey(one, key('first'));
    await waiting(url, 1);
    const names = ['a', 'bad', 'b', 'there', '\ud800', 'c', '\ud801', 'bad-2', 'd'];
    const ends = endsOf(names.map((name) => createKey(one, key(name, 'new'))));
    await pause(0);
    await release();
    await first;
    expect(await ends).toEqual(names.map((name) => (name.startsWith('bad') ? 'saveFailed' : null)));
    expect(one.keys.get('there')).toMatchObject({ name: 'new' });
    const stand = [...one.keys.entries()].map(({ accessKey }) => accessKey);
    expect(stand).toEqual(['there', 'first', 'a', 'b', '\ufffd', 'c', 'd']);
    expect(await one.problems()).toEqual([]);
  });
});

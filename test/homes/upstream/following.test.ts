import { describe, expect, it } from 'vitest';
import { createKey, deleteKey, updateKey } from '../../ports/key-changes.js';
import { held, key, staged } from './staged.js';

const lists = (calls: readonly string[]): number => calls.filter((call) => call === 'list').length;

describe('keys behind which a running server stands', () => {
  it('keep what was written although a list that was sent before arrives 10 s later', async () => {
    let listTakes = 0;
    const { world, server, backend } = await staged({
      dataFolder: null,
      trip: (call) => (call === 'list' ? { there: 0, back: listTakes } : { there: 1, back: 1 }),
      before: ({ keys }) => keys.set('old', held('old', 1n)),
    });
    listTakes = 10_000;
    await world.pass(2_000);
    const list = Promise.resolve(backend.replica?.freshen());
    await world.pass(10);
    await world.until(createKey(backend, key('new', 5n)));
    await world.until(updateKey(backend, 'old', { limitBytes: 9n }));
    await world.until(list);
    expect(backend.keys.get('new')?.limitBytes).toBe(5n);
    expect(backend.keys.get('old')?.limitBytes).toBe(9n);
    await world.until(deleteKey(backend, 'old'));
    expect(backend.keys.get('old')).toBe(undefined);
    expect(server.keys.has('old')).toBe(false);
    await backend.close();
  });

  it('are not changed by a list whose write is under way', async () => {
    const { world, server, backend } = await staged({
      trip: (call) => (call === 'create' ? { there: 100, back: 5_000 } : { there: 0, back: 10 }),
    });
    await world.pass(2_000);
    const made = createKey(backend, key('a', 7n));
    await world.pass(1_000);
    expect(server.keys.has('a')).toBe(true);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect(backend.keys.get('a')).toBe(undefined);
    await world.until(made);
    expect(backend.keys.get('a')?.limitBytes).toBe(7n);
    await backend.close();
  });

  it('stay in the order in which they were first seen, whatever the order of a list', async () => {
    const { world, server, backend } = await staged({
      before: ({ keys }) => {
        for (const name of ['a', 'b', 'c']) keys.set(name, held(name));
      },
    });
    const seen = backend.keys.ordered().map(({ accessKey }) => accessKey);
    server.keys.set('d', held('d'));
    const reversed = [...server.keys].reverse();
    server.keys.clear();
    for (const [name, one] of reversed) server.keys.set(name, one);
    await world.pass(2_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect(backend.keys.ordered().map(({ accessKey }) => accessKey)).toEqual([...seen, 'd']);
    await backend.close();
  });

  it('are asked for once however many want them, at most every second, and not at all while nobody looks', async () => {
    const { world, server, backend } = await staged({ trip: () => ({ there: 5, back: 5 }) });
    const before = lists(server.calls);
    await world.pass(2_000);
    await world.until(Promise.all(Array.from({ length: 50 }, () => backend.replica?.freshen())));
    expect(lists(server.calls)).toBe(before + 1);
    for (let second = 0; second < 10; second += 1) {
      for (let i = 0; i < 5; i += 1) {
        await world.until(Promise.resolve(backend.replica?.freshen()));
        await world.pass(200);
      }
    }
    expect(lists(server.calls) - before).toBeLessThanOrEqual(12);
    const looked = lists(server.calls);
    await world.pass(600_000);
    expect(lists(server.calls)).toBe(looked);
    await backend.close();
  });

  it('cost a slow server 2 % of its time, and are never older than 30 s', async () => {
    let took = 130;
    const { world, server, backend } = await staged({
      trip: (call) => (call === 'list' ? { there: 0, back: took } : { there: 0, back: 1 }),
    });
    const listsIn = async (milliseconds: number): Promise<number> => {
      const before = lists(server.calls);
      for (let passed = 0; passed < milliseconds; passed += 500) {
        await world.until(Promise.resolve(backend.replica?.freshen()));
        await world.pass(500);
      }
      return lists(server.calls) - before;
    };
    expect(await listsIn(60_000)).toBeLessThanOrEqual(10);
    took = 5_000;
    await listsIn(10_000);
    const slow = await listsIn(120_000);
    expect(slow).toBeGreaterThanOrEqual(3);
    expect(slow).toBeLessThanOrEqual(5);
    await backend.close();
  });

  it('are renewed for a feed reader that waits, as long as it waits', async () => {
    const { world, server, backend } = await staged();
    await world.pass(2_000);
    await backend.replica?.lastKnown(10_000);
    server.keys.set('a', held('a'));
    await world.pass(1_500);
    expect(backend.keys.get('a')).not.toBe(undefined);
    await world.pass(20_000);
    const looked = lists(server.calls);
    await world.pass(60_000);
    expect(lists(server.calls)).toBe(looked);
    await backend.close();
  });

  it('are looked for once a second in all where nobody knows them', async () => {
    const { world, server, backend } = await staged();
    await world.pass(2_000);
    server.keys.set('made-elsewhere', held('made-elsewhere'));
    const found = await world.until(Promise.resolve(backend.replica?.find('made-elsewhere')));
    expect(found?.accessKey).toBe('made-elsewhere');
    const before = server.calls.length;
    for (let i = 0; i < 100; i += 1) {
      await world.until(Promise.resolve(backend.replica?.find(`guess-${i}`)));
      await world.pass(10);
    }
    expect(server.calls.slice(before).filter((call) => call === 'get').length).toBeLessThanOrEqual(2);
    expect(lists(server.calls.slice(before))).toBeLessThanOrEqual(2);
    await backend.close();
  });
});

describe('the status of a running server', () => {
  it('is its own, asked for once a second, and knows what was written here since', async () => {
    const { world, server, backend } = await staged({ before: ({ keys }) => keys.set('a', held('a')) });
    await world.pass(2_000);
    const before = server.calls.length;
    expect(await world.until(Promise.resolve(backend.live?.status()))).toEqual({
      active: 0,
      total: 1,
      uptimeSeconds: 2,
    });
    await world.until(createKey(backend, key('b')));
    expect(await world.until(Promise.resolve(backend.live?.status()))).toMatchObject({ total: 2 });
    for (let i = 0; i < 20; i += 1) await world.until(Promise.resolve(backend.live?.status()));
    expect(server.calls.slice(before).filter((call) => call === 'status')).toHaveLength(1);
    await backend.close();
  });
});

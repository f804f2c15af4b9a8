import { describe, expect, it } from 'vitest';
import { UpstreamError } from '../../../src/client/upstream-error.js';
import { keyDigest } from '../../../src/core/key-digest.js';
import type { AccessKey } from '../../../src/core/model.js';
import { openWriteJournal, WRITE_JOURNAL_FILE } from '../../../src/homes/upstream/write-journal.js';
import { createMemoryFiles } from '../../../src/platform/memory-files.js';
import { keptLog } from '../../client/called-server.js';
import type { FakeServer } from '../../client/fake-server.js';
import { createKey, deleteKey, resetKey, updateKey } from '../../ports/key-changes.js';
import { held, key, LOSSY, type Staged, type StagedOptions, staged } from './staged.js';

const NOT_DONE = { mayHaveHappened: false, retryAfter: 1 };
const MAYBE_DONE = { mayHaveHappened: true, retryAfter: 1 };

describe('a write that a running server has acknowledged', () => {
  it('is made again and logged where a list shows the key exactly as it was before', async () => {
    const { world, server, backend, lines } = await staged({
      ...LOSSY,
      dataFolder: null,
      before: ({ keys }) => keys.set('old', held('old', 1n)),
    });
    await world.pass(2_000);
    await world.until(createKey(backend, key('new', 5n)));
    await world.until(updateKey(backend, 'old', { limitBytes: 2n }));
    await world.until(createKey(backend, key('gone')));
    await world.until(deleteKey(backend, 'gone'));
    server.lose('new');
    server.lose('old');
    server.lose('gone');
    expect([...server.keys.keys()].sort()).toEqual(['gone', 'old']);
    await world.pass(20_000);
    expect([...server.keys.keys()].sort()).toEqual(['new', 'old']);
    expect(server.keys.get('new')?.record.limitBytes).toBe(5n);
    expect(server.keys.get('old')?.record.limitBytes).toBe(2n);
    const said = lines.filter(({ message }) => /had made were lost/.test(message));
    expect(said).toMatchObject([{ count: 3, keys: ['gone', 'old', 'new'].map(keyDigest) }]);
    expect(backend.status()).toMatchObject({ unsettled: 0, madeAgain: 3 });
    await backend.close();
  });

  it('is shown as it should be while it is undone', async () => {
    const { world, server, backend } = await staged(LOSSY);
    await world.pass(2_000);
    await world.until(createKey(backend, key('a', 5n)));
    server.lose('a');
    expect(await world.until(Promise.resolve(backend.live?.key('a')))).toMatchObject({ limitBytes: 5n });
    await world.pass(100);
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    await backend.close();
  });

  it('is made again before the next change, which is made where the server stores neither', async () => {
    const { world, server, backend } = await staged(LOSSY);
    await world.pass(2_000);
    await world.until(createKey(backend, key('a', 5n)));
    server.lose('a');
    server.failsToSave = true;
    await world.until(updateKey(backend, 'a', { limitBytes: 6n }));
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(6n);
    expect(backend.keys.get('a')?.limitBytes).toBe(6n);
    await backend.close();
  });

  it('waits to be settled anew where the server has it again in memory alone', async () => {
    const { world, server, backend } = await staged({ ...LOSSY, dataFolder: null });
    await world.pass(2_000);
    await world.until(createKey(backend, key('a', 5n)));
    await world.pass(6_000);
    server.lose('a');
    server.failsToSave = true;
    await world.pass(2_500);
    expect(server.keys.has('a')).toBe(true);
    // 8.5 s after the first answer, and less than 7 s after the second.
    server.lose('a');
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    await backend.close();
  });

  it('is still made again where the change over it was only taken in memory, and lost with it', async () => {
    const { world, server, backend } = await staged({ ...LOSSY, dataFolder: null });
    await world.pass(2_000);
    await world.until(createKey(backend, key('a', 5n)));
    server.failsToSave = true;
    await expect(world.until(updateKey(backend, 'a', { limitBytes: 6n }))).rejects.toMatchObject({
      code: 'savedInMemory',
    });
    await world.pass(100);
    server.outside({ remove: 'a' });
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(6n);
    await backend.close();
  });

  it('that it has in memory alone is made again where its next reload loses it, however fast it is', async () => {
    const { world, server, backend } = await staged({ dataFolder: null });
    await world.pass(2_000);
    server.failsToSave = true;
    await expect(world.until(createKey(backend, key('a', 5n)))).rejects.toMatchObject({ code: 'savedInMemory' });
    await world.pass(1_000);
    server.outside({ remove: 'a' });
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    await backend.close();
  });

  it('that made a key anew is made again where the server loses what was there before, too', async () => {
    const { world, server, backend } = await staged({
      ...LOSSY,
      dataFolder: null,
      before: ({ keys }) => keys.set('a', held('a', 1n)),
    });
    await world.pass(2_000);
    await world.until(createKey(backend, key('a', 5n)));
    server.outside({ remove: 'a' });
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    await backend.close();
  });

  it.each<[string, (stage: Staged) => Promise<void>, AccessKey | undefined]>([
    ['an update', ({ backend }) => updateKey(backend, 'a', { limitBytes: 5n }), key('a', 5n)],
    ['a deletion', ({ backend }) => deleteKey(backend, 'a'), undefined],
  ])('that is %s over what somebody did since the last list is made again, too', async (_what, change, expected) => {
    for (const before of [(server: FakeServer) => void server.keys.set('a', held('a', 1n)), () => undefined]) {
      const stage = await staged({ ...LOSSY, dataFolder: null, before });
      const { world, server, backend } = stage;
      await world.pass(5_000);
      await world.until(Promise.resolve(backend.replica?.freshen()));
      await world.pass(200);
      server.outside({ put: key('a', 9n) });
      await world.pass(600);
      await world.until(change(stage));
      server.lose('a');
      await world.pass(20_000);
      expect(server.keys.get('a')?.record).toEqual(expected);
      await backend.close();
    }
  });

  it('changes nothing that somebody set since the last list but what it is asked for', async () => {
    const { world, server, backend } = await staged({ before: ({ keys }) => keys.set('a', held('a')) });
    await world.pass(5_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.pass(200);
    server.outside({ put: key('a', 9n) });
    await world.pass(600);
    await world.until(updateKey(backend, 'a', { name: 'Anna' }));
    expect(server.keys.get('a')?.record).toEqual(key('a', 9n, 'Anna'));
    await backend.close();
  });

  it('is made again with one read, and after a failure when the next list shows it', async () => {
    let refuses = false;
    const { world, server, backend } = await staged({
      dataFolder: null,
      trip(call) {
        if (refuses && call === 'create') throw new UpstreamError('upstreamRefused', 'for a test', NOT_DONE);
        return LOSSY.trip(call);
      },
    });
    await world.pass(5_000);
    await world.until(createKey(backend, key('a', 5n)));
    server.lose('a');
    refuses = true;
    const before = server.calls.length;
    await world.pass(20_000);
    expect(server.calls.slice(before).filter((call) => call === 'get').length).toBeLessThan(20);
    refuses = false;
    const refused = server.calls.length;
    await world.pass(5_000);
    expect(server.calls.slice(refused).filter((call) => /get|create/.test(call))).toEqual(['get', 'create']);
    await backend.close();
  });

  it('is shown by the next process until that has made it again, whatever there was before', async () => {
    let back = 40;
    const { world, server, backend, again } = await staged({
      trip: (call) => ({ there: 1, back: /create|limit/.test(call) ? back : 1 }),
      before: ({ keys }) => keys.set('old', held('old', 1n)),
    });
    await world.pass(5_000);
    await world.until(updateKey(backend, 'old', { limitBytes: 2n }));
    await world.until(createKey(backend, key('new', 5n)));
    await world.until(backend.close());
    server.lose('new');
    server.lose('old');
    back = 20_000;
    const second = await again();
    await world.pass(10_000);
    expect(['new', 'old'].map((name) => second.keys.get(name)?.limitBytes)).toEqual([5n, 2n]);
    await world.until(second.close());
  });

  it('is shown by a read that a list overtakes', async () => {
    const { world, server, backend } = await staged({
      trip: (call) => ({ there: 1, back: { create: 40, get: 300 }[call] ?? 50 }),
    });
    await world.pass(5_000);
    await world.until(createKey(backend, key('a', 5n)));
    server.lose('a');
    await world.pass(6_000);
    const seen = Promise.resolve(backend.live?.key('a'));
    await world.pass(100);
    const list = Promise.resolve(backend.replica?.freshen());
    expect(await world.until(seen)).toMatchObject({ limitBytes: 5n });
    await world.until(list);
    await world.until(backend.close());
  });

  it('is not made again over a deletion of which nobody could say whether it was done', async () => {
    let isLost = false;
    const { world, server, backend } = await staged({
      dataFolder: null,
      trip(call) {
        if (isLost && call === 'delete') return { ...LOSSY.trip(call), lost: 'after' };
        // Nobody can ask for it after the deletion.
        if (isLost && !server.keys.has('a')) throw new UpstreamError('upstreamAway', 'for a test', NOT_DONE);
        return LOSSY.trip(call);
      },
      before: ({ keys }) => keys.set('other', held('other')),
    });
    await world.pass(5_000);
    await world.until(createKey(backend, key('a', 5n)));
    isLost = true;
    await expect(world.until(deleteKey(backend, 'a'))).rejects.toMatchObject({ code: 'upstreamAway' });
    expect(server.keys.has('a')).toBe(false);
    isLost = false;
    await world.pass(20_000);
    expect(server.keys.has('a')).toBe(false);
    await backend.close();
  });

  it.each([
    ['a deletion', async ({ backend }: Staged) => deleteKey(backend, 'a'), undefined],
    ['an update', async ({ backend }: Staged) => updateKey(backend, 'a', { limitBytes: 5n }), key('a', 5n)],
  ])('that is %s is made again although a deletion after it was not answered', async (_what, change, expected) => {
    let isLost = false;
    const stage = await staged({
      trip(call) {
        if (isLost && call === 'delete') throw new UpstreamError('upstreamAway', 'for a test', MAYBE_DONE);
        return LOSSY.trip(call);
      },
      before: ({ keys }) => keys.set('a', held('a', 1n)).set('other', held('other')),
    });
    const { world, server, backend, again } = stage;
    await world.pass(5_000);
    await world.until(change(stage));
    isLost = true;
    await expect(world.until(deleteKey(backend, 'a'))).rejects.toMatchObject({ code: 'upstreamAway' });
    isLost = false;
    await world.until(backend.close());
    server.lose('a');
    const second = await again();
    await world.pass(20_000);
    expect(server.keys.get('a')?.record).toEqual(expected);
    await world.until(second.close());
  });

  it('is made again with the next one although the key was read while the server made that', async () => {
    let back = 40;
    const { world, server, backend } = await staged({
      dataFolder: null,
      trip: (call) => ({ there: 1, back: call === 'limit' ? back : 1 }),
      before: ({ keys }) => keys.set('a', held('a', 1n)),
    });
    await world.pass(5_000);
    await world.until(updateKey(backend, 'a', { limitBytes: 2n }));
    back = 300;
    const second = updateKey(backend, 'a', { limitBytes: 3n });
    while (server.keys.get('a')?.record.limitBytes !== 3n) await world.pass(1);
    await world.pass(10);
    await world.until(Promise.resolve(backend.live?.key('a')));
    await world.until(second);
    server.outside({ put: key('a', 1n) });
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(3n);
    await backend.close();
  });

  it('is shown by a read while it is being made again', async () => {
    let there = 1;
    const { world, server, backend } = await staged({
      dataFolder: null,
      trip: (call) => ({ there: call === 'create' ? there : 1, back: call === 'create' ? 40 : 1 }),
    });
    await world.pass(5_000);
    await world.until(createKey(backend, key('a', 5n)));
    server.lose('a');
    there = 1_000;
    await world.pass(1);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.pass(100);
    expect(await world.until(Promise.resolve(backend.live?.key('a')))).toMatchObject({ limitBytes: 5n });
    expect(server.keys.has('a')).toBe(false);
    await world.until(backend.close());
  });

  it('is made again where the server loses it with all 40 before it', async () => {
    const { world, server, backend } = await staged({
      dataFolder: null,
      before: ({ keys }) => keys.set('a', held('a', 1n)),
    });
    await world.pass(5_000);
    for (let limit = 2n; limit <= 42n; limit += 1n) await world.until(updateKey(backend, 'a', { limitBytes: limit }));
    server.outside({ put: key('a', 1n) });
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(42n);
    await backend.close();
  });

  it('is left alone where somebody else has changed the key', async () => {
    const { world, server, backend } = await staged({
      dataFolder: null,
      before: ({ keys }) => keys.set('a', held('a', 1n)),
    });
    await world.pass(2_000);
    await world.until(updateKey(backend, 'a', { limitBytes: 2n }));
    server.outside({ put: key('a', 3n) });
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(3n);
    expect(backend.status()).toMatchObject({ unsettled: 0, madeAgain: 0 });
    expect(backend.keys.get('a')?.limitBytes).toBe(3n);
    await backend.close();
  });

  it('is settled with a list that was sent 7 s later, after which the same change is somebody else’s', async () => {
    const { world, server, backend } = await staged();
    await world.pass(2_000);
    await world.until(createKey(backend, key('a')));
    await world.pass(6_900);
    expect(backend.status().unsettled).toBe(1);
    await world.pass(1_500);
    expect(backend.status().unsettled).toBe(0);
    // The last look while it waited comes within 5 s.
    await world.pass(5_000);
    const settled = server.calls.length;
    server.outside({ remove: 'a' });
    await world.pass(60_000);
    expect(server.calls).toHaveLength(settled);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect(backend.keys.get('a')).toBe(undefined);
    expect(server.keys.has('a')).toBe(false);
    await backend.close();
  });

  it('of a Keyway that was away for longer than ten minutes is left as it is found', async () => {
    const { world, server, again } = await staged();
    const first = await again();
    await world.until(createKey(first, key('a', 7n)));
    server.outside({ remove: 'a' });
    await first.close();
    await world.pass(601_000);
    const second = await again();
    await world.pass(15_000);
    expect(server.keys.has('a')).toBe(false);
    await second.close();
  });

  it('is given up with an error where somebody undoes it again and again', async () => {
    const { world, server, backend, logged } = await staged(LOSSY);
    await world.pass(2_000);
    await world.until(createKey(backend, key('a')));
    for (let i = 0; i < 40; i += 1) {
      server.outside({ remove: 'a' });
      await world.pass(4_000);
    }
    expect(server.keys.has('a')).toBe(false);
    expect(logged.filter((message) => /given up/.test(message))).toHaveLength(1);
    await backend.close();
  });

  it('is changed by the next write as it should be, although the server has lost it', async () => {
    const { world, server, backend } = await staged({ ...LOSSY, dataFolder: null });
    await world.pass(2_000);
    await world.until(createKey(backend, key('a', 1n, 'n')));
    server.lose('a');
    await world.pass(1);
    await world.until(updateKey(backend, 'a', { limitBytes: 2n }));
    expect(server.keys.get('a')?.record).toEqual(key('a', 2n, 'n'));
    await world.until(backend.close());
  });

  it('that changed what somebody else had just changed is undone to that', async () => {
    const { world, server, backend } = await staged({ dataFolder: null });
    await world.pass(5_000);
    server.outside({ put: key('a', 1n) });
    await world.until(updateKey(backend, 'a', { limitBytes: 2n }));
    server.lose('a');
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(2n);
    await backend.close();
  });
});

describe('a key that was just made and is gone from the server', () => {
  const MADE = key('secret-key', 5n, 'Anna');

  /** A key that was made and is gone, as often as asked. */
  async function gone(options: StagedOptions = {}, happens: (staging: Staged) => void = () => undefined) {
    const staging = await staged(options);
    const { world, server, backend } = staging;
    await world.pass(5_000);
    await world.until(createKey(backend, MADE));
    await world.pass(500);
    happens(staging);
    server.outside({ remove: MADE.accessKey });
    await world.pass(20_000);
    return { ...staging, isThere: () => server.keys.has(MADE.accessKey) };
  }

  it('was deleted there by somebody: it stays so, is counted, and is named in one line of the log', async () => {
    const { backend, lines, isThere } = await gone();
    expect(isThere()).toBe(false);
    expect(backend.keys.get(MADE.accessKey)).toBe(undefined);
    expect(backend.status()).toMatchObject({ left: 1, madeAgain: 0, unsettled: 0 });
    expect(lines.filter(({ message }) => /deleted at the server/.test(message))).toMatchObject([{ key: 'Anna' }]);
    expect(JSON.stringify(lines)).not.toContain(MADE.accessKey);
    await backend.close();
  });

  it('is made again where the server was started anew since', async () => {
    const { backend, isThere } = await gone({}, ({ server, world }) => {
      server.startedAt = world.clock.monotonic();
    });
    expect([isThere(), backend.status()]).toMatchObject([true, { left: 0, madeAgain: 1, unsettled: 0 }]);
    await backend.close();
  });

  it('is made again where the server was away since', async () => {
    const { backend, isThere } = await gone({}, ({ server }) => {
      server.becomes('away');
      server.becomes('there');
    });
    expect([isThere(), backend.status()]).toMatchObject([true, { left: 0, madeAgain: 1 }]);
    await backend.close();
  });

  it.each([
    [20, 0],
    [21, 1],
  ])('is made again where half of the last ten writes took more than 20 ms: %i ms, %i times', async (milliseconds, times) => {
    const trip = (call: string) => ({ there: 1, back: call === 'create' ? milliseconds - 1 : 1 });
    const { backend, isThere } = await gone({ trip });
    expect([isThere(), backend.status()]).toMatchObject([times === 1, { left: 1 - times, madeAgain: times }]);
    await backend.close();
  });

  it('is made again by a slow server whose counters were reset ten times since: that stores nothing', async () => {
    const slow = { there: 1, back: 40 };
    const { world, server, backend } = await staged({
      trip: (call) => (call === 'create' ? slow : { there: 1, back: 1 }),
    });
    await world.pass(5_000);
    for (let n = 0; n < 10; n += 1) await world.until(createKey(backend, key(`k${n}`)));
    for (let n = 0; n < 10; n += 1) await world.until(resetKey(backend, 'k0'));
    await world.until(createKey(backend, MADE));
    server.lose(MADE.accessKey);
    await world.pass(20_000);
    expect([server.keys.has(MADE.accessKey), backend.status()]).toMatchObject([true, { left: 0, madeAgain: 1 }]);
    await backend.close();
  });

  it.each([
    [2, false],
    [40, true],
  ])('of a Keyway that was killed is judged by how slow the server was then: %i ms, %s', async (back, isMadeAgain) => {
    const { world, server, backend, again } = await staged({
      trip: (call) => ({ there: 1, back: call === 'create' ? back : 1 }),
    });
    await world.pass(5_000);
    await world.until(createKey(backend, MADE));
    // One that went on would judge by its own writes.
    await world.until(backend.close());
    server.outside({ remove: MADE.accessKey });
    const second = await again();
    await world.pass(20_000);
    expect([server.keys.has(MADE.accessKey), second.status().unsettled]).toEqual([isMadeAgain, 0]);
    await second.close();
  });

  it('of a Keyway that was killed is settled 7 s after the next one started, which cannot know when it was made again last', async () => {
    const { world, server, backend, again } = await staged(LOSSY);
    await world.pass(5_000);
    await world.until(createKey(backend, MADE));
    await world.until(backend.close());
    await world.pass(10_000);
    const second = await again();
    await world.pass(5_000);
    server.outside({ remove: MADE.accessKey });
    await world.pass(20_000);
    expect([server.keys.has(MADE.accessKey), second.status().unsettled]).toEqual([true, 0]);
    await second.close();
  });

  it('and was made in bulk is made again: its answer does not say that the server saved it', async () => {
    const { world, server, backend } = await staged();
    await world.pass(5_000);
    const [made = ''] = await world.until(backend.createBareKeys([key('x', 5n)]));
    await world.pass(1_000);
    server.outside({ remove: made });
    await world.pass(20_000);
    expect([server.keys.get(made)?.record.limitBytes, backend.status().madeAgain]).toEqual([5n, 1]);
    await backend.close();
  });

  it('one of many is named in one line for all of them', async () => {
    const { world, server, backend, lines } = await staged();
    await world.pass(5_000);
    for (let n = 0; n < 30; n += 1) await world.until(createKey(backend, key(`k${n}`, null, `Key ${n}`)));
    for (let n = 0; n < 30; n += 1) server.outside({ remove: `k${n}` });
    await world.pass(20_000);
    expect(lines.filter(({ message }) => /deleted at the server/.test(message))).toMatchObject([
      { count: 30, keys: Array.from({ length: 10 }, (_, n) => `Key ${n}`) },
    ]);
    expect(backend.status()).toMatchObject({ left: 30, unsettled: 0 });
    await backend.close();
  });

  it('and comes back after it was deleted is deleted again, whatever the server', async () => {
    const { world, server, backend } = await staged({
      dataFolder: null,
      before: ({ keys }) => keys.set('a', held('a', 1n)),
    });
    await world.pass(5_000);
    await world.until(deleteKey(backend, 'a'));
    server.outside({ put: key('a', 1n) });
    await world.pass(20_000);
    expect([server.keys.has('a'), backend.status().madeAgain]).toEqual([false, 1]);
    await backend.close();
  });

  it('is not named by a name that tells the key', async () => {
    const { world, server, backend, lines } = await staged();
    await world.pass(5_000);
    await world.until(createKey(backend, key('telling', null, 'is telling')));
    server.outside({ remove: 'telling' });
    await world.pass(20_000);
    expect(lines.filter(({ message }) => /deleted at the server/.test(message))).toMatchObject([
      { key: keyDigest('telling') },
    ]);
    await backend.close();
  });
});

describe('a name on a line whose lists tell none', () => {
  /** A server that stores its keys in its configuration with every write, as those lines do. */
  async function named(options: StagedOptions = { dataFolder: null }) {
    const staging = await staged({
      ...options,
      revision: 'earliest',
      before(server) {
        server.keys.set('a', held('a', 1n, 'first'));
        server.onWrite = () => store(server);
        store(server);
      },
    });
    await staging.world.pass(2_000);
    return staging;
  }

  function store(server: FakeServer): void {
    const listed = [...server.keys.values()].map(({ record: { accessKey, name, limitBytes } }) => ({
      access_key: accessKey,
      name,
      limit_bytes: limitBytes === null ? null : Number(limitBytes),
    }));
    server.configuration = JSON.stringify({ mode: 'server', access_keys: listed });
  }

  const callsOf = (server: FakeServer, name: string) => server.calls.filter((call) => call === name).length;

  it('that somebody gave, and nobody has read yet, stays where a limit is made again', async () => {
    const { world, server, backend } = await named();
    await world.pass(20_000);
    server.outside({ put: key('b', 1n, 'theirs') });
    store(server);
    await world.until(updateKey(backend, 'b', { limitBytes: 2n }));
    server.lose('b');
    store(server);
    await world.pass(30_000);
    expect(server.keys.get('b')?.record).toEqual(key('b', 2n, 'theirs'));
    await backend.close();
  });

  it('that was changed alone and lost is made again once the configuration is read 7 s later', async () => {
    const { world, server, backend, logged } = await named();
    await world.until(updateKey(backend, 'a', { name: 'second', limitBytes: 1n }));
    server.lose('a');
    store(server);
    await world.pass(6_900);
    expect([server.keys.get('a')?.record.name, backend.keys.get('a')?.name]).toEqual(['first', 'second']);
    await world.pass(2_000);
    expect([server.keys.get('a')?.record.name, backend.keys.get('a')?.name]).toEqual(['second', 'second']);
    await world.pass(20_000);
    expect(logged.filter((message) => /had made was lost/.test(message))).toHaveLength(1);
    expect(backend.status()).toMatchObject({ unsettled: 0, madeAgain: 1 });
    await backend.close();
  });

  it('that was lost before a change of the limit is made again with that', async () => {
    const { world, server, backend } = await named();
    await world.until(updateKey(backend, 'a', { name: 'second', limitBytes: 1n }));
    server.lose('a');
    await world.until(updateKey(backend, 'a', { limitBytes: 2n }));
    expect(server.keys.get('a')?.record).toEqual(key('a', 2n, 'first'));
    await world.pass(20_000);
    expect(server.keys.get('a')?.record).toEqual(key('a', 2n, 'second'));
    expect(backend.status()).toMatchObject({ unsettled: 0, madeAgain: 1 });
    await backend.close();
  });

  it('that is there is settled by the configuration, asked for no more often than the list and once for all that wait', async () => {
    const { world, server, backend } = await named();
    for (let i = 0; i < 20; i += 1) {
      await world.until(createKey(backend, key(`b${i}`, null, 'of b')));
      await world.until(updateKey(backend, `b${i}`, { name: 'other', limitBytes: null }));
    }
    const asked = callsOf(server, 'getConfig');
    await world.pass(6_000);
    expect([backend.status().unsettled, callsOf(server, 'getConfig')]).toEqual([20, asked]);
    await world.pass(3_000);
    expect(backend.status()).toMatchObject({ unsettled: 0, madeAgain: 0 });
    // What was answered a moment after the first is seen by the next one.
    expect(callsOf(server, 'getConfig')).toBe(asked + 2);
    expect(callsOf(server, 'getConfig')).toBeLessThanOrEqual(callsOf(server, 'list'));
    await backend.close();
  });

  it('that somebody else has changed since stays as they want it', async () => {
    const { world, server, backend } = await named();
    await world.until(updateKey(backend, 'a', { name: 'second', limitBytes: 1n }));
    server.outside({ put: key('a', 1n, 'theirs') });
    store(server);
    await world.pass(20_000);
    expect([server.keys.get('a')?.record.name, backend.keys.get('a')?.name]).toEqual(['theirs', 'theirs']);
    expect(backend.status()).toMatchObject({ unsettled: 0, madeAgain: 0 });
    await backend.close();
  });

  it('is given up with an error where somebody undoes it again and again', async () => {
    const { world, server, backend, logged } = await named();
    await world.until(updateKey(backend, 'a', { name: 'second', limitBytes: 1n }));
    for (let i = 0; i < 40; i += 1) {
      server.outside({ put: key('a', 1n, 'first') });
      store(server);
      await world.pass(4_000);
    }
    expect(logged.filter((message) => /given up/.test(message))).toHaveLength(1);
    expect([server.keys.get('a')?.record.name, backend.keys.get('a')?.name]).toEqual(['first', 'first']);
    await backend.close();
  });

  it('waits no more after 14 s where the server has no configuration that can be read', async () => {
    const { world, server, backend } = await named();
    await world.until(updateKey(backend, 'a', { name: 'second', limitBytes: 1n }));
    server.configuration = '';
    await world.pass(12_000);
    expect(backend.status().unsettled).toBe(1);
    await world.pass(6_000);
    expect(backend.status()).toMatchObject({ unsettled: 0, madeAgain: 0 });
    await backend.close();
  });

  it('outlives a Keyway that is killed', async () => {
    const { world, server, backend, again } = await named({});
    // What is kept before the change takes no time of the test's then.
    await world.until(backend.document?.keepVersion() ?? Promise.resolve());
    await world.until(updateKey(backend, 'a', { name: 'second', limitBytes: 1n }));
    server.lose('a');
    store(server);
    const second = await again();
    expect(second.keys.get('a')?.name).toBe('second');
    await world.pass(15_000);
    expect([server.keys.get('a')?.record.name, second.keys.get('a')?.name]).toEqual(['second', 'second']);
    await second.close();
  });
});

describe('a write to a server with one session, which somebody else has taken', () => {
  const staging = () => staged({ revision: 'dns', hasOneSession: true });

  it('is looked for with a session of its own when it is due, and made again', async () => {
    const { world, server, backend } = await staging();
    await world.until(createKey(backend, key('a', 5n)));
    server.lose('a');
    server.signsIn();
    const calls = server.calls.length;
    await world.pass(6_000);
    expect(server.calls).toHaveLength(calls);
    await world.pass(20_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    expect(backend.status()).toMatchObject({ unsettled: 0, madeAgain: 1 });
    await backend.close();
  });

  it('is found although they keep taking it, by one session each time that is waited for twice as long', async () => {
    const { world, server, backend } = await staging();
    await world.until(createKey(backend, key('a', 5n)));
    server.lose('a');
    let begun = 0;
    let theirs = server.signsIn();
    for (let second = 0; second < 600; second += 1) {
      await world.pass(1_000);
      const next = server.signsIn();
      if (numberOf(next) > numberOf(theirs) + 1) begun += 1;
      theirs = next;
    }
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    expect(backend.status().unsettled).toBe(0);
    expect(begun).toBeLessThanOrEqual(4);
    await backend.close();
  });

  it('and that is settled takes no session back: nobody looks, and a poll may not', async () => {
    const { world, server, backend } = await staging();
    await world.until(createKey(backend, key('a', 5n)));
    await world.pass(10_000);
    expect(backend.status().unsettled).toBe(0);
    const theirs = server.signsIn();
    for (let minute = 0; minute < 20; minute += 1) {
      await world.until(Promise.resolve(backend.replica?.lastKnown(60_000)));
      await world.pass(60_000);
    }
    expect(numberOf(server.signsIn())).toBe(numberOf(theirs) + 1);
    await backend.close();
  });
});

const numberOf = (session: string): number => Number(session.replace('session ', ''));

describe('a write whose answer is lost', () => {
  const losing = (call: string, lost: 'before' | 'after') => {
    const trip: { lost?: 'before' | 'after' } = {};
    return {
      trip: (asked: string) => ({ there: 1, back: 1, ...(asked === call ? trip : {}) }),
      lose: () => Object.assign(trip, { lost }),
    };
  };

  it('is answered as done where a read shows it, and is sent once', async () => {
    const { trip, lose } = losing('create', 'after');
    const { world, server, backend } = await staged({ trip });
    lose();
    await world.until(createKey(backend, key('a', 5n)));
    expect(server.calls.filter((call) => call === 'create')).toHaveLength(1);
    expect(backend.keys.get('a')?.limitBytes).toBe(5n);
    await backend.close();
  });

  it('and of which nothing can be read fails, and no list of the next 7 s decides what the key is', async () => {
    const { trip, lose } = losing('delete', 'after');
    const { world, server, backend } = await staged({
      trip,
      dataFolder: null,
      before: ({ keys }) => keys.set('a', held('a')).set('b', held('b')),
    });
    await world.pass(2_000);
    lose();
    const deleted = deleteKey(backend, 'a').catch((error: unknown) => error);
    await world.pass(3);
    server.becomes('away');
    expect(await world.until(deleted)).toMatchObject({ code: 'upstreamAway' });
    server.becomes('there');
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect(backend.keys.get('a')).not.toBe(undefined);
    await world.pass(8_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect(backend.keys.get('a')).toBe(undefined);
    await backend.close();
  });

  it('and that never arrived is told as the failure it is', async () => {
    const { trip, lose } = losing('create', 'before');
    const { world, server, backend } = await staged({ trip });
    lose();
    await expect(world.until(createKey(backend, key('a')))).rejects.toMatchObject({ code: 'upstreamAway' });
    expect([server.keys.size, backend.keys.size]).toEqual([0, 0]);
    await backend.close();
  });
});

it('stands in the journal in the words of every earlier Keyway, which is read and written in them', async () => {
  const place = `/data/${WRITE_JOURNAL_FILE}`;
  const old = '{"key":"old","after":{"name":"Old","limit":1},"formers":[null],"at":1760000000001}';
  const deleted =
    '{"key":"b","after":null,"formers":[{"name":"B","limit":18446744073709551615},null],"slow":false,"at":1760000000003}';
  const lines = [
    '{"key":"gone","after":null,"formers":[{"name":null,"limit":null}],"slow":false,"at":1760000000000}',
    old,
    '{"key":"gone","settled":true}',
    deleted,
    '{"key":"torn","aft',
  ];
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/data', 0o700);
  await fileSystem.create(place, Buffer.from(lines.join('\n')), 0o600);
  const journal = await openWriteJournal({ fileSystem, folder: '/data', log: keptLog() });
  const noted = { previousStates: [key('b', 2n ** 64n - 1n, 'B'), null], isUnsafe: false, at: 1_760_000_000_003 };
  expect(journal.found).toEqual([
    { accessKey: 'old', after: key('old', 1n, 'Old'), previousStates: [null], isUnsafe: true, at: 1_760_000_000_001 },
    { accessKey: 'b', after: null, ...noted },
  ]);
  await journal.keep([{ accessKey: 'b', after: null, ...noted }]);
  await journal.close();
  const written = (await fileSystem.read(place, 1_000_000)).toString();
  expect(written).toBe(`${old.replace(',"at"', ',"slow":true,"at"')}\n${deleted}\n`);
});

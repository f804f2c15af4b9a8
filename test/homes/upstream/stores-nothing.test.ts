import { describe, expect, it } from 'vitest';
import { createKey, deleteKey, updateKey } from '../../ports/key-changes.js';
import { held, key, LOSSY, staged } from './staged.js';

/** A server of the oldest lines: what its API changes is in its memory alone, and its file has `old` and `other`. */
async function forgetful(revision: string) {
  const stage = await staged({ revision, before: fromFile });
  const { server, world } = stage;
  return {
    ...stage,
    restart() {
      fromFile(server);
      server.startedAt = world.clock.monotonic();
    },
  };
}

function fromFile({ keys }: Awaited<ReturnType<typeof staged>>['server']): void {
  keys.clear();
  for (const accessKey of ['old', 'other']) keys.set(accessKey, held(accessKey));
}

const HOUR = 3_600_000;

describe.each(['0.2.0', '0.2.25'])('keys of a server of %s, which stores nothing that its API changes', (revision) => {
  it('are made, limited and deleted again whenever it has been started anew, also long after they were changed', async () => {
    const { world, server, backend, restart, logged } = await forgetful(revision);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.until(createKey(backend, key('made', 5n, 'Anna')));
    await world.until(updateKey(backend, 'other', { limitBytes: 7n }));
    await world.until(deleteKey(backend, 'old'));
    for (let start = 0; start < 2; start += 1) {
      await world.pass(HOUR);
      restart();
      await world.pass(60_000);
      expect([...server.keys.keys()].toSorted()).toEqual(['made', 'other']);
      expect(server.keys.get('made')?.record).toEqual(key('made', 5n, 'Anna'));
      expect(server.keys.get('other')?.record.limitBytes).toBe(7n);
    }
    expect(logged.filter((message) => /had made were lost .* made again/.test(message))).toHaveLength(2);
    expect(logged.filter((message) => /not stored for the next start/.test(message))).toEqual([]);
    expect(server.calls).not.toContain('getConfig');
    await backend.close();
  });

  it('are made again by a Keyway that was started after both were gone', async () => {
    const { world, server, backend, again, restart } = await forgetful(revision);
    await world.until(createKey(backend, key('made', 5n)));
    await world.pass(HOUR);
    restart();
    const second = await again();
    await world.pass(60_000);
    expect(server.keys.get('made')?.record.limitBytes).toBe(5n);
    await second.close();
    await backend.close();
  });

  it.each([
    'limited',
    'deleted',
  ])('that somebody changes back there after they were %s stay so, until a start undoes others', async (how) => {
    const { world, server, backend, restart } = await forgetful(revision);
    await world.pass(2_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    if (how === 'limited') await world.until(updateKey(backend, 'old', { limitBytes: 5n }));
    else await world.until(deleteKey(backend, 'old'));
    await world.until(updateKey(backend, 'other', { limitBytes: 7n }));
    await world.pass(HOUR);
    server.keys.set('old', held('old'));
    await world.pass(60_000);
    expect(server.keys.get('old')?.record.limitBytes).toBe(null);
    for (let start = 0; start < 12; start += 1) {
      restart();
      await world.pass(60_000);
      expect([...server.keys.values()].map(({ record }) => record)).toEqual([key('old'), key('other', 7n)]);
    }
    await backend.close();
  });

  it('are what they were made here, too, where somebody else had changed or made them before', async () => {
    const { world, server, backend, restart } = await forgetful(revision);
    await world.pass(5_000);
    server.outside({ put: key('old', 9n) });
    server.outside({ put: key('other', 9n) });
    server.outside({ put: key('theirs', 9n) });
    await world.pass(60_000);
    await world.until(deleteKey(backend, 'old'));
    await world.until(updateKey(backend, 'other', { limitBytes: 5n }));
    await world.until(updateKey(backend, 'theirs', { limitBytes: 6n }));
    await world.pass(HOUR);
    restart();
    await world.pass(120_000);
    expect([...server.keys.values()].map(({ record }) => record)).toEqual([key('other', 5n), key('theirs', 6n)]);
    await backend.close();
  });

  it.each([
    60_000,
    HOUR,
  ])('that somebody deletes while no Keyway runs, %i ms after they were made, stay deleted', async (wait) => {
    const { world, server, backend, again } = await staged({ revision, ...LOSSY, before: fromFile });
    await world.pass(5_000);
    await world.until(createKey(backend, key('made', 5n)));
    await world.pass(wait);
    await world.until(backend.close());
    server.outside({ remove: 'made' });
    await world.pass(10_000);
    const second = await again();
    await world.pass(120_000);
    expect([...server.keys.keys()]).toEqual(['old', 'other']);
    await second.close();
  });

  it('that somebody takes out of its file stay deleted, although they were changed here', async () => {
    const { world, server, backend, restart } = await forgetful(revision);
    await world.pass(5_000);
    await world.until(updateKey(backend, 'old', { limitBytes: 5n }));
    await world.until(updateKey(backend, 'old', { limitBytes: 6n }));
    await world.pass(HOUR);
    restart();
    server.outside({ remove: 'old' });
    await world.pass(120_000);
    expect([...server.keys.keys()]).toEqual(['other']);
    await backend.close();
  });

  it('that somebody deletes again and again are given up', async () => {
    const { world, server, backend, logged } = await staged({ revision, ...LOSSY });
    await world.pass(2_000);
    await world.until(createKey(backend, key('made')));
    for (let i = 0; i < 40; i += 1) {
      server.outside({ remove: 'made' });
      await world.pass(4_000);
    }
    expect(server.keys.has('made')).toBe(false);
    expect(logged.filter((message) => /given up/.test(message))).toHaveLength(1);
    await backend.close();
  });

  it('that somebody deletes there while it runs stay deleted', async () => {
    const { world, server, backend, logged } = await forgetful(revision);
    await world.pass(2_000);
    await world.until(createKey(backend, key('made')));
    await world.pass(HOUR);
    server.keys.delete('made');
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.pass(60_000);
    expect(logged).toEqual(['a key that was just made here was deleted at the server, and stays so']);
    expect([...server.keys.keys()]).toEqual(['old', 'other']);
    await backend.close();
  });
});

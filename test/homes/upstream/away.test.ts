import { describe, expect, it } from 'vitest';
import { createKey, deleteKey } from '../../ports/key-changes.js';
import { held, key, line, type Staged, staged } from './staged.js';

const two = (server: { keys: Map<string, unknown> }): void => {
  server.keys.set('a', held('a', 5n));
  server.keys.set('b', held('b'));
};

describe('while a running server is away', () => {
  it('lists, single keys, the status and writes fail, and say so', async () => {
    const { world, server, backend } = await staged({ dataFolder: null, before: two });
    await world.pass(2_000);
    server.becomes('away');
    const asked = [
      () => backend.replica?.freshen(),
      () => backend.live?.key('a'),
      () => backend.live?.status(),
      () => createKey(backend, key('c')),
      () => deleteKey(backend, 'a'),
    ];
    for (const ask of asked) {
      await expect(world.until((async () => ask())())).rejects.toMatchObject({ code: 'upstreamAway' });
    }
    expect(backend.keys.size).toBe(2);
    await backend.close();
  });

  it('subscriptions and the feed go on from what was last known, for a day', async () => {
    const { world, server, backend } = await staged({ before: two });
    server.becomes('away');
    await world.pass(86_300_000);
    expect((await world.until(Promise.resolve(backend.replica?.find('a'))))?.limitBytes).toBe(5n);
    await world.until(Promise.resolve(backend.replica?.lastKnown()));
    await world.pass(200_000);
    await expect(world.until((async () => backend.replica?.find('a'))())).rejects.toMatchObject({
      code: 'upstreamAway',
    });
    await backend.close();
  });

  it('the health names it, and no longer once it is back, which is noticed with nobody looking', async () => {
    const { world, server, backend } = await staged({ before: ({ keys }) => keys.set('a', held('a')) });
    expect(await backend.problems()).toEqual([]);
    await world.pass(10);
    server.becomes('away');
    expect(await backend.problems()).toMatchObject([
      {
        problem: 'upstream_away',
        reason: 'http://127.0.0.1:9090, connection, since 2023-11-14T22:13:20.000Z: for a test',
      },
    ]);
    const before = server.calls.length;
    await world.pass(20_000);
    server.becomes('there');
    await world.pass(6_000);
    expect(server.calls.slice(before)).toEqual(['status']);
    expect(await backend.problems()).toEqual([]);
    await world.pass(60_000);
    expect(server.calls.slice(before)).toEqual(['status']);
    await backend.close();
  });

  it.each([
    [
      'health or metrics were asked for within a minute',
      'current',
      (one: Staged) => one.backend.replica?.watch(60_000),
    ],
    [
      'a feed reader, a stream or a webhook waits',
      'current',
      (one: Staged) => void one.backend.replica?.lastKnown(60_000),
    ],
    // Such a server starts with none of them: they stay pending.
    ['a write is to be settled', '0.2.0', ({ world, backend }: Staged) => world.until(createKey(backend, key('c')))],
  ])('nobody asks: one that dies is found within 5 s while %s', async (_, revision, depend) => {
    // Its lists are so slow that they come every 30 s.
    const trip = (call: string) => ({ there: 1, back: call === 'list' ? 2_000 : 1 });
    const one = await staged({ revision, before: two, trip });
    const { world, server, backend } = one;
    await world.pass(60_000);
    await depend(one);
    await world.pass(40_000);
    server.becomes('dead');
    expect(await backend.problems()).toEqual([]);
    await world.pass(5_010);
    expect(await backend.problems()).toMatchObject([{ problem: 'upstream_away' }]);
    server.becomes('there');
    await world.pass(5_010);
    expect(await backend.problems()).toEqual([]);
    await world.until(backend.close());
  });

  it('nobody depends on it: nothing is asked of the server', async () => {
    const { world, server, backend } = await staged({ before: two });
    backend.replica?.watch(60_000);
    await world.pass(70_000);
    const before = server.calls.length;
    for (let minute = 0; minute < 60; minute += 1) {
      await world.pass(60_000);
      await backend.problems();
    }
    expect(server.calls.slice(before)).toEqual([]);
    await backend.close();
  });

  it('a list is asked for at most every second, however many want one', async () => {
    let asked = 0;
    const { world, server, backend } = await staged({
      trip: (call) => {
        if (call === 'list') asked += 1;
        return { there: 1, back: 1 };
      },
    });
    await world.pass(2_000);
    server.becomes('away');
    asked = 0;
    for (let i = 0; i < 100; i += 1) {
      await world.until((async () => backend.replica?.freshen())().catch(() => undefined));
      await world.pass(50);
    }
    expect(asked).toBeLessThanOrEqual(6);
    await backend.close();
  });

  it('from the start, it is served as soon as it is there', async () => {
    const { world, server, backend } = await staged({
      before(server) {
        two(server);
        server.becomes('away');
      },
    });
    expect(backend.keys.size).toBe(0);
    await expect(world.until((async () => backend.replica?.find('a'))())).rejects.toMatchObject({
      code: 'upstreamAway',
    });
    server.becomes('there');
    await world.pass(6_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect(backend.keys.size).toBe(2);
    expect((await world.until(Promise.resolve(backend.replica?.find('a'))))?.limitBytes).toBe(5n);
    expect(backend.settings().announced).toMatchObject({ host: 'vpn.example', shareQuery: '?x=1' });
    await backend.close();
  });
});

describe('lists of a server that is away', () => {
  it.each([
    [true, 40],
    [false, null],
  ])('are those last known where that is asked for (%s), with their age and a word in the health', async (servesStale, age) => {
    const { world, server, backend } = await staged({ before: two, servesStale });
    await world.pass(2_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect(backend.replica?.stale()).toBe(null);
    server.becomes('away');
    await world.pass(40_000);
    const listed = world.until((async () => backend.replica?.freshen())());
    await (servesStale ? listed : expect(listed).rejects.toMatchObject({ code: 'upstreamAway' }));
    const stale = backend.replica?.stale() ?? null;
    expect(stale === null ? null : Math.round(stale / 1000)).toBe(age);
    const problems = (await backend.problems()).map(({ problem }) => problem);
    expect(problems).toEqual(['upstream_away', ...(servesStale ? ['stale'] : [])]);
    server.becomes('there');
    await world.pass(6_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect([backend.replica?.stale(), await backend.problems()]).toEqual([null, []]);
    await backend.close();
  });

  it('are given out for a day, and then no longer, whatever the settings', async () => {
    const { world, server, backend } = await staged({ before: two, servesStale: true });
    await world.pass(2_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    server.becomes('away');
    const listed = () => world.until((async () => backend.replica?.freshen())());
    await world.pass(86_000_000);
    await listed();
    await world.pass(600_000);
    await expect(listed()).rejects.toMatchObject({ code: 'upstreamAway' });
    expect(backend.replica?.stale()).toBe(null);
    await backend.close();
  });
});

describe('a server that takes no sign-in at the start of Keyway', () => {
  it('is waited for, while Keyway serves and says so once, and is served when it takes one', async () => {
    const { world, server, backend, logged } = await staged({
      before(server) {
        two(server);
        server.becomes('busy');
      },
    });
    expect(await backend.problems()).toMatchObject([{ problem: 'upstream_refused' }]);
    await world.pass(60_000);
    expect(logged.filter((line) => line.includes('the server has not answered since Keyway started'))).toHaveLength(1);
    server.becomes('there');
    await world.pass(6_000);
    expect([backend.keys.size, await backend.problems()]).toEqual([2, []]);
    await backend.close();
  });
});

describe('while somebody else holds the one session of a server', () => {
  it('reads come from what was last known, and writes fail', async () => {
    const { world, server, backend } = await staged({ revision: 'dns', before: two });
    await world.pass(2_000);
    await world.until(Promise.resolve(backend.live?.status()));
    server.becomes('refused');
    await world.pass(2_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    expect(await world.until(Promise.resolve(backend.live?.key('a')))).toMatchObject({ limitBytes: 5n });
    expect(await world.until(Promise.resolve(backend.live?.status()))).toMatchObject({ total: 2 });
    await expect(world.until(createKey(backend, key('c')))).rejects.toMatchObject({ code: 'upstreamRefused' });
    expect(await backend.problems()).toMatchObject([{ problem: 'upstream_refused' }]);
    await backend.close();
  });

  it('at the start, the start fails with what the server said', async () => {
    const opened = staged({ before: (server) => server.becomes('refused') });
    await expect(opened).rejects.toThrow('it is away for a test');
  });
});

describe('a server that was updated underneath', () => {
  it('is called as what it is now', async () => {
    const { world, server, backend } = await staged({ revision: 'earliest', before: two });
    await world.until(Promise.resolve(backend.audit?.add({ eventEn: 'own', eventRu: '', success: true })));
    expect(server.calls).not.toContain('addAudit');
    server.speaks(line('current'), '0.2.96');
    await world.until(Promise.resolve(backend.audit?.add({ eventEn: 'its', eventRu: '', success: true })));
    expect(server.calls).toContain('addAudit');
    await backend.close();
  });
});

describe('what clients are told', () => {
  it('is what the server’s own subscription says, looked at again every minute where somebody subscribes', async () => {
    const { world, server, backend } = await staged({ before: two });
    const changes: string[] = [];
    backend.onChange((reason) => changes.push(reason));
    expect(backend.settings().announced).toMatchObject({ host: 'vpn.example', port: 50000 });
    server.announced = { host: 'other.example', port: 1, shareScheme: 'ostp', shareQuery: '', ownDns: true };
    await world.until(Promise.resolve(backend.replica?.find('a')));
    expect(backend.settings().announced.host).toBe('vpn.example');
    await world.pass(61_000);
    await world.until(Promise.resolve(backend.replica?.find('a')));
    await world.pass(100);
    expect(backend.settings().announced.host).toBe('other.example');
    expect(backend.settings().dns.enabled).toBe(true);
    expect(changes).toContain('edited');
    await backend.close();
  });

  it('is asked for anew after the configuration was replaced, and the next who subscribes waits for it', async () => {
    const { world, server, backend } = await staged({ before: two });
    const body = Buffer.from('{"mode":"server","access_keys":["a","b"],"domain":"other.example"}');
    server.announced = { host: 'other.example', port: 1, shareScheme: 'ostp', shareQuery: '', ownDns: null };
    await world.until(backend.document?.replace(body) ?? Promise.reject());
    await world.until(Promise.resolve(backend.replica?.find('a')));
    expect(backend.settings().announced).toMatchObject({ host: 'other.example', port: 1 });
    await world.until(backend.close());
  });

  it('is what the status says, where the line has it there, without anybody who subscribes', async () => {
    const { world, server, backend } = await staged({ revision: '0.4.6', before: two });
    expect(backend.settings().told?.host).toBe('vpn.example');
    server.announced = { host: 'other.example', port: 1, shareScheme: 'ostp', shareQuery: '', ownDns: null };
    await world.pass(2_000);
    await world.until(Promise.resolve(backend.live?.status()));
    expect(backend.settings()).toMatchObject({
      told: { host: 'other.example' },
      announced: { host: 'other.example', port: 1 },
    });
    await backend.close();
  });

  it('goes on without the server', async () => {
    const { world, server, backend } = await staged({ before: two });
    server.becomes('away');
    await world.pass(120_000);
    await world.until(Promise.resolve(backend.replica?.find('a')));
    expect(backend.settings().announced).toMatchObject({ host: 'vpn.example' });
    await world.until(backend.close());
  });
});

describe('the audit list of a running server', () => {
  it('is asked for at most once a second, since anyone may, and shows what was added here at once', async () => {
    const { world, server, backend } = await staged();
    const list = () => world.until(Promise.resolve(backend.audit?.list()));
    for (let i = 0; i < 20; i += 1) await list();
    expect(server.calls.filter((call) => call === 'audit')).toHaveLength(1);
    await world.until(Promise.resolve(backend.audit?.add({ eventEn: 'one', eventRu: '', success: true })));
    expect(await list()).toMatchObject([{ eventEn: 'one' }]);
    expect(await list()).toBe(await list());
    await backend.close();
  });
});

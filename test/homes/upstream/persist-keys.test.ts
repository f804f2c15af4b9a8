import { describe, expect, it } from 'vitest';
import type { FakeServer } from '../../client/fake-server.js';
import { createKey, deleteKey } from '../../ports/key-changes.js';
import { held, key, type Staged, staged } from './staged.js';

interface User {
  readonly key: string;
  readonly name?: string;
  readonly limit_bytes?: number;
}

interface Configuration {
  readonly inbounds: readonly { readonly users: readonly User[] }[];
  readonly access_keys?: readonly string[];
  readonly routing?: unknown;
}

const EMPTY =
  '{"mode":"server","inbounds":[{"protocol":"ostp","port":50000,"users":[]}],"outbounds":[{"protocol":"socks5","tag":"p","server":"127.0.0.1","port":9050}]}';

/** A server whose API writes keys beside the inbounds, which it reads at its start alone. */
async function beside(options: { readonly version?: string; readonly configuration?: string } = {}) {
  const stage = await staged({
    revision: '0.3.7',
    version: options.version ?? '0.3.21',
    configuration: options.configuration ?? EMPTY,
    before(server) {
      server.onWrite = () => {
        server.configuration = JSON.stringify({ ...read(server), access_keys: [...server.keys.keys()] });
      };
    },
  });
  const { server, world } = stage;
  server.onConfiguration = () => void world.timers.after(5_000, () => takes(server, rootAndInbounds(server)));
  return {
    ...stage,
    restart() {
      takes(server, inbounds(server));
      server.startedAt = world.clock.monotonic();
    },
  };
}

const read = (server: FakeServer): Configuration => JSON.parse(server.configuration);
const users = (server: FakeServer): readonly User[] => read(server).inbounds[0]?.users ?? [];
const inbounds = (server: FakeServer) => users(server).map((user) => held(user.key, limitOf(user), user.name ?? null));
const limitOf = ({ limit_bytes }: User): bigint | null => (limit_bytes === undefined ? null : BigInt(limit_bytes));

function rootAndInbounds(server: FakeServer) {
  const own = inbounds(server);
  const names = new Set(own.map(({ record }) => record.accessKey));
  const others = (read(server).access_keys ?? []).filter((name) => !names.has(name));
  return [...own, ...others.map((name) => held(name))];
}

function takes(server: FakeServer, keys: readonly ReturnType<typeof held>[]): void {
  server.keys.clear();
  for (const one of keys) server.keys.set(one.record.accessKey, one);
}

const writesOf = ({ server }: Pick<Staged, 'server'>, name: string): number =>
  server.calls.filter((call) => call === name).length;

describe('keys of a server that starts from its inbounds alone', () => {
  it('are put there 2 s after the last write, with name and limit, and the root list is taken out', async () => {
    const stage = await beside();
    const { world, server, backend, restart } = stage;
    await world.until(createKey(backend, key('a', 5n, 'Anna')));
    await world.until(createKey(backend, key('b')));
    await world.pass(1_500);
    expect(writesOf(stage, 'putConfig')).toBe(0);
    await world.pass(1_500);
    expect(read(server).access_keys).toBe(undefined);
    expect(users(server)).toEqual([{ key: 'a', name: 'Anna', limit_bytes: 5 }, { key: 'b' }]);
    await world.pass(30_000);
    expect(backend.status().unsettled).toBe(0);
    expect(writesOf(stage, 'putConfig')).toBe(1);
    restart();
    expect([...server.keys.keys()]).toEqual(['a', 'b']);
    await backend.close();
  });

  it('that were deleted over somebody else’s change stay deleted where a start comes before they are stored', async () => {
    const { world, server, backend, restart } = await beside({
      configuration: EMPTY.replace('"users":[]', '"users":[{"key":"a","limit_bytes":1},{"key":"b"}]'),
    });
    takes(server, inbounds(server));
    await world.pass(60_000);
    server.outside({ put: key('a', 2n) });
    await world.pass(20_000);
    await world.until(deleteKey(backend, 'a'));
    await world.pass(1_000);
    restart();
    await world.pass(60_000);
    expect([[...server.keys.keys()], users(server)]).toEqual([['b'], [{ key: 'b' }]]);
    await world.until(backend.close());
  });

  it('that were deleted are given up where somebody makes them again and again', async () => {
    const { world, server, backend, logged } = await beside({
      configuration: EMPTY.replace('"users":[]', '"users":[{"key":"a","limit_bytes":1},{"key":"b"}]'),
    });
    takes(server, inbounds(server));
    await world.pass(60_000);
    await world.until(deleteKey(backend, 'a'));
    await world.pass(2_500);
    for (let i = 0; i < 60; i += 1) {
      server.outside({ put: key('a', 1n) });
      await world.pass(2_000);
    }
    expect(server.keys.has('a')).toBe(true);
    expect(logged.filter((message) => /given up/.test(message))).toHaveLength(1);
    await world.until(backend.close());
  });

  it('are put there 30 s after the first write although there is no quiet', async () => {
    const stage = await beside();
    const { world, backend } = stage;
    for (let i = 0; i < 31; i += 1) {
      await world.until(createKey(backend, key(`k${i}`)));
      await world.pass(1_000);
    }
    expect(writesOf(stage, 'putConfig')).toBe(1);
    await backend.close();
  });

  it('that were deleted leave their inbound, and those that nobody has seen go stay', async () => {
    const { world, server, backend, restart } = await beside({
      configuration: EMPTY.replace('"users":[]', '"users":[{"key":"old"},{"key":"edited"}]'),
    });
    takes(server, [held('old')]);
    await world.pass(2_000);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.until(deleteKey(backend, 'old'));
    await world.pass(20_000);
    expect(users(server)).toEqual([{ key: 'edited' }]);
    restart();
    expect(server.keys.has('old')).toBe(false);
    await backend.close();
  });

  it('are made again, and it is said, when the server is started anew before that', async () => {
    const { world, server, backend, restart, logged } = await beside();
    await world.until(createKey(backend, key('a', 5n)));
    await world.pass(1_000);
    restart();
    expect(server.keys.size).toBe(0);
    await world.pass(10_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    expect(logged.some((message) => /had made was lost/.test(message))).toBe(true);
    await world.pass(20_000);
    expect(users(server)).toEqual([{ key: 'a', limit_bytes: 5 }]);
    await backend.close();
  });

  it('that wait for it outlive a Keyway that is killed and a server that is started anew meanwhile', async () => {
    const { world, server, again, restart } = await beside();
    const first = await again();
    await world.until(createKey(first, key('a', 5n)));
    restart();
    const second = await again();
    await world.pass(30_000);
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    expect(users(server)).toEqual([{ key: 'a', limit_bytes: 5 }]);
    await second.close();
  });

  it('stay in the root list, as servers write it, where the version drops every key without one', async () => {
    const { world, server, backend } = await beside({ version: '0.3.9' });
    await world.until(createKey(backend, key('a', 5n)));
    await world.pass(20_000);
    expect(read(server).access_keys).toEqual([{ access_key: 'a', limit_bytes: 5 }]);
    expect(users(server)).toEqual([{ key: 'a', limit_bytes: 5 }]);
    await backend.close();
  });

  it("that somebody made over the server's own API are put there with the list that shows them", async () => {
    const stage = await beside();
    const { world, server, backend, restart } = stage;
    await world.pass(30_000);
    expect(writesOf(stage, 'putConfig')).toBe(0);
    takes(server, [held('theirs', 5n, 'Theirs')]);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.pass(20_000);
    expect(users(server)).toEqual([{ key: 'theirs', name: 'Theirs', limit_bytes: 5 }]);
    expect(writesOf(stage, 'putConfig')).toBe(1);
    restart();
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.pass(20_000);
    expect(writesOf(stage, 'putConfig')).toBe(1);
    takes(server, [held('theirs', 6n, 'Theirs')]);
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.pass(20_000);
    expect(users(server)).toEqual([{ key: 'theirs', name: 'Theirs', limit_bytes: 6 }]);
    await backend.close();
  });

  it('that it has and its inbounds lack when Keyway starts are put there, too', async () => {
    const stage = await beside();
    takes(stage.server, [held('theirs')]);
    const second = await stage.again();
    await stage.world.pass(20_000);
    expect(users(stage.server)).toEqual([{ key: 'theirs' }]);
    await second.close();
  });

  it('and rules that it has taken are stored together', async () => {
    const { world, server, backend } = await beside();
    const rule = { domainSuffix: ['.onion'], ipCidr: [], protocol: null, action: 'proxy' as const };
    await world.until(backend.replaceRules([rule]));
    expect(server.ruled).toEqual([rule]);
    await world.pass(5_000);
    expect(JSON.stringify(read(server).routing)).toContain('.onion');
    await backend.close();
  });
});

describe('a server that is updated while keys wait to be stored', () => {
  it('to a version that nobody knows gets no configuration of Keyway', async () => {
    const stage = await beside();
    const { world, server, backend } = stage;
    await world.until(createKey(backend, key('a')));
    server.onStatus = () => {
      server.later = true;
    };
    await world.pass(60_000);
    expect([writesOf(stage, 'putConfig'), server.keys.has('a'), backend.status().unsettled]).toEqual([0, true, 0]);
    await backend.close();
  });
});

describe('a server of a named line that tells no version', () => {
  it.each([
    '',
    'dev',
    '0.3.x',
  ])('(%j) is taken for one of the last that is known of the line, and starts with what its API made', async (version) => {
    const { world, server, backend, logged } = await beside({ version });
    await world.until(createKey(backend, key('a', 5n)));
    await world.pass(60_000);
    expect(users(server)).toEqual([{ key: 'a', limit_bytes: 5 }]);
    expect(read(server).access_keys).toBe(undefined);
    expect([backend.status().unsettled, logged.filter((message) => /not stored/.test(message))]).toEqual([0, []]);
    await backend.close();
  });
});

describe('a server with a flat file that is called as one with inbounds', () => {
  it.each([
    ['of a version that nobody knows', true],
    ['by the line that somebody named', false],
  ])('%s gets no configuration of its keys, and its writes are settled by the list', async (_why, later) => {
    const { world, server, backend, logged } = await staged({
      revision: '0.3.7',
      version: '0.3.22',
      before(fake) {
        fake.later = later;
      },
    });
    await world.until(createKey(backend, key('a', 5n)));
    await world.pass(60_000);
    expect(writesOf({ server }, 'putConfig')).toBe(0);
    expect(backend.status().unsettled).toBe(0);
    expect(logged.join()).not.toMatch(/inbound/);
    await backend.close();
  });
});

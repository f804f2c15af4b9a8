import { describe, expect, it } from 'vitest';
import { DomainError } from '../../../src/core/errors.js';
import { changeKey } from '../../../src/core/keys/change-key.js';
import { restoreConfiguration } from '../../../src/homes/upstream/restore-configuration.js';
import type { FakeServer } from '../../client/fake-server.js';
import { createKey, deleteKey } from '../../ports/key-changes.js';
import { held, key, type Staged, type StagedOptions, staged } from './staged.js';

const TOR = { domainSuffix: ['.onion'], ipCidr: [], protocol: null, action: 'proxy' as const };
const ROUTED = '{"mode":"server","access_keys":["a"],"outbound":{"enabled":true,"rules":[]},"other":1.50}';

/** The server has the key `a`. */
const hasKey = ({ keys }: FakeServer) => void keys.set('a', held('a'));

const LAST = { op: 'delete', accessKey: 'a' } as const;

describe('the configuration of a running server', () => {
  it('is replaced as it was sent, and holds key writes back until a list shows its keys', async () => {
    const { world, server, backend, files } = await staged({ before: ({ keys }) => keys.set('old', held('old')) });
    await world.pass(2_000);
    server.onConfiguration = () =>
      void world.timers.after(3_000, () => {
        server.keys.clear();
        server.keys.set('a', held('a'));
      });
    await world.until(
      backend.document?.replace(Buffer.from('{"mode":"server","access_keys":["a"]}')) ?? Promise.reject(),
    );
    const created = createKey(backend, key('b'));
    await world.pass(2_000);
    expect(server.calls).not.toContain('create');
    await world.until(created);
    expect([...server.keys.keys()]).toEqual(['a', 'b']);
    expect(await files.list('/var/keyway/versions')).toHaveLength(1);
    await backend.close();
  });

  it('holds them back for 7 s at most', async () => {
    const { world, server, backend } = await staged();
    await world.until(
      backend.document?.replace(Buffer.from('{"mode":"server","access_keys":["a"]}')) ?? Promise.reject(),
    );
    const created = createKey(backend, key('b'));
    await world.pass(6_500);
    expect(server.calls).not.toContain('create');
    await world.pass(2_000);
    expect(server.calls).toContain('create');
    await created;
    await backend.close();
  });

  it('that would take the inbounds away is refused, and nothing is sent', async () => {
    const { world, server, backend } = await staged({
      revision: '0.3.7',
      configuration: '{"mode":"server","inbounds":[{"protocol":"ostp","users":[{"key":"a"}]}]}',
    });
    const replaced =
      backend.document?.replace(Buffer.from('{"mode":"server","access_keys":["a"]}')) ?? Promise.reject();
    await expect(world.until(replaced)).rejects.toMatchObject({ code: 'configWriteFailed' });
    expect(server.calls).not.toContain('putConfig');
    await backend.close();
  });

  it('is no problem any more once a patch has mended it', async () => {
    const good = '{"mode":"server","listen":"0.0.0.0:50000","access_keys":["a"]}';
    const { world, backend } = await staged({ configuration: good, before: hasKey });
    await world.pass(2_000);
    const { document } = backend;
    await world.until(document?.replace(Buffer.from(good.replace('"0.0.0.0:50000"', '5'))) ?? Promise.reject());
    await world.pass(10_000);
    const body = Buffer.from('{"listen":"0.0.0.0:50000"}');
    await world.until(document?.patch({ form: 'merge', body, condition: () => undefined }) ?? Promise.reject());
    expect((await backend.problems()).map(({ problem }) => problem)).toEqual([]);
    await world.until(backend.close());
  });

  it('of which the server does not start any more is a problem, after a restart too, until it gets one of which it does', async () => {
    const good = '{"mode":"server","listen":"0.0.0.0:50000","access_keys":["a"]}';
    const bad = '{"mode":"server","listen":5,"access_keys":["a"]}';
    const { world, server, backend, files, again } = await staged({ configuration: good, before: hasKey });
    await world.pass(2_000);
    const troubles = async (of: Pick<typeof backend, 'problems'>) =>
      (await of.problems()).filter(({ problem }) => problem === 'config_unreadable_by_server').map((one) => one.reason);
    await world.until(backend.document?.replace(Buffer.from(bad)) ?? Promise.reject());
    expect(server.configuration).toBe(bad);
    const told = [
      expect.stringMatching(/a server of .* does not start from the file any more: listen: expected a string/),
    ];
    expect(await troubles(backend)).toEqual(told);
    expect(await files.list('/var/keyway/versions')).toEqual([expect.stringContaining('-forever')]);
    const next = await again();
    await world.pass(2_000);
    expect(await troubles(next)).toEqual(told);
    await world.until(next.document?.replace(Buffer.from(good)) ?? Promise.reject());
    expect(await troubles(next)).toEqual([]);
    await world.until(next.close());
  });

  it('is said to be kept only where it was: not where it cannot be read, nor without a data folder', async () => {
    const keys = Array.from({ length: 12 }, (_, n) => `k${n}`);
    const configuration = JSON.stringify({ mode: 'server', access_keys: keys });
    const register = (server: FakeServer) => {
      for (const name of keys) server.keys.set(name, held(name));
    };
    const logOf = async (options: StagedOptions, spoil: (server: FakeServer) => void = () => undefined) => {
      const { world, server, backend, logged } = await staged({ configuration, before: register, ...options });
      await world.pass(2_000);
      spoil(server);
      const replaced = backend.document?.replace(Buffer.from('{"mode":"server","access_keys":[]}'));
      await world.until(replaced ?? Promise.reject());
      await world.until(backend.close());
      return logged.filter((message) => message.includes('were removed'));
    };
    const destroyed = (server: FakeServer) => void Object.assign(server, { configuration: '' });
    expect(await logOf({})).toEqual(['12 keys were removed; the version before is kept for good']);
    expect(await logOf({}, destroyed)).toEqual(['12 keys were removed; no version of before is kept']);
    expect(await logOf({ dataFolder: null })).toEqual(['12 keys were removed; no version of before is kept']);
  });

  it('is none where the line has none', async () => {
    const { world, backend } = await staged({ revision: '0.2.25' });
    expect(backend.document).toBe(null);
    expect(await world.until(Promise.resolve(backend.live?.rules()))).toEqual([]);
    await expect(world.until(backend.replaceRules([TOR]))).rejects.toMatchObject({ code: 'outboundNotConfigured' });
    await backend.close();
  });
});

describe('rules and DNS settings of a line without their endpoints', () => {
  it('are changed in the configuration, and the server is made to store its keys at once', async () => {
    const { world, server, backend } = await staged({
      revision: 'dns',
      configuration: ROUTED,
      before: ({ keys }) => {
        keys.set('a', held('a', 5n));
        keys.set('later', held('later'));
      },
    });
    await world.until(backend.replaceRules([TOR]));
    expect(server.configuration).toContain('1.50');
    expect(await world.until(Promise.resolve(backend.live?.rules()))).toEqual([TOR]);
    expect(server.calls.slice(server.calls.indexOf('putConfig') + 1)).toEqual(['get', 'limit', 'getConfig']);
    expect(server.keys.get('a')?.record.limitBytes).toBe(5n);
    await backend.close();
  });

  it('by a bulk of none where the line has one', async () => {
    const { world, server, backend } = await staged({ configuration: ROUTED });
    await world.until(backend.changeDns({ enabled: true, dohUpstream: 'https://dns.example/q' }));
    expect(server.calls.slice(server.calls.indexOf('putConfig'))).toEqual(['putConfig', 'bulk']);
    expect(server.keys.size).toBe(0);
    expect(await world.until(Promise.resolve(backend.live?.dns()))).toMatchObject({
      enabled: true,
      dohUpstream: 'https://dns.example/q',
    });
    expect(await world.until(Promise.resolve(backend.live?.queries?.()))).toEqual([]);
    await backend.close();
  });
});

describe('rules of a server that writes them into its file', () => {
  it('come after the configuration each time, which has no comments then that would leave nothing of it', async () => {
    const { world, server, backend } = await staged({ configuration: ROUTED });
    await world.pass(10);
    const before = server.calls.length;
    await world.until(backend.replaceRules([TOR]));
    await world.until(backend.replaceRules([]));
    const one = ['getConfig', 'putConfig', 'bulk', 'putRules'];
    const calls = server.calls.slice(before).filter((call) => /Config|Rules|bulk/.test(call));
    const distinct = calls.filter((call, at) => call !== calls[at - 1]);
    expect(distinct).toEqual([...one, ...one, 'getConfig']);
    await backend.close();
  });
});

describe('rules of a server that is asked for its version first', () => {
  it('are refused where it has become one that nobody knows, and nothing is sent', async () => {
    const { world, server, backend } = await staged({ configuration: ROUTED });
    await world.pass(5_000);
    updatedSilently(server);
    await expect(world.until(backend.replaceRules([TOR]))).rejects.toMatchObject({ code: 'configRefused' });
    await expect(world.until(backend.changeDns({ enabled: true }))).rejects.toMatchObject({ code: 'configRefused' });
    expect(server.calls.filter((call) => /^put|bulk/.test(call))).toEqual([]);
    await backend.close();
  });
});

describe('an answer that is lost', () => {
  it('of a change of rules leaves no file destroyed: it is looked at all the same, and the change is told as lost', async () => {
    const { world, server, backend, logged } = await staged({
      configuration: ROUTED,
      trip(call) {
        if (call !== 'putRules') return { there: 1, back: 1 };
        server.configuration = 'null';
        return { there: 1, back: 1, lost: 'after' };
      },
    });
    await world.pass(10);
    await expect(world.until(backend.replaceRules([TOR]))).rejects.toMatchObject({ code: 'upstreamAway' });
    expect(server.calls.filter((call) => call === 'putRules')).toHaveLength(1);
    expect(JSON.parse(server.configuration)).toMatchObject({ mode: 'server', outbound: { rules: [{}] } });
    expect(logged.filter((message) => /destroyed/.test(message))).toHaveLength(1);
    await backend.close();
  });

  it('of a configuration that is sent does not keep the server from storing its memory', async () => {
    let isLost = true;
    const { world, server, backend } = await staged({
      configuration: ROUTED,
      trip(call) {
        if (call !== 'putConfig' || !isLost) return { there: 1, back: 1 };
        isLost = false;
        return { there: 1, back: 1, lost: 'after' };
      },
    });
    await world.pass(10);
    await expect(world.until(backend.replaceRules([TOR]))).rejects.toMatchObject({ code: 'upstreamAway' });
    expect(server.calls).not.toContain('putRules');
    expect(server.calls.slice(server.calls.indexOf('putConfig') + 1)).toContain('bulk');
    await backend.close();
  });
});

describe('a version that is sent back', () => {
  it('goes to a server whose file is destroyed, of which nothing can be kept', async () => {
    const { world, server } = await staged({ configuration: ROUTED });
    Object.assign(server, { getConfig: () => Promise.reject(new DomainError('configParseFailed', 'EOF')) });
    const kept: Buffer[] = [];
    const version = { id: 'v', keptAt: 0, forever: false };
    const versions = {
      find: async () => version,
      read: async () => Buffer.from('{"mode":"client"}'),
      keep: async (bytes: Buffer) => void kept.push(bytes),
    };
    const done = await world.until(restoreConfiguration({ server, versions, clock: world.clock }, 'v'));
    expect([done.version, kept, server.configuration]).toEqual([version, [], '{"mode":"client"}']);
  });

  it('is refused where the server would not start from it, and does from what it has', async () => {
    const configuration = '{"mode":"server","listen":"0.0.0.0:50000","access_keys":["a"]}';
    const { world, server } = await staged({ configuration });
    const versions = {
      find: async () => ({ id: 'v', keptAt: 0, forever: false }),
      read: async () => Buffer.from('{"mode":"server","listen":5,"access_keys":["a"]}'),
      keep: async () => undefined,
    };
    const sent = world.until(restoreConfiguration({ server, versions, clock: world.clock }, 'v'));
    await expect(sent).rejects.toThrow('no server starts from version v: listen: expected a string');
    expect(server.configuration).toBe(configuration);
  });
});

/** What is said of a server that would not start again. */
async function unstarted({ backend }: Pick<Staged, 'backend'>): Promise<readonly string[]> {
  const problems = await backend.problems();
  return problems.flatMap(({ problem, reason }) => (problem === 'config_unreadable_by_server' ? [reason] : []));
}

describe('the last key of a server', () => {
  const configuration = '{"mode":"server","listen":"0.0.0.0:50000","access_keys":["a"]}';

  it('goes as the protocol wants it, which is a problem until there is another one, and a version stays for ever', async () => {
    const front = await staged({ configuration, before: hasKey });
    const { world, backend, files, logged } = front;
    await world.pass(2_000);
    await world.until(deleteKey(backend, 'a'));
    const told = 'has no key any more, and does not start again without one';
    expect(await unstarted(front)).toEqual([expect.stringContaining(told)]);
    expect(logged.filter((message) => message.includes(told))).toHaveLength(1);
    expect(await files.list('/var/keyway/versions')).toContainEqual(expect.stringContaining('-forever'));
    await world.until(createKey(backend, { accessKey: 'b', name: null, limitBytes: null }));
    expect(await unstarted(front)).toEqual([]);
    await world.until(backend.close());
  });

  it("is not taken away by Keyway's own interface, unless somebody has made another one meanwhile", async () => {
    const { world, server, backend } = await staged({ configuration, before: hasKey });
    await world.pass(2_000);
    await expect(world.until(changeKey(backend, LAST, { refuses: true }))).rejects.toMatchObject({
      code: 'unreadableByServer',
    });
    expect([...server.keys.keys()]).toEqual(['a']);
    server.outside({ put: { accessKey: 'b', name: null, limitBytes: null } });
    await world.until(changeKey(backend, LAST, { refuses: true }));
    expect([...server.keys.keys()]).toEqual(['b']);
    await world.until(backend.close());
  });

  it('may go where the server starts with those of its file, whatever its API did', async () => {
    const front = await staged({ revision: '0.2.25', before: hasKey });
    const { world, backend } = front;
    await world.pass(2_000);
    await world.until(changeKey(backend, LAST, { refuses: true }));
    expect(await unstarted(front)).toEqual([]);
    await world.until(backend.close());
  });
});

/** Somebody has put a release in its place that no record stands for; only its status tells. */
function updatedSilently(server: FakeServer): void {
  server.onStatus = () => {
    server.later = true;
  };
}

describe('many keys', () => {
  it('are made one by one where the line has no bulk, and those that were made stay', async () => {
    let creates = 0;
    const { world, server, backend } = await staged({
      revision: 'earliest',
      trip: (call) => {
        if (call === 'create') creates += 1;
        return creates > 3 && call === 'create' ? { there: 1, back: 1, lost: 'before' } : { there: 1, back: 1 };
      },
    });
    const wanted = ['a', 'b', 'c', 'd', 'e'].map((name) => key(name, 9n));
    await expect(world.until(backend.createBareKeys(wanted))).rejects.toMatchObject({
      code: 'bulkIncomplete',
      detail: 'created 3 of 5: it is away for a test',
    });
    expect([...server.keys.keys()]).toEqual(['a', 'b', 'c']);
    expect(backend.keys.size).toBe(3);
    await backend.close();
  });
});

describe('a configuration that the server is just writing', () => {
  it('is read again, and a file that stays broken is said to be so', async () => {
    const { world, server, backend } = await staged({ revision: 'dns', configuration: ROUTED });
    server.configuration = '{"mode":"ser';
    void world.timers.after(400, () => {
      server.configuration = ROUTED;
    });
    expect(await world.until(Promise.resolve(backend.live?.rules()))).toEqual([]);
    server.configuration = '';
    await expect(world.until((async () => backend.live?.rules())())).rejects.toMatchObject({
      code: 'configParseFailed',
    });
    await backend.close();
  });
});

import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Actors } from '../../src/core/actors.js';
import type { MissedChanges, PastChanges } from '../../src/core/backend.js';
import { DomainError } from '../../src/core/errors.js';
import { LocalRecords } from '../../src/core/kept-records.js';
import { keyDigest } from '../../src/core/key-digest.js';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import { DEFAULT_DNS, DEFAULT_PUBLISHED } from '../../src/core/model.js';
import { silent } from '../../src/gateway/options.js';
import { type EventKey, Events, type OwnEvent } from '../../src/own-api/events.js';
import { secretBytes, Webhook } from '../../src/own-api/webhook.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { removeFrom } from '../core/keys/remove-from.js';
import { callerOf, ownStage } from './stage.js';

interface Told {
  readonly cursor: string;
  readonly whole: boolean;
  readonly events: readonly {
    readonly id: string;
    readonly time: string;
    readonly type: string;
    readonly data: Readonly<Record<string, unknown>>;
  }[];
}

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const NOTHING = { outbound: null, dns: DEFAULT_DNS, listener: null, announced: {}, published: DEFAULT_PUBLISHED };

interface ObservedOptions {
  readonly records?: LocalRecords;
  readonly keys?: KeyRegistry;
  readonly now?: () => number;
  readonly monotonic?: () => number;
  readonly past?: PastChanges | null;
}

/** Events over a registry of a test's own; `gathered` resolves when the changes until now are events. */
function observed({
  records = new LocalRecords(),
  keys = new KeyRegistry(() => 0),
  now = () => Date.now(),
  monotonic = systemClock.monotonic,
  past = null,
}: ObservedOptions = {}) {
  let settings = NOTHING;
  const listeners: ((reason: 'saved' | 'replaced') => void)[] = [];
  const backend = {
    keys,
    settings: () => settings,
    onChange: (listener: (reason: 'saved' | 'replaced') => void) => void listeners.push(listener),
    replica: null,
    past,
  };
  const clock = { now, monotonic };
  const actors = new Actors(clock);
  const others = { server: null, actors, rotating: () => [], random: systemRandom, log: silent };
  const events = new Events({ backend, records, clock, ...others });
  events.start();
  return {
    events,
    actors,
    keys,
    records,
    clock,
    change(reason: 'saved' | 'replaced', dns = settings.dns) {
      settings = { ...settings, dns };
      for (const listener of listeners) listener(reason);
    },
    gathered: () => events.close(),
  };
}

describe('events', () => {
  it('that go with a record are written down once, whoever tells of them again', async () => {
    const records = new LocalRecords();
    await records.change([{ kind: 'jobs', id: 'job/j', body: 'untold' }]);
    const ended = [{ type: 'job.ended', data: { job: 'j' } }] as const;
    const told = { kind: 'jobs', id: 'job/j', body: 'told', expected: 'untold' } as const;
    const [one, other] = [observed({ records }).events, observed({ records }).events];
    await Promise.all([one.emitOnce(ended, told), other.emitOnce(ended, told)]);
    await other.emitOnce(ended, told);
    expect(one.latest(10)).toMatchObject(ended);
    expect(records.of('jobs').get('job/j')).toBe('told');
  });

  it('are one a kind of the changes that come together, and name their keys', async () => {
    const { events, keys, gathered } = observed();
    for (const key of ['a', 'b', 'c']) keys.create({ accessKey: key, name: `Name of ${key}`, limitBytes: 5n });
    keys.update({ accessKey: 'a', name: 'A', limitBytes: 5n });
    removeFrom(keys, 'c');
    keys.setCounters('b', { bytesUp: 5n, bytesDown: 0n, connections: 0n });
    keys.reset('b');
    await gathered();
    const told = events.latest(10).map(({ type, data }) => [type, data]);
    const named = (...names: string[]) => ({
      keys: names.map((key) => ({ access_key: key, name: keys.get(key)?.name ?? null })),
    });
    expect(told).toEqual([
      ['key.created', named('a', 'b', 'c')],
      ['key.over_limit', named('b')],
      ['key.reset', named('b')],
      ['key.removed', { keys: [{ access_key: 'c', name: 'Name of c' }] }],
    ]);
  });

  it('leave who follows them with each key as it is, however it came and went within a second', async () => {
    const { events, keys, gathered } = observed();
    const create = (accessKey: string) => keys.create({ accessKey, name: null, limitBytes: 5n });
    const use = (accessKey: string) => keys.setCounters(accessKey, { bytesUp: 5n, bytesDown: 0n, connections: 0n });
    for (const accessKey of ['first', 'back', 'changed', 'reset']) create(accessKey);
    await expect.poll(() => events.latest(10)).toHaveLength(1);
    keys.reset('first');
    removeFrom(keys, 'first');
    for (const accessKey of ['new', 'gone']) create(accessKey);
    for (const accessKey of ['back', 'gone']) removeFrom(keys, accessKey);
    create('back');
    keys.update({ accessKey: 'changed', name: 'C', limitBytes: 5n });
    removeFrom(keys, 'changed');
    use('reset');
    keys.reset('reset');
    use('back');
    await gathered();
    const followed = new Map<string, string>();
    for (const { type, data } of events.latest(10))
      for (const { access_key: key } of data.keys as readonly EventKey[])
        if (type === 'key.removed') followed.delete(key);
        else followed.set(key, type === 'key.over_limit' ? 'over' : 'under');
    expect(followed).toEqual(new Map(['reset', 'new', 'back'].map((key) => [key, key === 'back' ? 'over' : 'under'])));
  });

  it('tell that a key was removed before the rotation that somebody has begun, or a batch will make', async () => {
    const records = new LocalRecords();
    const { events, keys, gathered } = observed({ records });
    keys.create({ accessKey: 'old', name: null, limitBytes: null });
    await expect.poll(() => events.latest(10)).toHaveLength(1);
    const body = JSON.stringify({ old: 'old', successor: 'new' });
    await records.change([{ kind: 'rotations', id: 'r', body }]);
    removeFrom(keys, 'old');
    await gathered();
    expect(events.latest(10)[1]).toMatchObject({ type: 'key.removed', data: { keys: [{ access_key: 'old' }] } });
  });

  it('tell of a rotation right behind its key, and of what becomes of the new one within the second', async () => {
    const { events, keys, gathered } = observed();
    keys.create({ accessKey: 'old', name: 'A', limitBytes: null });
    keys.create({ accessKey: 'new', name: 'A', limitBytes: null });
    removeFrom(keys, 'old');
    keys.markChanged('new', 'noted');
    await events.emitRotated([{ accessKey: 'old', successor: 'new' }]);
    keys.update({ accessKey: 'new', name: 'B', limitBytes: null });
    await gathered();
    const changes = [{ member: 'name', from: 'A', to: 'B' }];
    expect(events.latest(10).map(({ type, data }) => [type, data.keys])).toMatchObject([
      ['key.rotated', [{ access_key: 'new' }]],
      ['key.changed', [{ access_key: 'new', name: 'B', changes }]],
    ]);
  });

  it('tell a change of a key that is rotated within the second before its rotation, or else of the new key', async () => {
    const records = new LocalRecords();
    const { events, keys, gathered } = observed({ records });
    for (const accessKey of ['told', 'begun']) keys.create({ accessKey, name: 'A', limitBytes: 5n });
    await expect.poll(() => events.latest(10)).toHaveLength(1);
    for (const accessKey of ['told', 'begun']) {
      keys.update({ accessKey, name: 'B', limitBytes: 5n });
      keys.create({ accessKey: `${accessKey} new`, name: 'B', limitBytes: 5n });
      removeFrom(keys, accessKey);
    }
    await events.emitRotated([{ accessKey: 'told', successor: 'told new' }]);
    const body = JSON.stringify({ old: 'begun', successor: 'begun new' });
    await records.change([{ kind: 'rotations', id: 'r', body }]);
    await gathered();
    const changes = [{ member: 'name', from: 'A', to: 'B' }];
    expect(events.latest(10).slice(1)).toMatchObject([
      { type: 'key.rotated', data: { keys: [{ access_key: 'told new' }] } },
      { type: 'key.changed', data: { keys: [{ access_key: 'begun' }, { access_key: 'told new', changes }] } },
    ]);
  });

  it('tell of a rotation by one, and of its undoing and redoing by what comes and goes', async () => {
    const { events, keys } = observed();
    const create = (accessKey: string) => keys.create({ accessKey, name: null, limitBytes: null });
    const told = () =>
      events.latest(10).map(({ type, data }) => [type, (data.keys as readonly EventKey[])[0]?.access_key]);
    const swap = (from: string, to: string) => {
      create(to);
      removeFrom(keys, from);
    };
    create('old');
    await expect.poll(told).toEqual([['key.created', 'old']]);
    swap('old', 'new');
    await events.emitRotated([{ accessKey: 'old', successor: 'new' }]);
    // So that the next is not gathered together with it.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    swap('new', 'old');
    await expect.poll(told).toHaveLength(4);
    swap('old', 'new');
    await expect.poll(told).toEqual([
      ['key.created', 'old'],
      ['key.rotated', 'new'],
      ['key.created', 'old'],
      ['key.removed', 'new'],
      ['key.created', 'new'],
      ['key.removed', 'old'],
    ]);
  });

  it('tell nothing of the parts of a rotation where those come again, after a failure or from the mark of the state', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const records = new LocalRecords();
    await records.change([{ kind: 'events', id: 'observed', body: '"mark"' }]);
    const asked: ((missed: MissedChanges) => void)[] = [];
    const since = () => new Promise<MissedChanges>((resolve) => void asked.push(resolve));
    const { events, keys } = observed({ records, past: { mark: () => 'next', since } });
    const create = (accessKey: string) => keys.create({ accessKey, name: null, limitBytes: null });
    const told = () => events.latest(10).map(({ type }) => type);
    const askedFor = async (count: number) => {
      await vi.advanceTimersByTimeAsync(6_000);
      await expect.poll(() => asked).toHaveLength(count);
    };
    create('old');
    await askedFor(1);
    await events.emitRotated([{ accessKey: 'old', successor: 'new' }]);
    create('new');
    removeFrom(keys, 'old');
    const parts = { settings: null, keys: [['new', 'created'] as const, ['old', 'removed'] as const] };
    asked[0]?.(parts);
    await vi.advanceTimersByTimeAsync(2_000);
    create('other');
    const full = vi.spyOn(records, 'change').mockRejectedValueOnce(new DomainError('saveFailed'));
    await vi.advanceTimersByTimeAsync(1_000);
    await expect.poll(() => full.mock.settledResults).toHaveLength(1);
    await askedFor(2);
    asked[1]?.(parts);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(told()).toEqual(['key.rotated']);
  });

  it('tell each change by who made it, and from what to what the members became others', async () => {
    const { events, actors, keys, gathered } = observed();
    for (const key of ['a', 'b']) keys.create({ accessKey: key, name: key, limitBytes: 5n });
    await expect.poll(() => events.latest(10)).toHaveLength(1);
    const caller = (name: string) => ({ name, may: 'keys' }) as const;
    const largest = 2n ** 64n - 1n;
    await actors.during(caller('bot'), ['a'], async () => keys.update({ accessKey: 'a', name: 'a', limitBytes: 6n }));
    keys.update({ accessKey: 'b', name: 'b', limitBytes: null });
    keys.update({ accessKey: 'a', name: 'A', limitBytes: largest });
    keys.markChanged('b', 'noted');
    await gathered();
    const [, ofBot, ofNobody] = events.latest(10).map(({ data }) => data);
    const changes = [
      { member: 'name', from: 'a', to: 'A' },
      { member: 'limit_bytes', from: 5n, to: largest },
    ];
    expect(ofBot).toEqual({ by: 'bot', keys: [{ access_key: 'a', name: 'A', changes }] });
    const others = [{ member: 'limit_bytes', from: 5n, to: null }, { member: 'note' }];
    expect(ofNobody).toEqual({ keys: [{ access_key: 'b', name: 'b', changes: others }] });
  });

  it('say that the configuration became another, too, where another gateway missed more than can be told', async () => {
    const unknown = { settings: null, missed: null };
    const tooMany = { settings: 'restored', missed: { keys: null, settings: 'restored' } } as const;
    for (const { settings, missed } of [unknown, tooMany]) {
      const records = new LocalRecords();
      await records.change([{ kind: 'events', id: 'observed', body: '"mark"' }]);
      const asked: ((missed: MissedChanges | null) => void)[] = [];
      const past = {
        mark: () => 'next',
        since: () => new Promise<MissedChanges | null>((resolve) => void asked.push(resolve)),
      };
      const { events, change, gathered } = observed({ records, past });
      change('replaced');
      await expect.poll(() => asked).toHaveLength(1);
      asked[0]?.(missed);
      await expect.poll(() => events.latest(10)).not.toEqual([]);
      expect(events.latest(10).map(({ type, data }) => [type, data])).toEqual([
        ['configuration.changed', { reason: settings ?? 'replaced' }],
        ['key.changed', { keys: [], whole: true }],
      ]);
      await gathered();
    }
  });

  it('have at most 1,000 keys each', async () => {
    const { events, keys, gathered } = observed();
    for (let n = 0; n < 2_500; n += 1) keys.create({ accessKey: `k${n}`, name: null, limitBytes: null });
    await gathered();
    expect(events.latest(10).map(({ data }) => Array.isArray(data.keys) && data.keys.length)).toEqual([
      1_000, 1_000, 500,
    ]);
  });

  it('name no keys whose names are so long that they would push out all that was kept', async () => {
    const { events, keys, gathered } = observed();
    for (const key of ['a', 'b', 'c']) keys.create({ accessKey: key, name: 'n'.repeat(2 ** 20), limitBytes: null });
    await gathered();
    expect(events.latest(10)).toMatchObject([{ type: 'key.created', data: { keys: [], whole: true } }]);
  });

  it('are kept up to 16 MiB, the newest, also by a gateway that finds them', async () => {
    const { events, records } = observed();
    const big = (from: number) => ({ from: `${from}`.padEnd(2 ** 20), to: '' });
    for (let n = 0; n < 20; n += 1) await events.emit('server.updated', big(n));
    expect(events.latest(100)).toMatchObject(Array.from({ length: 15 }, (_, n) => ({ data: big(n + 5) })));
    await observed({ records }).events.emit('server.updated', big(20));
    expect(events.latest(100)).toMatchObject(Array.from({ length: 15 }, (_, n) => ({ data: big(n + 6) })));
  });

  it('tell of the configuration where it is another one', async () => {
    const { events, change, gathered } = observed();
    change('saved');
    change('saved', { ...DEFAULT_DNS, enabled: true });
    change('replaced');
    await gathered();
    expect(events.latest(10).map(({ type, data }) => [type, data.reason])).toEqual([
      ['configuration.changed', 'saved'],
      ['configuration.changed', 'replaced'],
    ]);
  });

  it('are kept for a week, over restarts, in the order of their ids', async () => {
    const day = 86_400_000;
    let now = 1_800_000_000_000;
    const records = new LocalRecords();
    const first = observed({ records, now: () => now });
    first.events.emit('server.away', {});
    await first.gathered();
    const { newest } = first.events;
    now -= 5_000; // A clock that was put back.
    const second = observed({ records, now: () => now });
    second.events.emit('server.back', {});
    second.events.emit('server.away', {});
    await second.gathered();
    expect(second.events.after(newest, 10)?.map(({ type }) => type)).toEqual(['server.back', 'server.away']);
    expect(second.events.after(second.events.newest, 10)).toEqual([]);
    now += 8 * day;
    const third = observed({ records, now: () => now });
    third.events.emit('server.back', {});
    await third.gathered();
    expect(third.events.latest(10).map(({ type }) => type)).toEqual(['server.back']);
    expect(third.events.after(newest, 10)).toBeNull();
  });
});

describe('what nobody observed of a state of one gateway', () => {
  const told = ({ events }: ReturnType<typeof observed>) =>
    events.latest(10).map(({ type, data }) => ({ type, ...data }));
  const whole = { type: 'key.changed', keys: [], whole: true };
  const key = { accessKey: 'a', name: null, limitBytes: null };

  it('is told as a whole at the next start, and nothing where the state is the same', async () => {
    const records = new LocalRecords();
    const first = observed({ records });
    first.keys.create(key);
    await first.gathered();
    const same = observed({ records, keys: first.keys });
    await same.gathered();
    expect(told(same)).toMatchObject([{ type: 'key.created' }]);
    first.keys.create({ ...key, accessKey: 'b' });
    const { keys } = first;
    const later = observed({ records, keys });
    await later.gathered();
    expect(told(later)).toMatchObject([{ type: 'key.created' }, whole]);
  });

  it('is told as a whole after a crash', async () => {
    const records = new LocalRecords();
    const killed = observed({ records });
    await expect.poll(() => records.of('events').size).toBe(1);
    const atTheKill = new LocalRecords();
    await atTheKill.change([...records.of('events')].map(([id, body]) => ({ kind: 'events', id, body })));
    killed.keys.create(key);
    const next = observed({ records: atTheKill, keys: killed.keys });
    await Promise.all([killed.gathered(), next.gathered()]);
    expect(told(next)).toEqual([whole]);
  });

  it('is told as a whole once events can be written down again', async () => {
    const records = new LocalRecords();
    const { events, keys, gathered } = observed({ records });
    await expect.poll(() => records.of('events').size).toBe(1);
    const full = vi.spyOn(records, 'change').mockRejectedValueOnce(new DomainError('saveFailed'));
    keys.create(key);
    await expect.poll(() => full.mock.settledResults.length).toBe(1);
    await gathered();
    expect(events.latest(10)).toMatchObject([{ type: 'key.changed', data: { whole: true } }]);
  });
});

it('of several gateways come one behind the other, so that nobody who has read one misses another that is written later', async () => {
  const shared = new LocalRecords();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = Object.assign(Object.create(shared), {
    change: async (changes: Parameters<typeof shared.change>[0]) => {
      await held;
      return shared.change(changes);
    },
    of: shared.of.bind(shared),
    onChange: shared.onChange.bind(shared),
  });
  const ahead = observed({ records: shared });
  const behind = observed({ records: slow, now: () => Date.now() - 1000 });
  const cursor = ahead.events.newest;
  behind.events.emit('job.ended', { job: 'j' });
  ahead.events.emit('server.away', {});
  await ahead.gathered();
  const read = ahead.events.after(cursor, 10) ?? [];
  expect(read.map(({ type }) => type)).toEqual(['server.away']);
  release();
  await behind.gathered();
  expect(ahead.events.after(read[0]?.id ?? '', 10)).toMatchObject([{ type: 'job.ended' }]);
});

it('are followed from the newest on also after a quiet week', async () => {
  let now = 1_800_000_000_000;
  const { events, records, clock } = observed({ now: () => now });
  events.emit('server.away', {});
  events.emit('server.back', {});
  while (events.latest(2).length < 2) await new Promise((resolve) => setImmediate(resolve));
  const [oldest] = events.latest(2);
  now += 8 * 86_400_000;
  expect(events.after(events.newest, 10)).toEqual([]);
  expect(events.after(oldest?.id ?? '', 10)).toMatchObject([{ type: 'server.back' }]);
  // A webhook that has told all of them goes on waiting.
  await records.change([{ kind: 'events', id: 'webhook', body: JSON.stringify(events.newest) }]);
  const positions: unknown[] = [];
  records.onChange('events', () => void positions.push(records.of('events').get('webhook')));
  const lines: string[] = [];
  const log = { ...silent, warn: (_: object, message: string) => void lines.push(message) };
  const parts = { url: 'http://127.0.0.1:1/', secret: secretBytes(SECRET), pauses: [1], log };
  const webhook = new Webhook({ ...parts, events, records, clock });
  webhook.start();
  await new Promise((resolve) => setImmediate(resolve));
  await webhook.close();
  expect([positions, lines]).toEqual([[], []]);
});

async function stage() {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/etc', 0o700);
  await fileSystem.create(
    '/etc/server.json',
    Buffer.from('{"mode":"server","access_keys":[],"dns":{"enabled":false}}'),
    0o600,
  );
  const { app, call } = await ownStage({ configPath: '/etc/server.json', fileSystem });
  const list = async (query = ''): Promise<Told> => {
    const { status, body } = await call(`GET /events${query}`);
    expect(status).toBe(200);
    return (body as unknown as { data: Told }).data;
  };
  return { app, call, list, core: app.keyway.core };
}

describe('GET events', () => {
  it('answers the newest, whole, for a cursor that is none', async () => {
    const { core, list } = await stage();
    const { cursor } = await list();
    await core.createUser({ accessKey: 'a', name: null, limitBytes: null });
    await list(`?since=${cursor}&wait=60`);
    for (const wrong of ['', 'x', '000009999999999999-00000000'])
      expect(await list(`?since=${wrong}`)).toMatchObject({ whole: true, events: [{ type: 'key.created' }] });
  });
});

it('the end of a batch is told to the "create" token that began it, and to no other', async () => {
  const { app, call } = await ownStage();
  const bots = await Promise.all(
    ['bot', 'other'].map(async (name) => {
      const { body } = await call('POST /tokens', { body: { name, may: 'create' } });
      const { token } = Object(body).data;
      const own = callerOf(app);
      return (endpoint: string, asked?: unknown) =>
        own(endpoint, { body: asked, headers: { authorization: `Bearer ${token}` } });
    }),
  );
  await bots[0]?.('POST /keys/batch?wait=30', { items: [{ op: 'create', access_key: 'a' }] });
  await bots[1]?.('POST /keys/batch?wait=30', { items: [{ op: 'create', access_key: 'b' }] });
  const endsOf = async (bot: (typeof bots)[number]) => {
    const { body } = await bot('GET /events');
    // The interface says so.
    const { events } = Object(body).data as { readonly events: readonly OwnEvent[] };
    return events.flatMap(({ type, data }) => (type === 'job.ended' ? [data.by] : []));
  };
  await expect.poll(() => Promise.all(bots.map(endsOf))).toEqual([['bot'], ['other']]);
});

describe('a webhook', () => {
  it('is sent every event in order, signed, again until it is taken, without a key', async () => {
    const taken: { id: string; body: string }[] = [];
    let refusals = 2;
    let wake = (): void => undefined;
    const receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const id = String(request.headers['webhook-id']);
        const timestamp = String(request.headers['webhook-timestamp']);
        const mac = createHmac('sha256', Buffer.from(SECRET.slice(6), 'base64')).update(`${id}.${timestamp}.${body}`);
        const isSigned = request.headers['webhook-signature'] === `v1,${mac.digest('base64')}`;
        refusals -= 1;
        response.writeHead(isSigned && refusals < 0 ? 204 : 503).end();
        if (isSigned && refusals < 0) taken.push({ id, body });
        wake();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const { events, keys, records, clock, gathered } = observed();
    events.emit('server.away', {});
    while (events.latest(1).length === 0) await new Promise((resolve) => setImmediate(resolve));
    const parts = { url: `http://127.0.0.1:${port}/hook`, secret: secretBytes(SECRET), pauses: [1], log: silent };
    const open = () => {
      const webhook = new Webhook({ ...parts, events, records, clock });
      webhook.start();
      return webhook;
    };
    const until = async (count: number) => {
      while (taken.length < count)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    };
    const joined = vi.spyOn(AbortSignal, 'any');
    onTestFinished(() => joined.mockRestore());
    const first = open();
    expect(first.problems()).toEqual([]);
    while (!records.of('events').has('webhook')) await new Promise((resolve) => setImmediate(resolve));
    keys.create({ accessKey: 'secret-key', name: 'Anna', limitBytes: null });
    await gathered();
    events.emit('server.back', {});
    await until(2);
    // One whose answer is not read yet would be sent again, by the same id.
    while (records.of('events').get('webhook') !== JSON.stringify(taken[1]?.id))
      await new Promise((resolve) => setImmediate(resolve));
    await first.close();
    expect(first.status()).toEqual({ accepted: 2, failed: 2, abandoned: 0, failing: null });
    // A signal remembers for good what it was joined to, so that none is joined twice.
    const signals = joined.mock.calls.flatMap(([those]) => [...those]);
    expect([signals.length, new Set(signals).size]).toEqual([8, 8]);
    events.emit('job.ended', { job: 'j' });
    const second = open();
    await until(3);
    await second.close();
    expect(taken.map(({ body }) => JSON.parse(body).type)).toEqual(['key.created', 'server.back', 'job.ended']);
    expect(JSON.parse(taken[0]?.body ?? '')).toMatchObject({
      data: { keys: [{ name: 'Anna', digest: keyDigest('secret-key') }] },
    });
    expect(taken.some(({ body }) => body.includes('secret-key'))).toBe(false);
    expect(new Set(taken.map(({ id }) => id)).size).toBe(3);
    receiver.closeAllConnections();
  });

  it('gives an event up after a day, and goes on with the next', async () => {
    const day = 86_400_000;
    let now = 1_800_000_000_000;
    let passed = 0;
    const { events, records, clock } = observed({ now: () => now + passed, monotonic: () => passed });
    const lines: string[] = [];
    const note = (_: object, message: string) => void lines.push(message);
    const log = { ...silent, warn: note, error: note };
    const webhook = new Webhook({
      ...{ url: 'http://127.0.0.1:1/', secret: secretBytes(SECRET), pauses: [1], log, events, records, clock },
    });
    webhook.start();
    while (!records.of('events').has('webhook')) await new Promise((resolve) => setImmediate(resolve));
    events.emit('server.away', {});
    while (events.latest(1).length === 0) await new Promise((resolve) => setImmediate(resolve));
    await expect.poll(() => lines, { interval: 5 }).toHaveLength(1);
    passed += 7 * 60_000;
    expect(webhook.problems()).toEqual([
      { problem: 'webhook_failing', reason: expect.stringMatching(/an event that is 7 min old: .+; it is sent again/) },
    ]);
    // A clock that is set says nothing of how old it is.
    for (const set of [2 * day, -4 * day]) {
      now += set;
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(lines).toHaveLength(1);
    }
    passed += day + 1;
    const given = events.newest;
    while (records.of('events').get('webhook') !== JSON.stringify(given))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await expect.poll(() => webhook.problems()).toEqual([]);
    expect(webhook.status()).toMatchObject({ accepted: 0, abandoned: 1, failing: null });
    await webhook.close();
    expect(lines).toEqual([
      'the webhook does not take an event; it is sent again for a day',
      'an event is given up that the webhook did not take for a day',
    ]);
  });
});

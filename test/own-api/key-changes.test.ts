import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import { KeyChanges } from '../../src/own-api/key-changes.js';
import { wireKey } from '../../src/own-api/wire-key.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { removeFrom } from '../core/keys/remove-from.js';
import { listen, PASSWORD_HASH } from '../northbound/gateway.js';
import { ownStage, TOKEN } from './stage.js';

interface Changes {
  readonly cursor: string;
  readonly whole: boolean;
  readonly keys: readonly { readonly access_key: string; readonly [member: string]: unknown }[];
  readonly removed: readonly string[];
}

async function stage() {
  const { app, call } = await ownStage();
  const list = async (query = ''): Promise<Changes> => {
    const { status, body } = await call(`GET /keys${query}`);
    expect(status).toBe(200);
    return (body as unknown as { data: Changes }).data;
  };
  const { core } = app.keyway;
  const create = (accessKey: string) => core.createUser({ accessKey, name: null, limitBytes: null });
  return { app, core, create, list, registry: core.keys as KeyRegistry };
}

const names = ({ keys }: Changes) => keys.map(({ access_key }) => access_key);

describe('the changes of keys since a cursor', () => {
  it('tell a key that passes its limit whole', async () => {
    const { core, list, registry } = await stage();
    await core.createUser({ accessKey: 'a', name: null, limitBytes: 10n });
    const { cursor } = await list();
    registry.setCounters('a', { bytesUp: 10n, bytesDown: 0n, connections: 0n });
    expect((await list(`?since=${cursor}`)).keys).toMatchObject([
      { access_key: 'a', limit_bytes: 10n, status: 'over_limit' },
    ]);
  });

  it('are the whole list for a cursor that is malformed, of another state, or too old', async () => {
    const { create, list, registry } = await stage();
    const other = await (await stage()).list();
    await create('a');
    const { cursor } = await list();
    for (const wrong of ['', 'x', `${cursor}0-1`, other.cursor, cursor.replace(/-.*/, '-9-9-9')])
      expect(await list(`?since=${encodeURIComponent(wrong)}`)).toMatchObject({
        whole: true,
        keys: [{ access_key: 'a' }],
      });
    for (let n = 0; n < 70_000; n += 1) registry.update({ accessKey: 'a', name: String(n), limitBytes: null });
    expect((await list(`?since=${cursor}`)).whole).toBe(true);
  });

  it('lose nothing between the pages of a list, which carry the cursor of the first', async () => {
    const { core, create, list } = await stage();
    for (const key of ['a', 'b', 'c', 'd', 'e']) await create(key);
    const first = await list('?limit=2');
    await core.deleteUser('a');
    await create('aa');
    const second = await list('?limit=2&after=b');
    await core.updateUser({ accessKey: 'c', name: 'C', limitBytes: null });
    const third = await list('?limit=2&after=d');
    expect([first, second, third].map(names)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect([second.cursor, third.cursor]).toEqual([first.cursor, first.cursor]);
    const page = await list(`?since=${first.cursor}&limit=2`);
    expect([names(page), page.removed]).toEqual([['aa'], ['a']]);
    const rest = await list(`?since=${first.cursor}&limit=2&after=aa`);
    expect([names(rest), rest.cursor]).toEqual([['c'], page.cursor]);
    // Nobody was told the pages before this one here: what comes after it is everything.
    const unknown = await list('?limit=2&after=bb');
    expect((await list(`?since=${unknown.cursor}`)).whole).toBe(true);
  });

  it('and a list of all keys go on each for itself where one credential reads both up to the same key', async () => {
    const { core, create, list } = await stage();
    for (const key of ['a', 'b', 'c', 'd', 'e']) await create(key);
    const { cursor } = await list();
    for (const accessKey of ['b', 'e']) await core.updateUser({ accessKey, name: 'N', limitBytes: null });
    const changes = await list(`?since=${cursor}&limit=1`);
    const all = await list('?limit=2');
    expect([changes, all].map((page) => names(page).at(-1))).toEqual(['b', 'b']);
    const nextOfAll = await list('?limit=2&after=b');
    const nextOfChanges = await list(`?since=${cursor}&limit=1&after=b`);
    expect([names(nextOfAll), nextOfAll.whole]).toEqual([['c', 'd'], true]);
    expect([names(nextOfChanges), nextOfChanges.whole]).toEqual([['e'], false]);
  });

  it('are waited for', async () => {
    const { create, list } = await stage();
    const { cursor } = await list();
    const waiting = list(`?since=${cursor}&wait=60`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await create('a');
    expect(names(await waiting)).toEqual(['a']);
  });

  it('make of any list the list of now', async () => {
    const step = fc.tuple(
      fc.nat(12),
      fc.constantFrom('create', 'remove', 'update', 'reset', 'usage', 'look'),
      fc.nat(3),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const clock = { now: () => 0, monotonic: () => 0 };
        const registry = new KeyRegistry(() => 0);
        const changes = new KeyChanges(registry, { clock, random: systemRandom });
        const known = new Map<string, object>();
        let place = changes.now();
        const look = async (withCounters: boolean) => {
          const changed = await changes.after(place, { withCounters });
          if (changed === null) throw new Error('too old');
          const told: Changes = JSON.parse(changes.text(changed.place, false, changed.keys, () => null));
          for (const key of told.keys) known.set(key.access_key, { ...known.get(key.access_key), ...key });
          for (const accessKey of told.removed) known.delete(accessKey);
          ({ place } = changed);
          expect(changes.place(changes.cursor(place))).toEqual(place);
        };
        for (const [number, what, value] of steps) {
          const accessKey = `k${number}`;
          if (what === 'create') registry.create({ accessKey, name: null, limitBytes: BigInt(value) });
          if (what === 'remove') removeFrom(registry, accessKey);
          if (what === 'update') registry.update({ accessKey, name: `n${value}`, limitBytes: null });
          if (what === 'reset') registry.reset(accessKey);
          if (what === 'usage')
            registry.addUsage([{ accessKey, bytesUp: 1n, bytesDown: BigInt(value), connections: null }]);
          if (what === 'look') await look(value > 0);
        }
        await look(true);
        const present = new Map(
          [...registry.entries()].map((key) => [key.accessKey, JSON.parse(encodeJson(wireKey(key, () => null)))]),
        );
        expect(new Map([...known].sort())).toEqual(new Map([...present].sort()));
      }),
    );
  });
});

/** Reads a stream of events from a socket. */
async function openStream(port: number, headers: Record<string, string> = {}, path = '/panel/keyway/v1/keys') {
  const request = get({
    port,
    path,
    headers: { authorization: `Bearer ${TOKEN}`, accept: 'text/event-stream', ...headers },
  });
  onTestFinished(() => void request.destroy());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const text = response.headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip()) : response;
  const events: Changes[] = [];
  const types: string[] = [];
  const ids: string[] = [];
  let rest = '';
  let wake = (): void => undefined;
  let isOver = false;
  text.on('data', (chunk: Buffer) => {
    rest += chunk.toString();
    const parts = rest.split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (data === undefined) continue;
      events.push(JSON.parse(data));
      types.push(/^event: (.*)$/m.exec(part)?.[1] ?? '');
      ids.push(/^id: (.*)$/m.exec(part)?.[1] ?? '');
    }
    wake();
  });
  for (const event of ['end', 'error', 'close'])
    text.on(event, () => {
      isOver = true;
      wake();
    });
  const until = async (isThere: () => boolean): Promise<void> => {
    while (!isThere()) {
      if (isOver) throw new Error('the stream is over');
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const over = async (): Promise<void> => {
    while (!isOver)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  };
  return { request, response, events, types, ids, until, over };
}

describe('a stream of the changes of keys', () => {
  it.each(['identity', 'gzip'])('begins with all keys and goes on with what changes, sent as %s', async (coding) => {
    const { app, core, create } = await stage();
    for (let n = 0; n < 1_500; n += 1) await create(`k${n}`);
    const port = await listen(app);
    const { response, events, until } = await openStream(port, { 'accept-encoding': coding });
    expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    await until(() => events.length === 2);
    expect(events.map(({ whole, keys }) => [whole, keys.length])).toEqual([
      [true, 1_000],
      [false, 500],
    ]);
    await core.deleteUser('k7');
    await until(() => events.length === 3);
    expect(events[2]).toMatchObject({ whole: false, keys: [], removed: ['k7'] });
    await create('new');
    await until(() => events.length === 4);
    const again = await openStream(port, { 'last-event-id': events[2]?.cursor ?? '' });
    await again.until(() => again.events.length === 1);
    expect(again.events[0]).toMatchObject({ whole: false, keys: [{ access_key: 'new' }] });
  });

  it('is told to HEAD by its headers alone, and leaves nothing open', async () => {
    const { app } = await ownStage();
    const port = await listen(app);
    for (const path of ['keys', 'events'])
      for (let n = 0; n < 20; n += 1) {
        const headers = { accept: 'text/event-stream', authorization: `Bearer ${TOKEN}` };
        const answer = await fetch(`http://127.0.0.1:${port}/panel/keyway/v1/${path}`, { method: 'HEAD', headers });
        expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
      }
  });

  it('ends with its credential, within a second', async () => {
    const { app } = await ownStage();
    const login = await app.inject({
      method: 'POST',
      url: '/panel/api/login',
      payload: { username: 'admin', password: 'password' },
    });
    const headers = { authorization: `Bearer ${login.json().data.token}` };
    const stream = await openStream(await listen(app), headers);
    await stream.until(() => stream.events.length === 1);
    await app.inject({ method: 'POST', url: '/panel/api/login', payload: { username: 'admin', password: 'password' } });
    await stream.over();
    expect(stream.response.statusCode).toBe(200);
  });

  it('ends when Keyway stops', async () => {
    const { app } = await ownStage({ listener: { token: TOKEN, username: 'admin', passwordHash: PASSWORD_HASH } });
    const stream = await openStream(await listen(app));
    await stream.until(() => stream.events.length === 1);
    const closed = app.close();
    await stream.over();
    await closed;
  });

  it('is one of 16 that a credential may have', async () => {
    const { app } = await ownStage();
    const port = await listen(app);
    const streams = await Promise.all(Array.from({ length: 16 }, () => openStream(port)));
    await Promise.all(streams.map(({ until, events }) => until(() => events.length === 1)));
    const { response } = await openStream(port);
    expect(response.statusCode).toBe(429);
    streams[0]?.request.destroy();
    for (;;) {
      const next = await openStream(port);
      if (next.response.statusCode === 200) break;
    }
  });
});

describe('a stream of events', () => {
  it('tells them as they come, goes on behind the last one, and says where some may be missing', async () => {
    const { app, call } = await ownStage();
    const port = await listen(app);
    const end = async (key: string) =>
      call('POST /keys/batch?wait=30', { body: { items: [{ op: 'create', access_key: key }] } });
    const path = '/panel/keyway/v1/events';
    const first = await openStream(port, {}, path);
    await end('a');
    await first.until(() => first.types.includes('job.ended'));
    expect(first.types).not.toContain('whole');
    first.request.destroy();
    await end('b');
    const again = await openStream(port, { 'last-event-id': first.ids.at(-1) ?? '' }, path);
    await again.until(() => again.types.includes('job.ended'));
    expect(again.types).not.toContain('whole');
    const lost = await openStream(port, { 'last-event-id': '999999999999999-00000000' }, path);
    await lost.until(() => lost.types.includes('job.ended'));
    expect(lost.types[0]).toBe('whole');
    expect(lost.types.filter((type) => type === 'whole')).toHaveLength(1);
  });
});

import { afterEach, describe, expect, it, vi } from 'vitest';
import { Events } from '../../src/own-api/events.js';
import { KeyChanges } from '../../src/own-api/key-changes.js';
import { ownStage } from './stage.js';

const WAIT = { timeout: 20_000 };

afterEach(() => void vi.restoreAllMocks());

describe('calls of one credential that wait', () => {
  it.each([
    ['keys', '/keys'],
    ['events', '/events'],
  ])('for %s are 256, a further one is refused, and another credential waits on', async (_what, path) => {
    const { app, call } = await ownStage();
    const { core } = app.keyway;
    const { body } = await call(`GET ${path}`);
    const { cursor } = (body as { readonly data: { readonly cursor: string } }).data;
    const { secret } = await tokenOf(call, 'other', 'all');
    let over = 0;
    const ask = (headers = {}) =>
      call(`GET ${path}?since=${cursor}&wait=60`, { headers }).finally(() => {
        over += 1;
      });
    const waiting = Array.from({ length: 256 }, () => ask());
    const refused = await ask();
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_polls' } });
    expect(refused.headers['retry-after']).toBe('5');
    const other = ask({ authorization: `Bearer ${secret}` });
    // What needs no waiting is answered as ever.
    expect((await call(`GET ${path}?since=${cursor}&wait=0`)).status).toBe(200);
    expect(over).toBe(1);
    await core.createUser({ accessKey: 'a', name: null, limitBytes: null });
    const answers = await Promise.all([...waiting, other]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    // Their places are free again.
    expect((await call(`GET ${path}?since=&wait=1`)).status).toBe(200);
  });

  it('are answered after 55 s, before a proxy gives up', async () => {
    const { app, call } = await ownStage();
    const { body } = await call('GET /events');
    const { cursor } = (body as { readonly data: { readonly cursor: string } }).data;
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const waiting = call(`GET /events?since=${cursor}&wait=60`);
    // Others of this process may wait for longer, and for something else.
    const waits = () => timers.mock.calls.map(([, milliseconds]) => milliseconds);
    await vi.waitFor(() => expect(waits()).toContain(55_000), WAIT);
    await app.keyway.core.createUser({ accessKey: 'a', name: null, limitBytes: null });
    await waiting;
  });

  it('are answered at once by one encoding of a change, and by one of an event', async () => {
    // Callers share an answer for a second, which never ends by this clock.
    const { app, call } = await ownStage({ clock: { now: () => 0, monotonic: () => 0 } });
    const { core } = app.keyway;
    const data = async (path: string) => ((await call(`GET ${path}`)).body as { readonly data: object }).data;
    const [keys, events] = (await Promise.all([data('/keys'), data('/events')])) as { readonly cursor: string }[];
    const encoded = vi.spyOn(KeyChanges.prototype, 'text');
    const found = vi.spyOn(Events.prototype, 'after');
    const due = vi.spyOn(KeyChanges.prototype, 'due');
    const ask = (path: string, since = '') => call(`GET ${path}?since=${since}&wait=60`);
    const waiting = Array.from({ length: 100 }, () => [ask('/keys', keys?.cursor), ask('/events', events?.cursor)]);
    // Each asks whether its cursor is known here, then what came after it.
    await vi.waitFor(() => expect(found.mock.calls.length).toBe(200), WAIT);
    await vi.waitFor(() => expect(due.mock.calls.length).toBe(100), WAIT);
    found.mockClear();
    await core.createUser({ accessKey: 'a', name: null, limitBytes: null });
    const answers = await Promise.all(waiting.flat());
    expect(new Set(answers.map(({ body }) => JSON.stringify(body, plain))).size).toBe(2);
    expect(encoded).toHaveBeenCalledTimes(1);
    expect(found).toHaveBeenCalledTimes(1);
  });

  it('tell each of those who see their own keys alone what is theirs', async () => {
    const { app, call } = await ownStage();
    const { cursor } = ((await call('GET /keys')).body as { readonly data: { readonly cursor: string } }).data;
    const [one, other] = [await tokenOf(call, 'one', 'create'), await tokenOf(call, 'other', 'create')];
    const ask = async ({ secret }: { readonly secret: string }) => {
      const headers = { authorization: `Bearer ${secret}` };
      return (await call(`GET /keys?since=${cursor}&wait=60`, { headers })).body;
    };
    const payload = { access_key: 'mine' };
    const made = app.inject({
      method: 'POST',
      url: '/panel/api/users',
      payload,
      headers: { authorization: `Bearer ${one.secret}` },
    });
    expect((await made).statusCode).toBe(200);
    const own = await ask(one);
    expect(own).toMatchObject({ data: { keys: [{ access_key: 'mine' }] } });
    await expect(call(`GET /keys?since=${cursor}`)).resolves.toMatchObject({
      body: { data: { keys: [{ access_key: 'mine' }] } },
    });
    const headers = { authorization: `Bearer ${other.secret}` };
    expect((await call(`GET /keys?since=${cursor}`, { headers })).body).toMatchObject({ data: { keys: [] } });
  });
});

const plain = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

async function tokenOf(call: Awaited<ReturnType<typeof ownStage>>['call'], name: string, may: string) {
  const { body } = await call('POST /tokens', { body: { name, may } });
  return { secret: (body as unknown as { readonly data: { readonly token: string } }).data.token };
}

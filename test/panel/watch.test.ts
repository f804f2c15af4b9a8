import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type HttpAnswer, type HttpCall, streamEvents } from '../../panel/api/http.js';
import type { OwnInterface } from '../../panel/api/own-interface.js';
import { createServer } from '../../panel/api/server.js';
import { createUsers } from '../../panel/state/users.js';
import { keptInTab } from '../../panel/store/kept.js';
import { gate } from './gate.js';
import { createBrowser } from './without-browser.js';

const KEY = { access_key: 'guest', name: 'Guest', bytes_up: 0, bytes_down: 0, connections: 0, online: false };
const LIST = JSON.stringify({ ok: true, data: [{ ...KEY, limit_bytes: null }] });

/** A list of keys whose answers come when they are let go, and the streams that it has begun. */
function watchedUsers() {
  const answers: (() => void)[] = [];
  const streams: AbortSignal[] = [];
  const own: OwnInterface = {
    exchange: () => Promise.reject(new Error('not asked for here')),
    ask: async () => ({ cursor: 'c', whole: true, keys: [], removed: [] }),
    async *stream(_, signal) {
      streams.push(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  const send = (_: HttpCall) =>
    new Promise<HttpAnswer>((resolve) => answers.push(() => resolve({ headers: new Headers(), text: LIST })));
  const users = createUsers({
    ...{ server: createServer(send), own, root: '/api', tab: createBrowser().openTab().tab },
    ...{ tellsChanges: () => true, tellsConfiguration: () => false },
  });
  return { users, answers, streams };
}

describe('the watch over the list of keys', () => {
  it('has nothing of the keys after a sign-out, and takes no answer that comes later', async () => {
    const { users, answers, streams } = watchedUsers();
    users.watch();
    const first = users.load(true);
    await expect.poll(() => answers).toHaveLength(1);
    answers[0]?.();
    await first;
    expect(users.state.get().byKey.has('guest')).toBe(true);
    users.startAnew();
    const second = users.load(true);
    await expect.poll(() => answers).toHaveLength(2);
    users.rest();
    users.forget();
    expect(users.state.get().users).toBeNull();
    answers[1]?.();
    await second;
    expect(users.state.get().users).toBeNull();
    expect(streams.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('begins no stream once it is at rest, and goes on when it begins again', async () => {
    const { users, answers, streams } = watchedUsers();
    users.watch();
    const load = users.load(true);
    await expect.poll(() => answers).toHaveLength(1);
    users.rest();
    answers[0]?.();
    await load;
    await users.load(true);
    expect(answers).toHaveLength(1);
    expect(streams).toEqual([]);
    users.watch();
    const again = users.load(true);
    await expect.poll(() => answers).toHaveLength(2);
    answers[1]?.();
    await again;
    expect(streams.map(({ aborted }) => aborted)).toEqual([false]);
  });
});

it('no stream tells anything while changes are asked for, which might be newer than the answer', async () => {
  const told = (cursor: string, limits: Readonly<Record<string, number>>) => ({
    ...{ cursor, whole: false, removed: [] },
    keys: Object.entries(limits).map(([key, limit]) => ({ ...KEY, access_key: key, limit_bytes: limit })),
  });
  const tell: ((changes: object) => void)[] = [];
  const begun: string[] = [];
  const answers: ((changes: object) => void)[] = [];
  const own: OwnInterface = {
    exchange: () => Promise.reject(new Error('not asked for here')),
    ask: ({ path }) =>
      path.includes('since=') ? new Promise((resolve) => answers.push(resolve)) : Promise.resolve(told('1', {})),
    async *stream(path) {
      begun.push(path);
      for (;;)
        yield { event: 'message', data: JSON.stringify(await new Promise<object>((resolve) => tell.push(resolve))) };
    },
  };
  const users = createUsers({
    ...{
      server: createServer(async () => ({ headers: new Headers(), text: LIST })),
      own,
      root: '/api',
      tab: createBrowser().openTab().tab,
    },
    ...{ tellsChanges: () => true, tellsConfiguration: () => false },
  });
  const limits = () => users.state.get().users?.map(({ limit_bytes: limit }) => limit);
  users.watch();
  await users.load(true);
  const asked = users.load(true);
  await expect.poll(() => [answers.length, tell.length]).toEqual([1, 1]);
  tell[0]?.(told('3', { guest: 30 }));
  answers[0]?.(told('2', { guest: 20, desk: 2 }));
  await asked;
  expect(limits()).toEqual([20, 2]);
  expect(begun).toEqual(['/keys?since=1', '/keys?since=2']);
  await expect.poll(() => tell).toHaveLength(2);
  tell[1]?.(told('3', { guest: 30 }));
  await expect.poll(() => limits()).toEqual([30, 2]);
  users.rest();
});

it('a stream that is given up in the middle lets its connection go', async () => {
  const ended = gate();
  const server = createHttpServer((request, response) => {
    request.socket.once('close', ended.open);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // It listens on a port.
  for await (const { data } of streamEvents(`http://127.0.0.1:${port}`, { path: '/' }, new AbortController().signal)) {
    expect(data).toBe('1');
    break;
  }
  await ended.opened;
});

it('what there is no room for in the storage of the tab leaves nothing behind that is older', () => {
  const entries = new Map([['batches', 'of before']]);
  vi.stubGlobal('window', {
    sessionStorage: {
      removeItem: (name: string) => entries.delete(name),
      setItem: () => {
        throw new Error('QuotaExceededError');
      },
    },
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  keptInTab.write('batches', 'of now');
  expect([...entries]).toEqual([]);
});

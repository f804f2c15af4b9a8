import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HttpCall } from '../../panel/api/http.js';
import type { OwnInterface } from '../../panel/api/own-interface.js';
import { createServer } from '../../panel/api/server.js';
import { createUsers } from '../../panel/state/users.js';

const KEY = { access_key: 'guest', name: 'Guest', bytes_up: 0, bytes_down: 0, connections: 0, online: false };
const LIST = JSON.stringify({ ok: true, data: [{ ...KEY, limit_bytes: null }] });

/** A list of keys whose answers come when they are let go, and the streams that it has begun. */
function watchedUsers() {
  vi.stubGlobal('window', { addEventListener: () => undefined });
  vi.stubGlobal('document', { addEventListener: () => undefined, hidden: false });
  onTestFinished(() => void vi.unstubAllGlobals());
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
  const send = (_: HttpCall) => new Promise<string>((resolve) => answers.push(() => resolve(LIST)));
  const users = createUsers({
    ...{ server: createServer(send), own, root: '/api' },
    ...{ tellsChanges: () => true, tellsConfiguration: () => false },
  });
  return { users, answers, streams };
}

describe('the watch over the list of keys', () => {
  it('has nothing of the keys after a sign-out, and takes no answer that comes later', async () => {
    const { users, answers, streams } = watchedUsers();
    users.watch();
    const first = users.load(true);
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    answers[0]?.();
    await first;
    expect(users.state.get().byKey.has('guest')).toBe(true);
    users.startAnew();
    const second = users.load(true);
    await vi.waitFor(() => expect(answers).toHaveLength(2));
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
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    users.rest();
    answers[0]?.();
    await load;
    await users.load(true);
    expect(answers).toHaveLength(1);
    expect(streams).toEqual([]);
    users.watch();
    const again = users.load(true);
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    answers[1]?.();
    await again;
    expect(streams.map(({ aborted }) => aborted)).toEqual([false]);
  });
});

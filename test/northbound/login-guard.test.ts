import { describe, expect, it } from 'vitest';
import { createLoginGuard } from '../../src/northbound/login-guard.js';
import { gatewayForTest, PASSWORD_HASH } from './gateway.js';

const MINUTE = 60_000;

function clockAt(start: number) {
  const time = { now: start };
  return { time, clock: { now: () => time.now, monotonic: () => time.now } };
}

describe('the login guard', () => {
  it('after 5 failures within 5 minutes keeps the address waiting until the first of them is 5 minutes old', () => {
    const { time, clock } = clockAt(1000);
    const guard = createLoginGuard({ failures: 5, window: 5 * MINUTE }, clock);
    for (let failure = 0; failure < 5; failure += 1) {
      expect(guard.retryAfter('a')).toBeNull();
      guard.failed('a');
      time.now += MINUTE;
    }
    expect(guard.retryAfter('a')).toBeNull();
    guard.failed('a');
    expect(guard.retryAfter('a')).toBe(60);
    expect(guard.retryAfter('b')).toBeNull();
    time.now += MINUTE;
    expect(guard.retryAfter('a')).toBeNull();
  });

  it('a success clears the count', () => {
    const { clock } = clockAt(0);
    const guard = createLoginGuard({ failures: 1, window: MINUTE }, clock);
    guard.failed('a');
    guard.succeeded('a');
    expect(guard.retryAfter('a')).toBeNull();
  });

  it('remembers 10,000 addresses at most, the latest', () => {
    const { clock } = clockAt(0);
    const guard = createLoginGuard({ failures: 1, window: MINUTE }, clock);
    for (let address = 0; address <= 10_000; address += 1) guard.failed(`${address}`);
    expect(guard.retryAfter('0')).toBeNull();
    expect(guard.retryAfter('1')).not.toBeNull();
    expect(guard.retryAfter('10000')).not.toBeNull();
  });
});

describe('POST /login', () => {
  it('after 5 failures from one address answers 401 with Retry-After even with the right password, until the time is over', async () => {
    const { time, clock } = clockAt(0);
    const listener = { username: 'admin', passwordHash: PASSWORD_HASH };
    const app = await gatewayForTest({
      mounts: [{ revision: 'dns' }],
      listener,
      clock,
      loginGuard: { failures: 5, window: 5 * MINUTE },
    });
    const login = (password: string) =>
      app.inject({ method: 'POST', url: '/panel/api/login', payload: { username: 'admin', password } });
    for (let failure = 0; failure < 4; failure += 1) expect((await login('no')).headers['retry-after']).toBeUndefined();
    expect((await login('no')).headers['retry-after']).toBe('300');
    const refused = await login('password');
    expect([refused.statusCode, refused.json(), refused.headers['retry-after']]).toEqual([
      401,
      { ok: false, error: 'unauthorized' },
      '300',
    ]);
    time.now += 5 * MINUTE;
    expect((await login('password')).statusCode).toBe(200);
  });

  it('counts per address, and by X-Forwarded-For only from a trusted proxy', async () => {
    const listener = { username: 'admin', passwordHash: PASSWORD_HASH };
    const guard = { failures: 1, window: MINUTE };
    const statuses = async (trustProxy: readonly string[]) => {
      const app = await gatewayForTest({ mounts: [{ revision: 'dns' }], listener, loginGuard: guard, trustProxy });
      const from = (address: string, password: string) =>
        app.inject({
          method: 'POST',
          url: '/panel/api/login',
          headers: { 'x-forwarded-for': address },
          payload: { username: 'admin', password },
        });
      await from('192.0.2.1', 'no');
      return [(await from('192.0.2.1', 'password')).statusCode, (await from('192.0.2.2', 'password')).statusCode];
    };
    expect(await statuses(['127.0.0.1'])).toEqual([401, 200]);
    expect(await statuses([])).toEqual([401, 401]);
  });
});

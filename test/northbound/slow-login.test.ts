import { describe, expect, it } from 'vitest';
import { isPbkdf2Password } from '../../src/core/password.js';
import type { TokenGuard } from '../../src/core/token-guard.js';
import { createLogin } from '../../src/northbound/login.js';
import { createLoginGuard } from '../../src/northbound/login-guard.js';
import type { Mount } from '../../src/northbound/mount.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { gatewayForTest } from './gateway.js';

const PASSWD = 'pbkdf2-sha256$1$73616c74$55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc';
const SLOW = PASSWD.replace('$1$', '$2000000$');
const MINUTE = 60_000;
const NETWORK = '192.0.2.1';

/** A login over these credentials, whose outcomes are counted. */
function stage(failures: number | null) {
  let credentials = { token: null, username: 'admin', passwordHash: PASSWD };
  const change = (changed: Partial<typeof credentials>): void => {
    credentials = { ...credentials, ...changed };
  };
  const counts = { begun: 0, refused: 0, waiting: 0 };
  const guard = createLoginGuard(failures === null ? 'off' : { failures, window: 5 * MINUTE }, systemClock);
  const tokens: Pick<TokenGuard, 'handedOut'> = { handedOut: () => undefined };
  const session = { begin: () => undefined };
  // A login looks at nothing else of its mount.
  const mount = { session } as unknown as Mount;
  const login = createLogin(() => credentials, guard, tokens, systemRandom, {
    login: (_, outcome) => {
      counts[outcome] += 1;
    },
  });
  const callerOf = (network: string) => ({ address: network, network });
  const begin = (password: string, network = NETWORK) =>
    login.begin(mount, callerOf(network), 'admin', password).then(
      () => true,
      () => false,
    );
  const retryAfter = (network: string) => login.retryAfter(callerOf(network));
  const keepsWaiting = (network: string) => login.keepsWaiting(mount, callerOf(network));
  return { change, counts, begin, retryAfter, keepsWaiting };
}

describe('a login with a password hash that is slow to compare', () => {
  it('lets the right password in, and neither another one nor another name', async () => {
    const listener = { username: 'admin', passwordHash: PASSWD };
    const app = await gatewayForTest({ mounts: [{ revision: 'current' }], listener });
    const status = async (username: string, password: string) => {
      const payload = { username, password };
      return (await app.inject({ method: 'POST', url: '/panel/api/login', payload })).statusCode;
    };
    expect(await status('admin', 'passwd')).toBe(200);
    expect(await status('admin', 'password')).toBe(401);
    expect(await status('root', 'passwd')).toBe(401);
  });

  it('looks at no more passwords of a network than its guard lets fail, also where all of them come at once', async () => {
    const { counts, begin } = stage(5);
    expect(await Promise.all(Array.from({ length: 20 }, () => begin('no')))).not.toContain(true);
    expect(counts).toEqual({ begun: 0, refused: 5, waiting: 15 });
    expect(await begin('passwd')).toBe(false);
  });

  it('has 32 attempts under way at most, and tells the next one when to come again', async () => {
    const { counts, begin, retryAfter } = stage(null);
    const all = Array.from({ length: 40 }, (_, index) => begin('passwd', `192.0.2.${index}`));
    expect(retryAfter('198.51.100.1')).toBe(1);
    expect((await Promise.all(all)).filter((isIn) => isIn)).toHaveLength(32);
    expect(counts).toEqual({ begun: 32, refused: 0, waiting: 8 });
    expect(retryAfter('198.51.100.1')).toBeNull();
    expect(await begin('passwd')).toBe(true);
  });

  it.each([5, null])('lets no network take the room of others, with a guard of %s failures', async (failures) => {
    const { begin, keepsWaiting } = stage(failures);
    const guesses = Array.from({ length: 40 }, () => begin('no'));
    // Before a body is read.
    expect([keepsWaiting(NETWORK), keepsWaiting('198.51.100.1')]).toEqual([1, null]);
    expect(await begin('passwd', '198.51.100.1')).toBe(true);
    expect(await Promise.all(guesses)).not.toContain(true);
  });

  it('does not hold up the event loop', async () => {
    const turns = { count: 0 };
    const looking = isPbkdf2Password('passwd', SLOW).then(() => 'looked at');
    const others = async () => {
      while (turns.count < 10) {
        turns.count += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
      return 'others had their turn';
    };
    expect(await Promise.race([looking, others()])).toBe('others had their turn');
    await looking;
  });

  it.each([
    ['password', { passwordHash: SLOW }],
    ['name', { username: 'root' }],
  ])('lets nobody in whose %s was changed while the password was looked at', async (_, changed) => {
    const { change, begin } = stage(5);
    const begun = begin('passwd');
    change(changed);
    expect(await begun).toBe(false);
  });
});

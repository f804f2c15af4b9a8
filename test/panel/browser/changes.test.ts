import type { Page, Request } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatSize } from '../../../panel/text/sizes.js';
import type { GatewayOptions } from '../../../src/index.js';
import { describeDatabase, freshDatabase } from '../../homes/database/database.js';
import { CREDENTIALS, fileOf } from '../../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';
import { TOKEN } from '../server-files.js';
import { setHidden, withPanel } from './in-browser.js';
import { goTo, listenForPages, openPage, refreshNow, signIn, startStage } from './stage.js';

const isWholeList = (request: Request) => request.method() === 'GET' && request.url().endsWith('/users');
const isStream = (request: Request) => request.headers().accept === 'text/event-stream';
const isQuestion = (request: Request) => request.url().includes('since=') && !isStream(request);

/** Opens the list anew, and notes what is asked for once the stream of its changes has begun. */
async function openFollowed(page: Page): Promise<Request[]> {
  await goTo(page, 'Keys');
  const begun = page.waitForEvent('request', isStream);
  await page.reload();
  await page.getByRole('link', { name: 'Guests' }).waitFor();
  await begun;
  const asked: Request[] = [];
  page.on('request', (request) => asked.push(request));
  return asked;
}

const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

describe('the list of keys', () => {
  it('has what others change at once, without being asked for again', async () => {
    const test = async (page: Page, stage: Awaited<ReturnType<typeof startStage>>) => {
      const asked = await openFollowed(page);
      await stage.call('POST', '/users', { access_key: 'by-a-bot', name: 'By a bot' });
      await page.getByRole('link', { name: 'By a bot' }).waitFor();
      expect(asked.filter(isQuestion)).toEqual([]);
      await stage.call('PUT', '/users/by-a-bot', { name: 'Renamed', limit_bytes: 5 * 2 ** 30 });
      await row(page, 'Renamed').getByText('5 GiB').waitFor();
      await stage.call('DELETE', '/users/guest-2026');
      await page.getByRole('link', { name: 'Guests' }).waitFor({ state: 'detached' });
      expect(asked.filter(isWholeList)).toEqual([]);
      await page.getByText('4 keys').waitFor();
    };
    await withPanel('current', test);
  });

  it('asks for what changed when somebody wants to know, counters too', async () => {
    const test = async (page: Page, stage: Awaited<ReturnType<typeof startStage>>) => {
      const asked = await openFollowed(page);
      stage.app.keyway.local?.keys.setCounters('guest-2026', {
        bytesUp: 0n,
        bytesDown: 7n * 2n ** 40n,
        connections: 7n,
      });
      await refreshNow(page);
      await row(page, 'Guests')
        .getByText(formatSize(7n * 2n ** 40n, 'en'))
        .first()
        .waitFor();
      expect(asked.filter(isWholeList)).toEqual([]);
    };
    await withPanel('current', test);
  });

  it('is followed in no hidden tab, and has what came meanwhile when it is seen again', async () => {
    const test = async (page: Page, stage: Awaited<ReturnType<typeof startStage>>) => {
      await openFollowed(page);
      const ended = page.waitForEvent('requestfailed', isStream);
      await setHidden(page, true);
      await ended;
      await stage.call('POST', '/users', { access_key: 'meanwhile', name: 'Meanwhile' });
      const begun = page.waitForEvent('request', isStream);
      await setHidden(page, false);
      await page.getByRole('link', { name: 'Meanwhile' }).waitFor();
      await begun;
      await stage.call('POST', '/users', { access_key: 'later', name: 'Later' });
      await page.getByRole('link', { name: 'Later' }).waitFor();
    };
    await withPanel('current', test);
  });

  it('is asked for what changed every 5 s where no stream is to be had', async () => {
    const test = async (page: Page, stage: Awaited<ReturnType<typeof startStage>>) => {
      await page.route(/keyway\/v1\/keys/, (route) =>
        isStream(route.request())
          ? route.fulfill({ status: 429, json: { ok: false, error: 'too many', code: 'too_many_streams' } })
          : route.continue(),
      );
      const asked = await openFollowed(page);
      await stage.call('POST', '/users', { access_key: 'by-a-bot', name: 'By a bot' });
      await page.clock.fastForward(6_000);
      await page.getByRole('link', { name: 'By a bot' }).waitFor();
      expect(asked.filter(isQuestion)).not.toEqual([]);
      expect(asked.filter(isWholeList)).toEqual([]);
    };
    await withPanel('current', test, { clock: true });
  });

  it('is asked for as a whole where the interface says that it is not there', async () => {
    const test = async (page: Page, stage: Awaited<ReturnType<typeof startStage>>) => {
      const asked = await openFollowed(page);
      await page.route(/keyway\/v1\/keys/, (route) => route.fulfill({ status: 404, body: 'not found' }));
      await stage.call('POST', '/users', { access_key: 'by-a-bot', name: 'By a bot' });
      await refreshNow(page);
      await page.getByRole('link', { name: 'By a bot' }).waitFor();
      await refreshNow(page);
      await expect.poll(() => asked.filter(isWholeList).length).toBeGreaterThan(0);
    };
    await withPanel('current', test, { clock: true });
  });

  it('says of when it is once it is older than 10 s', async () => {
    const test = async (page: Page) => {
      await openFollowed(page);
      const age = page.getByText(/^as of \d+:\d\d:\d\d/);
      expect(await age.count()).toBe(0);
      let isAway = true;
      await page.route(/\/api\/|\/keyway\//, (route) => (isAway ? route.abort() : route.continue()));
      await page.clock.fastForward(11_000);
      await age.waitFor();
      isAway = false;
      const isOld = async () => {
        await page.clock.fastForward(5_000);
        return age.count();
      };
      await expect.poll(isOld, { interval: 500 }).toBe(0);
    };
    await withPanel('current', test, { clock: true, expected: /ERR_FAILED/ });
  });
});

it('changes come again after a restart of Keyway', async () => {
  const first = await startStage('current');
  const { page, expectClean, close } = await openPage(first.panel, { expected: /ERR_|status of 50/ });
  // A token outlives the restart, a session does not.
  await page.getByRole('button', { name: 'Token' }).click();
  await page.getByLabel('API token').fill(TOKEN);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await openFollowed(page);
  await first.close();
  const again = page.waitForEvent('request', isStream);
  const second = await startStage('current', { port: Number(new URL(first.origin).port) });
  onTestFinished(() => second.close());
  await again;
  await second.call('POST', '/users', { access_key: 'after-it', name: 'After it' });
  await page.getByRole('link', { name: 'After it' }).waitFor();
  expectClean();
  await close();
});

/** Follows a list over a home; the keys are made by its API. */
async function follows(options: Partial<GatewayOptions>, token: string): Promise<void> {
  const { createGateway } = await import('../../../src/index.js');
  const app = await createGateway({ mounts: [{ revision: 'current' }], loginGuard: 'off', ...options });
  onTestFinished(() => app.close());
  const origin = await listenForPages(app);
  const base = `${origin}${app.keyway.mounts[0]?.base}`;
  const make = (key: string) =>
    fetch(`${base}/api/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ access_key: key, name: `Name of ${key}` }),
    });
  await make('first');
  const { page, expectClean, close } = await openPage(`${base}/`);
  const begun = page.waitForEvent('request', isStream);
  await signIn(page, 'password');
  await goTo(page, 'Keys');
  await page.getByRole('link', { name: 'Name of first' }).waitFor();
  await begun;
  await make('second');
  await page.getByRole('link', { name: 'Name of second' }).waitFor();
  expectClean();
  await close();
}

describeDatabase('over a database', () => {
  it('changes come by themselves', async () => {
    const passwordHash = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';
    const listener = { token: TOKEN, username: 'admin', passwordHash };
    await follows({ database: { url: await freshDatabase() }, listener }, TOKEN);
  });
});

it('changes come by themselves in front of a server', async () => {
  const standIn = await standInOf('0.2.96', { ...LOSES_NOTHING, reloadFactor: 0 }, fileOf('0.2.96'));
  await follows({ upstream: { url: `${standIn.origin}/panel`, token: CREDENTIALS.token } }, CREDENTIALS.token);
});

it('keys of a list without names have those of the configuration, also after one was changed', async () => {
  const other = await startStage('earliest');
  const stage = await startStage('current', { panelServers: [{ root: `${other.origin}/api`, name: 'Earliest' }] });
  onTestFinished(async () => {
    await stage.close();
    await other.close();
  });
  const { page, expectClean, close } = await openPage(stage.panel, { allowed: [other.origin] });
  await page.getByLabel('Server').selectOption(`${other.origin}/api`);
  await page.getByLabel('API token').fill(TOKEN);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await goTo(page, 'Keys');
  await page.getByRole('link', { name: 'Guests' }).waitFor();
  await page.getByLabel('Search by name or key').fill('gues');
  await page.getByText('1 of 4').waitFor();
  await other.writeFile((await other.fileText()).replace('"Guests"', '"Guests of 2026"'));
  const renamed = async () => {
    await refreshNow(page);
    return page.getByRole('link', { name: 'Guests of 2026' }).count();
  };
  await expect.poll(renamed).toBe(1);
  expectClean();
  await close();
});

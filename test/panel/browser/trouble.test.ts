import type { Page, Request } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { startScriptedServer } from '../../stand-in/scripted-server.js';
import { setHidden, withPanel } from './in-browser.js';
import { goTo, openPage, picture, refreshNow, startStage } from './stage.js';

describe('a server that answers badly', () => {
  /** A server whose users answer is whatever `answer` gives. */
  async function badServer(
    answer: () => { readonly status: number; readonly type: string; readonly body: string } | 'cut',
  ) {
    return startScriptedServer((request, response) => {
      response.setHeader('access-control-allow-origin', '*');
      response.setHeader('access-control-allow-headers', 'authorization, content-type');
      if (request.method === 'OPTIONS') return response.end();
      if (request.url?.endsWith('/users') !== true) {
        response.setHeader('content-type', 'application/json');
        return response.end('{"ok":true,"data":{"version":"0","uptime_seconds":1,"active_users":0,"total_users":0}}');
      }
      const given = answer();
      if (given === 'cut') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
        response.write('{"ok":true,"data":[');
        return response.destroy();
      }
      response.writeHead(given.status, { 'content-type': given.type });
      return response.end(given.body);
    });
  }

  it('says so in words, keeps the page working, and goes on when the server is well again', async () => {
    const json = 'application/json';
    const user = `{"access_key":"k","name":"${'n'.repeat(10_000)}","bytes_up":0,"bytes_down":18446744073709551615,"connections":0,"limit_bytes":null,"online":false,"last_seen":null}`;
    const cases = [
      { given: { status: 200, type: 'text/html', body: '<h1>hello</h1>' }, sentence: 'The server sent a web page' },
      { given: { status: 200, type: json, body: '' }, sentence: 'The server’s answer is incomplete' },
      {
        given: { status: 200, type: json, body: '{"ok":true,"data":[{"access_key":1}]}' },
        sentence: 'unexpected value at data[0]',
      },
      {
        given: { status: 200, type: json, body: '{"ok":true,"data":[{"acc' },
        sentence: 'The server’s answer is incomplete',
      },
      { given: { status: 500, type: 'text/plain', body: 'oops' }, sentence: 'Server error (500)' },
      { given: 'cut' as const, sentence: 'The server does not answer' },
    ];
    let now: (typeof cases)[number]['given'] = { status: 200, type: json, body: `{"ok":true,"data":[${user}]}` };
    const bad = await badServer(() => now);
    const stage = await startStage('current', { panelServers: [{ root: `${bad.origin}/api`, name: '' }] });
    const { page, expectClean, close } = await openPage(stage.panel, {
      allowed: [bad.origin],
      expected: /status of 500|ERR_CONTENT_LENGTH_MISMATCH|ERR_CONNECTION|ERR_EMPTY_RESPONSE/,
    });
    await page.getByLabel('Server').selectOption(`${bad.origin}/api`);
    await goTo(page, 'Keys');
    await page.getByText('16 EiB').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    for (const { given, sentence } of cases) {
      now = given;
      await refreshNow(page);
      await page.getByText(sentence).first().waitFor();
      await page.getByText('No connection since').waitFor();
    }
    await picture(page, 'current-away');
    now = { status: 200, type: json, body: `{"ok":true,"data":[${user}]}` };
    await page.getByRole('button', { name: 'Retry now' }).click();
    await page.getByText('No connection since').waitFor({ state: 'detached' });
    expectClean();
    await close();
    await stage.close();
    bad.close();
  });
});

it('what failed of several is told with the action, the keys by name and the reason, until it is dismissed', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await goTo(page, 'Keys');
      await page.getByLabel('Select all shown').check();
      await page.route(`${stage.api}/users/*/limit`, async (route) => {
        if (route.request().url().includes('guest-2026')) await route.fulfill({ status: 500, body: 'oops' });
        else await route.continue();
      });
      await page.getByRole('toolbar').getByRole('button', { name: 'Limit' }).click();
      await page.getByRole('dialog').getByLabel('Limit', { exact: true }).fill('7');
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByText('Could not set the limit of 1 key: Guests. Server error (500).').waitFor();
      await page.getByText('Limit of 3 keys set.').waitFor();
      await page.clock.fastForward(600_000);
      await page.getByText('Could not set the limit').waitFor();
      await page.getByRole('button', { name: 'Dismiss' }).last().click();
      await page.getByText('Could not set the limit').waitFor({ state: 'detached' });
    },
    { clock: true, expected: /status of 500/, stage: { ownApi: false } },
  );
});

describe('refreshing', () => {
  /** Stands the page's time still between refreshes, and counts from then on how often it asks for the keys. */
  async function standStill(page: Page): Promise<() => Promise<number>> {
    let asked = 0;
    const under = new Set<Request>();
    page.on('request', (request) => {
      under.add(request);
      if (request.method() === 'GET' && request.url().endsWith('/users')) asked += 1;
    });
    page.on('requestfinished', (request) => under.delete(request));
    page.on('requestfailed', (request) => under.delete(request));
    const settled = async () => {
      // What the page does with an answer comes before what it is asked afterwards.
      await expect.poll(() => under.size).toBe(0);
      await page.evaluate(
        'new Promise((done) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); })',
      );
      await expect.poll(() => under.size).toBe(0);
      return asked;
    };
    const refreshed = async () => {
      const before = asked;
      await refreshNow(page);
      await expect.poll(() => asked).toBeGreaterThan(before);
      await settled();
    };
    // It comes behind what was under way before anybody counted.
    await refreshed();
    await page.clock.pauseAt(Date.now() + 3_600_000);
    // One that the leap fell into seems to have taken an hour, and is given its rest: over this one the time stands.
    await settled();
    await refreshed();
    return settled;
  }

  it('happens every 5 seconds, not in a hidden tab, and at once when the tab is seen again', async () => {
    await withPanel(
      'current',
      async (page) => {
        await goTo(page, 'Keys');
        await page.getByRole('link', { name: 'Guests' }).waitFor();
        const asked = await standStill(page);
        const before = await asked();
        for (let turn = 1; turn <= 3; turn += 1) {
          await page.clock.runFor(4_999);
          expect(await asked()).toBe(before + turn - 1);
          await page.clock.runFor(1);
          await expect.poll(asked).toBe(before + turn);
        }
        await setHidden(page, true);
        await page.clock.runFor(600_000);
        expect(await asked()).toBe(before + 3);
        await setHidden(page, false);
        await expect.poll(asked).toBe(before + 4);
        await page.clock.runFor(5_000);
        await expect.poll(asked).toBe(before + 5);
      },
      { clock: true, stage: { ownApi: false } },
    );
  });

  it('asks a server that is away every 4 seconds whether it is back, and nothing else, and loses nothing typed', async () => {
    await withPanel(
      'current',
      async (page) => {
        await goTo(page, 'Keys');
        await page.getByRole('link', { name: 'Guests' }).waitFor();
        const asked = await standStill(page);
        const before = await asked();
        await page.getByLabel('Search by name or key').fill('gue');
        let tries = 0;
        let isBack = false;
        await page.route('**/api/**', (route) => {
          if (isBack) return route.continue();
          if (route.request().url().endsWith('/server/status')) tries += 1;
          return route.abort();
        });
        await page.clock.runFor(5_000);
        const bar = page.getByRole('alert').filter({ hasText: 'No connection since' });
        await bar.filter({ hasText: 'The server does not answer. Retrying every few seconds.' }).waitFor();
        expect(await asked()).toBe(before + 1);
        await page.clock.runFor(4_000);
        await expect.poll(() => tries).toBe(2);
        for (const turn of [3, 4, 5]) {
          // The next try is counted from the moment at which the page has learnt that the last one failed.
          expect(await asked()).toBe(before + 1);
          await page.clock.runFor(3_999);
          expect(tries).toBe(turn - 1);
          await page.clock.runFor(1);
          await expect.poll(() => tries).toBe(turn);
        }
        expect(await asked()).toBe(before + 1);
        isBack = true;
        await page.clock.runFor(4_000);
        await bar.waitFor({ state: 'detached' });
        await expect.poll(asked).toBe(before + 2);
        expect(await page.getByLabel('Search by name or key').inputValue()).toBe('gue');
        await page.getByRole('link', { name: 'Guests' }).waitFor();
      },
      { clock: true, locale: 'en-GB', expected: /ERR_FAILED/, stage: { ownApi: false } },
    );
  });

  it('gives up on an answer that does not come, and takes it when it comes after all', async () => {
    await withPanel(
      'current',
      async (page) => {
        await page.getByText('Guests').first().waitFor();
        let letGo = () => {};
        const gate = new Promise<void>((resolve) => {
          letGo = resolve;
        });
        const asked = new Promise<void>((resolve) => {
          void page.route('**/server/status', async (route) => {
            resolve();
            await gate;
            await route.continue().catch(() => undefined);
          });
        });
        await refreshNow(page);
        await asked;
        await page.clock.fastForward(21_000);
        await page.getByText('The server did not answer in time.').waitFor();
        letGo();
        await page.getByRole('button', { name: 'Retry now' }).click();
        await page.getByText('No connection since').waitFor({ state: 'detached' });
      },
      { clock: true },
    );
  });
});

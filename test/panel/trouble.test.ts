import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page, Request } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { inBrowser, setHidden } from './in-browser.js';
import { goTo, picture, refreshNow, startStage } from './stage.js';

const { open, withPanel } = inBrowser();

describe('a server that answers badly', () => {
  /** A server whose users answer is whatever `answer` gives. */
  async function badServer(
    answer: () => { readonly status: number; readonly type: string; readonly body: string } | 'cut',
  ) {
    const server = createServer((request, response) => {
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
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
  }

  it('says so in words, keeps the page working, and goes on when the server is well again', async () => {
    const json = 'application/json';
    const user = `{"access_key":"k","name":"${'n'.repeat(10_000)}","bytes_up":0,"bytes_down":18446744073709551615,"connections":0,"limit_bytes":null,"online":false,"last_seen":null}`;
    const cases = [
      { given: { status: 200, type: 'text/html', body: '<h1>hello</h1>' }, sentence: 'A web page came where' },
      { given: { status: 200, type: json, body: '' }, sentence: 'The answer cannot be understood' },
      {
        given: { status: 200, type: json, body: '{"ok":true,"data":[{"access_key":1}]}' },
        sentence: 'data[0] is not as expected',
      },
      {
        given: { status: 200, type: json, body: '{"ok":true,"data":[{"acc' },
        sentence: 'The answer cannot be understood',
      },
      { given: { status: 500, type: 'text/plain', body: 'oops' }, sentence: 'The server failed (500)' },
      { given: 'cut' as const, sentence: 'The server does not answer' },
    ];
    let now: (typeof cases)[number]['given'] = { status: 200, type: json, body: `{"ok":true,"data":[${user}]}` };
    const bad = await badServer(() => now);
    const stage = await startStage('current', { panelServers: [`${bad.origin}/api`] });
    const { page, expectClean } = await open(stage.panel, {
      allowed: [bad.origin],
      expected: /status of 500|ERR_CONTENT_LENGTH_MISMATCH|ERR_CONNECTION|ERR_EMPTY_RESPONSE/,
    });
    await page.getByLabel('Server').selectOption(`${bad.origin}/api`);
    await goTo(page, 'Keys');
    await page.getByText('16,384').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    for (const { given, sentence } of cases) {
      now = given;
      await refreshNow(page);
      await page.getByText(sentence).first().waitFor();
      await page.getByText('Not reached since').waitFor();
    }
    await picture(page, 'current-away');
    now = { status: 200, type: json, body: `{"ok":true,"data":[${user}]}` };
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('Not reached since').waitFor({ state: 'detached' });
    expectClean();
    await page.context().close();
    await stage.close();
    bad.close();
  });
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
    await page.clock.pauseAt(Date.now() + 3_600_000);
    return async () => {
      // What the page does with an answer comes before what it is asked afterwards.
      await expect.poll(() => under.size).toBe(0);
      await page.evaluate(
        'new Promise((done) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); })',
      );
      await expect.poll(() => under.size).toBe(0);
      return asked;
    };
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
      { clock: true },
    );
  });

  it('slows down while the server is away, says since when and until when, and loses nothing typed', async () => {
    await withPanel(
      'current',
      async (page) => {
        await goTo(page, 'Keys');
        await page.getByRole('link', { name: 'Guests' }).waitFor();
        const asked = await standStill(page);
        await asked();
        await page.getByLabel('Search by name or key').fill('gue');
        await page.route('**/api/**', (route) => route.abort());
        await page.clock.runFor(5_000);
        const bar = page.getByRole('alert').filter({ hasText: 'Not reached since' });
        await bar.filter({ hasText: 'The server does not answer. Next try at' }).waitFor();
        const before = await asked();
        for (const [index, seconds] of [5, 10, 20, 40, 60, 60].entries()) {
          await bar.filter({ hasText: await nextTry(page, seconds) }).waitFor();
          await page.clock.runFor(seconds * 1000 - 1);
          expect(await asked()).toBe(before + index);
          await page.clock.runFor(1);
          await expect.poll(asked).toBe(before + index + 1);
        }
        await page.unroute('**/api/**');
        await page.clock.runFor(60_000);
        await bar.waitFor({ state: 'detached' });
        expect(await page.getByLabel('Search by name or key').inputValue()).toBe('gue');
        await page.getByRole('link', { name: 'Guests' }).waitFor();
      },
      { clock: true, locale: 'en-GB', expected: /ERR_FAILED/ },
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
        await page.getByRole('button', { name: 'Try now' }).click();
        await page.getByText('Not reached since').waitFor({ state: 'detached' });
      },
      { clock: true },
    );
  });
});

/** The time that the bar names for the next try, so many seconds from the page's now. */
async function nextTry(page: Page, seconds: number): Promise<string> {
  const text: unknown = await page.evaluate(
    `new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(Date.now() + ${seconds} * 1000)`,
  );
  return `Next try at ${text}`;
}

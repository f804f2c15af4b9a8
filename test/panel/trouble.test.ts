import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { inBrowser } from './in-browser.js';
import { goTo, picture, startStage } from './stage.js';

const { open } = inBrowser();

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
      await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
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

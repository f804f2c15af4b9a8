import type { Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

const isWholeList = (request: Request) => request.method() === 'GET' && request.url().endsWith('/users');
const isStream = (request: Request) => request.headers().accept === 'text/event-stream';

it('the list of keys has what others change at once, without being asked for again', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    const begun = page.waitForEvent('request', isStream);
    await page.reload();
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    await begun;
    const asked: Request[] = [];
    page.on('request', (request) => asked.push(request));
    await stage.call('POST', '/users', { access_key: 'by-a-bot', name: 'By a bot' });
    await page.getByRole('link', { name: 'By a bot' }).waitFor();
    await stage.call('PUT', '/users/by-a-bot', { name: 'Renamed', limit_bytes: 5 * 2 ** 30 });
    await page.getByRole('row').filter({ hasText: 'Renamed' }).getByText('5 GiB').waitFor();
    await stage.call('DELETE', '/users/guest-2026');
    await page.getByRole('link', { name: 'Guests' }).waitFor({ state: 'detached' });
    expect(asked.filter(isWholeList)).toEqual([]);
    await page.getByText('4 keys').waitFor();
  });
});

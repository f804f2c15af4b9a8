import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { subscriptionToken } from '../../../src/subscription/token.js';
import { INBOUNDS_FILE } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

async function openSubscription(page: Page): Promise<void> {
  await goTo(page, 'Keys');
  await page.getByRole('link', { name: 'Guests' }).click();
  await page.getByRole('button', { name: 'Subscription URL' }).click();
  await page.getByRole('img', { name: 'QR code of the subscription URL' }).waitFor();
}

const PATH = `/sub/${subscriptionToken('guest-2026')}`;

it('the sheet leads to the page that the user of the key sees, where Keyway answers subscriptions by token', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await openSubscription(page);
      const link = page.getByRole('link', { name: 'The user’s page' });
      expect(await link.getAttribute('href')).toBe(stage.origin + PATH);
      await expectAccessible(page);
      const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
      await opened.getByText('Guests').first().waitFor();
      await opened.close();
    },
    { stage: { subscriptionTokens: true } },
  );
});

it('the page stands at the address for subscriptions alone, where there is one, with the path of the configuration', async () => {
  const file = INBOUNDS_FILE.replace('"mode": "server",', '"mode": "server", "subscription": { "path": "/mine" },');
  await withPanel(
    'current',
    async (page) => {
      await openSubscription(page);
      const address = await page.getByRole('link', { name: 'The user’s page' }).getAttribute('href');
      expect(address).toBe(`https://subs.example:8443${PATH.replace('/sub', '/mine')}`);
    },
    { stage: { file, subscriptions: { host: 'subs.example', port: 8443, tls: true } } },
  );
});

it('the page of a server that answers subscriptions by itself is the one that it tells', async () => {
  const file = INBOUNDS_FILE.replace(
    '"mode": "server",',
    '"mode": "server", "domain": "vpn.example.com", "tls": { "enabled": true }, "subscription": { "enabled": true },',
  );
  await withPanel(
    '0.4.6',
    async (page) => {
      await openSubscription(page);
      const address = await page.getByRole('link', { name: 'The user’s page' }).getAttribute('href');
      expect(address).toBe(`https://vpn.example.com${PATH}`);
    },
    { stage: { file, ownApi: false } },
  );
});

it('nothing leads to a page where none is served', async () => {
  await withPanel('current', async (page) => {
    const asked = page.waitForResponse(/keyway\/v1\/keys\/guest-2026\/subscription$/);
    await openSubscription(page);
    expect(await (await asked).json()).toEqual({ ok: true, data: { path: null } });
    expect(await page.getByRole('link', { name: 'The user’s page' }).count()).toBe(0);
  });
});

import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { subscriptionToken } from '../../../src/subscription/token.js';
import { SERVER_FILE } from '../server-files.js';
import { AXE, expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo, picture } from './stage.js';

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
    async (page) => {
      await openSubscription(page);
      const link = page.getByRole('link', { name: 'The user’s page' });
      expect(await link.getAttribute('href')).toMatch(/\/sub\/[0-9a-f]{32}$/);
      await page.getByText('It names 127.0.0.1, which clients elsewhere cannot reach.').waitFor();
      await expectAccessible(page);
      const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
      await opened.getByText('Guests').first().waitFor();
      await opened.close();
    },
    { stage: { subscriptionTokens: true } },
  );
});

/** The beginning of a file with a link over TLS as well. */
const SECURE = '{ "domain": "vpn.example.com", "tls": { "enabled": true },';

it('the user’s page fits a phone, is legible in light and dark, and gives its whole link to one click', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await page.goto(stage.origin + PATH);
      await page.evaluate(await readFile(AXE, 'utf8'));
      await page.locator('summary').click();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await expectAccessible(page);
        for (const width of [390, 768, 1440]) {
          await page.setViewportSize({ width, height: 900 });
          expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), `${width}`).toBe(0);
          await picture(page, `user-page-${width}-${colorScheme}`);
        }
      }
      const [link] = await page.getByRole('link', { name: 'Open in the app' }).all();
      await page.locator('code').first().click();
      expect(await page.evaluate('getSelection().toString()')).toBe(await link?.getAttribute('href'));
    },
    { stage: { subscriptionTokens: true, file: SERVER_FILE.replace('{', SECURE) } },
  );
});

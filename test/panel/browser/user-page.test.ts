import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { subscriptionToken } from '../../../src/subscription/token.js';
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

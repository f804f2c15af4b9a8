import { expect, it } from 'vitest';
import { SERVER_FILE } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { firstSteps, withPanel } from './in-browser.js';
import { goTo, picture, refreshNow } from './stage.js';

const FIRST_DAY = SERVER_FILE.replace('203.0.113.7', '0.0.0.0').replace(
  /"access_keys": \[[^\]]*\]/,
  '"access_keys": []',
);

it('the first steps of a server lead from an empty list to the first client, and go when it is seen', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await firstSteps(page).waitFor();
      await expectAccessible(page);
      await picture(page, 'first-day');
      expect(await page.locator('.board').count()).toBe(0);
      expect(await firstSteps(page).getByRole('button', { name: 'Show link and code' }).isDisabled()).toBe(true);
      await firstSteps(page).getByRole('button', { name: 'Create the first key' }).click();
      await page.getByLabel('Label').fill('Anna');
      await page.getByLabel('Key', { exact: true }).fill('first-key');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('dialog', { name: 'Anna' }).waitFor();
      await page.keyboard.press('Escape');
      await goTo(page, 'Overview');
      await firstSteps(page).getByText('The server’s links name 0.0.0.0, which no client can reach.').waitFor();
      await firstSteps(page).getByRole('button', { name: 'Set address' }).click();
      const question = page.getByRole('dialog', { name: 'Address for clients' });
      await question.getByLabel('Address for clients').fill('vpn.example.com');
      await question.getByRole('button', { name: 'Use this address' }).click();
      await firstSteps(page).getByText('Links lead clients to the server.').waitFor();
      await expectAccessible(page);
      await firstSteps(page).getByRole('button', { name: 'Show link and code' }).click();
      await page.getByRole('dialog', { name: 'Anna' }).getByText('ostp://first-key@vpn.example.com:50000').waitFor();
      await page.keyboard.press('Escape');
      await goTo(page, 'Overview');
      await firstSteps(page).waitFor();
      stage.app.keyway.local?.keys.setCounters('first-key', { bytesUp: 1n, bytesDown: 1n, connections: 1n });
      await expect.poll(async () => refreshNow(page).then(() => firstSteps(page).count())).toBe(0);
      await page.reload();
      await page.locator('.board').waitFor();
      expect(await firstSteps(page).count()).toBe(0);
    },
    { stage: { file: FIRST_DAY, counters: [] } },
  );
});

import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

it('limits of a selection are raised with what becomes of them told before, and given back', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    await page.getByLabel('Select Anna').check();
    const limits = async () => [
      await stage.call('GET', '/users/guest-2026'),
      await stage.call('GET', '/users/0c9e8d7f6a5b4c3d2e1f00112233ff44'),
    ];
    await page.getByRole('toolbar').getByRole('button', { name: 'Limit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set the limit of 2 keys' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Choose what to do with the limit').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: '+10 GiB' }).click();
    await dialog.getByText('Guests 50\u00a0GiB → 60\u00a0GiB').waitFor();
    await dialog.getByText("Anna's laptop no limit → no limit").waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Limit of 2 keys set.').waitFor();
    expect(await limits()).toMatchObject([{ limit_bytes: 64_424_509_440 }, { limit_bytes: null }]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('2 keys are as they were.').waitFor();
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
    expect(await limits()).toMatchObject([{ limit_bytes: 53_687_091_200 }, { limit_bytes: null }]);
    await expect.poll(() => page.locator('.cell-limit[role=gridcell]').getByText('50\u00a0GiB').count()).toBe(1);
  });
});

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { jobsBar, withPanel } from './in-browser.js';
import { goTo } from './stage.js';

/** Asks for the deletion of every key, and sees it wait for its time to undo. */
async function deleteAll(page: Page, many: number): Promise<void> {
  await goTo(page, 'Keys');
  // The list of before has fewer.
  await page.getByText(`${many} keys`, { exact: true }).waitFor();
  await page.getByLabel('Select all shown').check();
  await page.getByText(`${many} selected`).waitFor();
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${many} keys?` });
  await dialog.getByLabel(`Type ${many} to confirm.`).fill(String(many));
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await jobsBar(page).getByText(`Deleting ${many} keys in 5 s.`).waitFor();
}

it('a deletion of all keys is undone within its time, and can be stopped after a reload', async () => {
  await withPanel('current', async (page, stage) => {
    await stage.call('POST', '/users/bulk', { count: 29 });
    // Longer than a slow machine takes to undo it.
    await page.route('**/keys/batch?delay=5', (route) => route.continue({ url: `${route.request().url()}5` }));
    await deleteAll(page, 33);
    await goTo(page, 'Overview');
    await expectAccessible(page);
    await jobsBar(page).getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Stopped after 0 of').waitFor();
    await jobsBar(page).waitFor({ state: 'detached' });
    await deleteAll(page, 33);
    await page.reload();
    await jobsBar(page).getByText('Changing 33 keys…').waitFor();
    await jobsBar(page).getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped after 0 of 33.').waitFor();
    expect(stage.app.keyway.core.keys.size).toBe(33);
  });
});

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { gate } from '../gate.js';
import { expectAccessible } from './axe.js';
import { jobsBar, withPanel } from './in-browser.js';
import { goTo, type Stage } from './stage.js';

/** Has the server refuse what a batch says of one key, until it is let be. */
async function refuse(page: Page, stage: Stage, key: string) {
  const sent: string[] = [];
  let isOver = false;
  const pattern = (url: URL) => url.href.startsWith(stage.panel) && url.pathname.endsWith('/keys/batch');
  await page.route(pattern, async (route) => {
    if (isOver) return route.continue();
    const body = route.request().postData() ?? '';
    sent.push(body);
    await route.continue({ postData: body.replace(`"${key}"`, '"nobody"') });
  });
  // A route that is taken away may leave a request that passes just then without an answer.
  const end = () => {
    isOver = true;
  };
  return { sent, end };
}

it('what failed of a batch stays selected, and is tried again alone; a good batch keeps the selection', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    for (const name of ['Guests', 'Anna', 'Exact']) await page.getByLabel(`Select ${name}`).check();
    const refused = await refuse(page, stage, 'guest-2026');
    await page.getByRole('toolbar').getByRole('button', { name: 'Limit' }).click();
    await page.getByRole('dialog').getByLabel('Limit', { exact: true }).fill('7');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Limit of 2 keys set.').waitFor();
    await jobsBar(page)
      .getByText('Could not set the limit of 1 key: Guests. The server refused: user not found')
      .waitFor();
    await page.getByText('1 selected').waitFor();
    expect(await page.getByLabel('Select Guests').isChecked()).toBe(true);
    await expectAccessible(page);
    refused.end();
    const again = page.waitForRequest((request) => request.url().includes('/keys/batch'));
    await jobsBar(page).getByRole('button', { name: 'Try again' }).click();
    const { items } = (await again).postDataJSON();
    expect(items).toEqual([{ op: 'update', access_key: 'guest-2026', limit_bytes: 7_516_192_768 }]);
    expect((await again).headers()['idempotency-key']).toMatch(/^[\w-]{8,}$/);
    await page.getByText('Limit set.').waitFor();
    await jobsBar(page).waitFor({ state: 'detached' });
    await page.getByText('1 selected').waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 7_516_192_768 });
    expect(refused.sent).toHaveLength(1);
  });
});

it('a creation whose window is closed goes on, and hands its keys out from the bar', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Create several' }).click();
    await page.getByLabel('How many').fill('30');
    const told = gate();
    await page.route('**/keyway/v1/jobs/**', async (route) => {
      await told.opened;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('dialog', { name: 'Creating 30 keys' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await goTo(page, 'Overview');
    await jobsBar(page).getByRole('progressbar').waitFor();
    told.open();
    await jobsBar(page).getByText('30 keys created').waitFor();
    await jobsBar(page).getByRole('button', { name: 'Show' }).click();
    const made = page.getByRole('dialog', { name: '30 keys created' });
    await made.getByRole('button', { name: 'CSV' }).waitFor();
    await page.keyboard.press('Escape');
    await jobsBar(page).waitFor({ state: 'detached' });
    expect(stage.app.keyway.core.keys.size).toBe(34);
  });
});

it('what is half typed of a change, of many keys, of a table or of a rule survives Escape, and goes when it is cancelled', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    const forms = [
      {
        begin: async () => {
          await page.getByRole('link', { name: 'Guests' }).click();
          await page.getByRole('dialog', { name: 'Guests' }).getByRole('button', { name: 'Edit' }).click();
        },
        field: page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Label', { exact: true }),
        fresh: 'Guests',
      },
      {
        begin: () => page.getByRole('button', { name: 'Create several' }).click(),
        field: page.getByRole('dialog').getByLabel('How many'),
        fresh: '10',
      },
      {
        begin: () => page.getByRole('button', { name: 'Import' }).click(),
        field: page.getByRole('dialog').getByLabel('Or paste the lines'),
        fresh: '',
      },
      {
        begin: async () => {
          await goTo(page, 'Rules');
          await page.getByRole('button', { name: 'Add rule' }).click();
        },
        field: page.getByRole('dialog').getByLabel('Domain suffixes, one per line'),
        fresh: '',
      },
    ];
    for (const { begin, field, fresh } of forms) {
      await begin();
      await field.fill('31');
      while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
      await begin();
      expect(await field.inputValue()).toBe('31');
      await page.getByRole('button', { name: 'Cancel' }).click();
      while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
      await begin();
      expect(await field.inputValue()).toBe(fresh);
      while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
    }
  });
});

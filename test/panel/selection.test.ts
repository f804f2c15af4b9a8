import { expect, it } from 'vitest';
import { expectAccessible, inBrowser } from './in-browser.js';
import { goTo, refreshNow, SERVER_FILE } from './stage.js';

const { withPanel } = inBrowser();

const NUMBERS = Array.from({ length: 14 }, (_, index) => index + 1);
/** Fourteen keys besides the four of the file. */
const MORE = SERVER_FILE.replace(
  '"access_keys": [',
  `"access_keys": [ ${NUMBERS.map((n) => `{ "access_key": "desk-${n}", "name": "Desk ${n}" },`).join(' ')}`,
);

it('what is selected and not on the screen is counted, and named before it is deleted', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByLabel('Select Guests').check();
      await page.getByLabel('Select Exact').check();
      await page.getByLabel('Search by name or key').fill('desk');
      await page.getByText('2 of them are not shown in the list').waitFor();
      await page.getByLabel('Select all shown').check();
      await page.getByText('16 selected').waitFor();
      await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
      const dialog = page.getByRole('dialog', { name: 'Delete 16 keys?' });
      const lists = dialog.locator('.subject');
      expect(await lists.first().locator('li').allInnerTexts()).toEqual(['Guests', 'Exact']);
      expect(await lists.last().locator('li').count()).toBe(14);
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: '2 of them are not shown' }).click();
      await expect.poll(() => page.locator('.row:not(.row-head)').count()).toBe(16);
    },
    { stage: { file: MORE } },
  );
});

it('nothing moves when the first key is ticked, and Shift takes the rows between, by mouse and by keyboard', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
      const row = page.locator('.row', { hasText: 'Desk 5' });
      const grid = page.getByRole('grid');
      const places = async () => [await row.boundingBox(), await grid.boundingBox()];
      const before = await places();
      await page.getByLabel('Select Desk 2', { exact: true }).click();
      await page.getByText('1 selected').waitFor();
      expect(await places()).toEqual(before);
      await page.getByLabel('Select Desk 5', { exact: true }).click({ modifiers: ['Shift'] });
      await page.getByText('4 selected').waitFor();
      await page.getByRole('button', { name: 'Clear selection' }).click();
      await grid.focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('Shift+ArrowDown');
      await page.keyboard.press('Shift+ArrowDown');
      await page.getByText('3 selected').waitFor();
    },
    { stage: { file: MORE } },
  );
});

it('each key has one word, the filters count them, and search, filter and order outlive a reload', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    const filters = page.getByRole('group', { name: 'Show' });
    await page.setViewportSize({ width: 1440, height: 900 });
    await expect
      .poll(() => filters.getByRole('button').allInnerTexts())
      .toEqual(['All 4', 'Over limit 0', 'Near limit 1', 'Online 2', 'Active 1', 'Never used 0', 'No limit 2']);
    await filters.getByRole('button', { name: 'Online' }).click();
    const words = () => page.locator('[role=gridcell].cell-status').allInnerTexts();
    await expect.poll(words).toEqual(['Online', 'Online']);
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
    await page.getByLabel('Search by name or key').fill('anna');
    await page.reload();
    await page.getByRole('link', { name: 'Anna' }).waitFor();
    expect(await words()).toEqual(['Online']);
    expect(await page.getByLabel('Search by name or key').inputValue()).toBe('anna');
    expect(await page.getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort')).toBe('ascending');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Username').waitFor();
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('anna');
  });
});

it('a server that cannot know who is online shows nobody so, and the list says why', async () => {
  await withPanel('dns', async (page) => {
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    await page.getByText('cannot tell which keys are online').waitFor();
    expect(await page.locator('.status-online').count()).toBe(0);
    expect(await page.locator('[role=gridcell].cell-status').allInnerTexts()).toContain('Active');
    await page.setViewportSize({ width: 1440, height: 900 });
    expect(await page.getByRole('group', { name: 'Show' }).getByRole('button', { name: 'Online' }).count()).toBe(0);
  });
});

it('an order that is kept is told at the head of the list, and put right there', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    const names = () => page.locator('.cell-name').allInnerTexts();
    await page.getByRole('link', { name: 'Guests' }).hover();
    stage.app.keyway.local?.keys.setCounters('guest-2026', { bytesUp: 1n, bytesDown: 10n ** 17n, connections: 1n });
    const told = page.getByRole('columnheader').getByText('Sorted at');
    // A list that is on its way is not asked for again.
    const asksAgain = async () => {
      await refreshNow(page);
      return told.count();
    };
    await expect.poll(asksAgain).toBe(1);
    expect((await names())[1]).toBe('Exact');
    await page.getByRole('columnheader').getByRole('button', { name: 'Refresh' }).click();
    await expect.poll(async () => (await names())[1]).toBe('Guests');
  });
});

it('name and limit are edited in the row, 10 GiB more beside the limit', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: 'Guests' }).hover();
    await page.getByRole('button', { name: 'Edit: Guests' }).click();
    expect(await page.getByLabel('Limit', { exact: true }).inputValue()).toBe('50 GiB');
    await page.getByRole('button', { name: '+10 GiB' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Visitors');
    await page.keyboard.press('Enter');
    await page.getByText('Saved: Guests.').waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({
      name: 'Visitors',
      limit_bytes: 64_424_509_440,
    });
    expect(await page.evaluate('document.activeElement.className')).toBe('grid');
    await page.getByRole('link', { name: 'Visitors' }).click();
    await page.getByRole('dialog').getByRole('button', { name: '+10 GiB' }).click();
    await expect
      .poll(async () => stage.call('GET', '/users/guest-2026'))
      .toMatchObject({ limit_bytes: 75_161_927_680 });
  });
});

it('what a name hides is shown: direction marks by their code points', async () => {
  const file = SERVER_FILE.replace('"Guests"', '"Gue\\u202estsil\\u2066"');
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Gue[U+202E]stsil[U+2066]' }).click();
      await page.getByRole('dialog', { name: 'Gue[U+202E]stsil[U+2066]' }).waitFor();
    },
    { stage: { file } },
  );
});

it('the slash finds the search from every page, the question mark lists the keys, and the focus stays where it was', async () => {
  await withPanel('current', async (page) => {
    await page.keyboard.press('/');
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('search');
    await page.keyboard.press('Escape');
    await page.getByRole('grid').focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.className')).toBe('grid');
  });
});

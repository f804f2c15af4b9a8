import { expect, it } from 'vitest';
import { gate } from '../gate.js';
import { SERVER_FILE } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo, refreshNow, resize } from './stage.js';

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
      await page.getByLabel('Search by label, note or key').fill('desk');
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

it('nothing moves when the first key is ticked, Shift takes the rows between, by mouse and by keyboard, and Ctrl+A all', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByRole('columnheader', { name: 'Label' }).getByRole('button').click();
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
      await page.keyboard.press('Control+a');
      await page.getByText('18 selected').waitFor();
      expect(await page.evaluate('getSelection().isCollapsed')).toBe(true);
    },
    { stage: { file: MORE } },
  );
});

it('an order that is kept is told in the toolbar at every width, and put right there', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    const names = () => page.locator('.cell-name').allInnerTexts();
    await page.getByRole('link', { name: 'Guests' }).hover();
    stage.app.keyway.local?.keys.setCounters('guest-2026', { bytesUp: 1n, bytesDown: 10n ** 17n, connections: 1n });
    const told = page.locator('.toolbar .stale');
    // A list that is on its way is not asked for again.
    const asksAgain = async () => {
      await refreshNow(page);
      return told.count();
    };
    await expect.poll(asksAgain).toBe(1);
    expect((await names())[1]).toBe('Exact');
    const refresh = page.locator('.toolbar').getByRole('button', { name: 'Refresh' });
    for (const width of [1440, 1024, 900, 390, 1280]) {
      await resize(page, { width, height: 800 });
      await refresh.click({ trial: true });
      const inside = await refresh.boundingBox();
      expect((inside?.x ?? -1) >= 0 && (inside?.x ?? 0) + (inside?.width ?? 0) <= width).toBe(true);
    }
    await page.getByText('Sorted at').waitFor();
    await refresh.click();
    await expect.poll(async () => (await names())[1]).toBe('Guests');
  });
});

it('what is typed of a key stays when the page becomes narrow and wide again, and when Escape closes its window', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    const grid = page.getByRole('grid');
    const begin = async () => {
      await grid.focus();
      await page.keyboard.press('e');
      await page.getByRole('dialog', { name: 'Edit key' }).waitFor();
    };
    const typed = async () => [
      await page.getByLabel('Label', { exact: true }).inputValue(),
      await page.getByLabel('Limit', { exact: true }).inputValue(),
    ];
    await page.getByRole('columnheader', { name: 'Used' }).getByRole('button').click();
    await grid.focus();
    await page.keyboard.press('Home');
    await begin();
    expect(await typed()).toEqual(['Guests', '50']);
    await page.getByLabel('Label', { exact: true }).fill('Visitors');
    await page.getByLabel('Limit', { exact: true }).fill('2 TiB');
    await resize(page, { width: 390, height: 800 });
    expect(await typed()).toEqual(['Visitors', '2 TiB']);
    await resize(page, { width: 1280, height: 800 });
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.className')).toBe('grid');
    await begin();
    expect(await typed()).toEqual(['Visitors', '2 TiB']);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await begin();
    expect(await typed()).toEqual(['Guests', '50']);
    await page.getByLabel('Limit', { exact: true }).fill('2 TiB');
    await page.keyboard.press('Enter');
    await page.getByText('Saved: Guests.').waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 2 * 1024 ** 4 });
  });
});

it('a window that Escape closed while its key was being saved leaves another one open that is edited meanwhile, and the focus there', async () => {
  await withPanel('current', async (page) => {
    const answer = gate();
    await page.route('**/keyway/v1/keys/guest-2026', async (route) => {
      await answer.opened;
      await route.continue();
    });
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Edit: Guests' }).click();
    const name = page.getByLabel('Label', { exact: true });
    await name.fill('Visitors');
    const sent = page.waitForRequest('**/keyway/v1/keys/guest-2026');
    await page.keyboard.press('Enter');
    await sent;
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Edit: Exact' }).click();
    await name.fill('Exact');
    answer.open();
    await page.getByText('Saved: Visitors.').waitFor();
    await page.keyboard.type('ly');
    expect(await name.inputValue()).toBe('Exactly');
  });
});

it('each key has one word for its state, with a dot where that is its quota and it is online, and tile, card and filters count the same', async () => {
  await withPanel('current', async (page, stage) => {
    stage.app.keyway.local?.keys.setCounters('guest-2026', { bytesUp: 0n, bytesDown: 10n ** 11n, connections: 4n });
    await refreshNow(page);
    const tile = page.locator('.figures > div', { hasText: 'Online now' }).locator('dd');
    await expect.poll(() => tile.innerText()).toBe('3');
    expect(await page.locator('.board-present li').count()).toBe(3);
    await goTo(page, 'Keys');
    await resize(page, { width: 1440, height: 900 });
    const filters = page.getByRole('group', { name: 'Show' });
    await expect
      .poll(() => filters.getByRole('button').allInnerTexts())
      .toEqual(['All 4', 'Over limit 1', 'Near limit 0', 'Online 3', 'Used 1', 'Never used 0', 'No limit 2']);
    await filters.getByRole('button', { name: 'Online 3' }).click();
    const words = () =>
      page
        .getByRole('gridcell')
        .filter({ hasText: /^(Over limit|Online|Used)/ })
        .allInnerTexts();
    await expect
      .poll(async () => (await words()).map((text) => text.trim()).sort())
      .toEqual(['Online', 'Online', 'Over limit']);
    expect(await page.getByRole('gridcell').getByRole('img', { name: 'Online' }).count()).toBe(1);
    await expectAccessible(page);
  });
});

it('the slash finds the search from every page and waits for none where there is none, the question mark lists the keys, and the focus stays where it was', async () => {
  await withPanel(
    'current',
    async (page) => {
      await page.keyboard.press('/');
      await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
      const focused = () => page.evaluate('document.activeElement.type');
      await expect.poll(focused).toBe('search');
      await page.keyboard.press('Escape');
      await page.getByRole('grid').focus();
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await page.evaluate('document.activeElement.className')).toBe('grid');
      await goTo(page, 'Audit');
      await page.getByRole('searchbox').waitFor();
      await goTo(page, 'Keys');
      await page.getByLabel('Select Guests').check();
      await page.getByRole('searchbox').fill('exact');
      // The chosen keys stand in the place of a search.
      await page.getByRole('button', { name: '1 of them is not shown' }).click();
      await page.getByRole('searchbox').waitFor({ state: 'detached' });
      await page.keyboard.press('/');
      await goTo(page, 'Audit');
      await page.getByRole('searchbox').waitFor();
      expect(await focused()).not.toBe('search');
    },
    { typed: true },
  );
});

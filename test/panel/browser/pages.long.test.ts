import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { gate } from '../gate.js';
import { SERVER_FILE } from '../server-files.js';
import { auditPages, LOOKS } from './every-page.js';
import { expectFits, withPanel } from './in-browser.js';
import { goTo, holdTime, resize, type Stage } from './stage.js';

it('axe finds nothing on any page, on a screen or a phone, light or dark', async () => {
  await auditPages(LOOKS);
});

it('on a phone the list is the page, messages stand above the bar of pages and above a sheet, and a code fills the screen', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      const box = async (selector: string) =>
        (await page.locator(selector).first().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      expect((await box('.brand')).height).toBeLessThan(56);
      expect((await box('.grid')).height).toBeGreaterThan(390);
      const card = page.locator('.row', { hasText: 'Guests' });
      expect(await card.innerText(), 'a card has a name and no digits of the key').not.toContain('guest-2026');
      await page.getByRole('combobox', { name: 'Show' }).selectOption('near');
      await expect.poll(() => page.locator('.row:not(.row-head)').count()).toBe(1);
      await page.getByRole('combobox', { name: 'Show' }).selectOption('all');
      await page.getByLabel('Select all shown').check();
      const bar = await box('.selection');
      const grid = await box('.grid');
      expect(bar.y).toBeGreaterThanOrEqual(grid.y + grid.height);
      await page.getByRole('button', { name: 'Clear selection' }).click();
      await holdTime(page);
      await page.getByRole('button', { name: 'Copy link: Guests' }).click();
      await page.locator('.toast').waitFor();
      const nav = await box('nav');
      const toast = await box('.toast');
      expect(nav.y + nav.height, 'the tab bar stays where it is').toBe(780);
      expect(toast.y + toast.height, 'the message stands above it').toBeLessThanOrEqual(nav.y);
      const list = await box('.grid');
      expect(list.y + list.height, 'and covers nothing of the list').toBeLessThanOrEqual(toast.y);
      await page.clock.resume();
      await page.getByRole('button', { name: 'Show QR code: Guests' }).click();
      const code = page.getByRole('img', { name: 'QR code of the link' });
      await code.click();
      const large = page.getByRole('dialog', { name: 'QR code of the link' });
      expect((await large.getByRole('img').boundingBox())?.width, 'the code is as wide as the phone').toBeGreaterThan(
        350,
      );
      await expectFits(page);
      await large.getByRole('img').click();
      await large.waitFor({ state: 'detached' });
      const sheet = page.getByRole('dialog', { name: 'Guests' });
      await sheet.getByRole('button', { name: 'Edit' }).click();
      const limit = page.getByLabel('Limit', { exact: true });
      expect(await limit.getAttribute('inputmode'), 'a keyboard of digits alone has no unit').toBeNull();
      await limit.fill('10 GB');
      expect(await page.getByLabel('Unit').inputValue()).toBe('GB');
      await page.getByRole('button', { name: 'Save' }).click();
      const undo = sheet.getByRole('button', { name: 'Undo' });
      const foot = (await sheet.locator('> .dialog-foot').boundingBox())?.y ?? 0;
      const offer = (await undo.boundingBox()) ?? { y: 0, height: 0 };
      expect(offer.y + offer.height, 'the message stands above the foot of the sheet').toBeLessThan(foot);
      await undo.click();
      await page.getByText('The key is as it was.').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Language, theme and sign-out' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('Username').waitFor();
    },
    { viewport: { width: 390, height: 780 }, clock: true, permissions: ['clipboard-read', 'clipboard-write'] },
  );
});

it('the list ends with its last row where all of them fit, and else scrolls in itself, with all of its columns in sight', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await resize(page, { width: 1440, height: 600 });
    const grid = page.getByRole('grid');
    const rows = page.locator('.row:not(.row-head)');
    await expect.poll(() => rows.count()).toBe(4);
    const bottom = async (box: typeof grid) =>
      box.boundingBox().then((found) => (found?.y ?? 0) + (found?.height ?? 0));
    expect((await bottom(grid)) - (await bottom(rows.last()))).toBeLessThanOrEqual(1);
    for (let key = 0; key < 10; key += 1)
      await stage.call('POST', '/users', { name: key === 0 ? 'Anna from Frankfurt' : '' });
    await expect.poll(() => rows.count()).toBe(14);
    expect(await grid.evaluate((element) => element.scrollHeight > element.clientHeight)).toBe(true);
    await expectFits(page);
    for (const width of [601, 768, 1024, 1110, 1264, 1266, 1440]) {
      await resize(page, { width, height: 600 });
      const [list, actions] = [await grid.boundingBox(), await rows.first().locator('.cell-actions').boundingBox()];
      const room = (list?.x ?? 0) + (list?.width ?? 0) - ((actions?.x ?? 0) + (actions?.width ?? 0));
      expect(room, `right of the actions at ${width} pixels`).toBeGreaterThanOrEqual(0);
      const name = page.getByRole('link', { name: 'Anna from Frankfurt' });
      const isWhole = await name.evaluate(
        ({ parentElement: cell }) => cell !== null && cell.scrollWidth <= cell.clientWidth,
      );
      expect(isWhole, `the name is whole at ${width} pixels`).toBe(true);
    }
  });
});

it('is printed as the page or the window that it shows, with every row and in dark ink, without notes, whatever the theme', async () => {
  const file = SERVER_FILE.replace(
    '"access_keys": [',
    `$&${Array.from({ length: 80 }, (_, key) => `{ "access_key": "print-${key}", "name": "Printed ${key}" },`).join('\n')}`,
  );
  const test = async (page: Page, { app }: Stage) => {
    await app.keyway.backend.records.change([{ kind: 'notes', id: 'guest-2026', body: '"pays in cash"' }]);
    await goTo(page, 'Keys');
    const note = page.getByText('pays in cash');
    await note.waitFor();
    const isShown = (selector: string) =>
      page.locator(selector).evaluate((element) => element.checkVisibility({ visibilityProperty: true }));
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await expect.poll(() => page.locator('.row:not(.row-head)').count()).toBe(84);
    expect(await note.isVisible(), 'the note in the list').toBe(false);
    const tops = await page.locator('.row').evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().top));
    expect(tops, 'rows stand below each other').toEqual([...new Set(tops)].sort((a, b) => a - b));
    expect(await page.evaluate('document.documentElement.scrollHeight'), 'and none is cut').toBeGreaterThan(84 * 40);
    expect([await isShown('.side'), await isShown('.toolbar .button-primary'), await isShown('h1')]).toEqual([
      ...[false, false, true],
    ]);
    expect(
      await page
        .locator('.grid .row')
        .nth(1)
        .evaluate((row) => getComputedStyle(row).color),
    ).toBe('rgb(0, 0, 0)');
    await page.emulateMedia({ media: 'screen' });
    await page.getByRole('link', { name: 'Guests' }).click();
    await page.getByRole('img', { name: 'QR code of the link' }).waitFor();
    await page.getByRole('dialog').getByText('pays in cash').waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('dialog').getByText('pays in cash').isVisible(), 'the note in the window').toBe(false);
    expect([await isShown('.share .qr'), await isShown('.dialog-head h2'), await isShown('.dialog-foot')]).toEqual([
      ...[true, true, false],
    ]);
    expect([await isShown('h1'), await isShown('.page-keys')]).toEqual([false, false]);
  };
  await withPanel('current', test, { colorScheme: 'dark', stage: { file } });
});

it('a page without entries has one button in the accent: that of its invitation', async () => {
  const file = SERVER_FILE.replace(/"access_keys": \[[^\]]*\]/, '"access_keys": []').replace(
    /"rules": \[.*\]\n/s,
    '"rules": []\n',
  );
  await withPanel(
    'current',
    async (page) => {
      for (const [name, invitation] of [
        ['Keys', 'Create the first key'],
        ['Rules', 'Create the first rule'],
        ['Tokens', 'Create the first token'],
      ] as const) {
        await goTo(page, name);
        await page.getByRole('button', { name: invitation }).waitFor();
        const inAccent = page.locator('.button').evaluateAll((buttons) => {
          const colour = (element: Element) => getComputedStyle(element).backgroundColor;
          const own = buttons.find((button) => button.matches('.empty .button'));
          return buttons
            .filter((button) => own !== undefined && colour(button) === colour(own))
            .map(({ textContent }) => textContent);
        });
        expect(await inAccent).toEqual([invitation]);
      }
    },
    { stage: { file, counters: [] } },
  );
});

it('has the colours and the language that were chosen last, without motion where none is wanted', async () => {
  await withPanel(
    'current',
    async (page) => {
      const ground = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
      const [dark, light] = ['rgb(12, 16, 19)', 'rgb(247, 248, 249)'];
      expect(await ground()).toBe(dark);
      await page.getByRole('button', { name: /^Theme/ }).click();
      expect(await ground()).toBe(light);
      await page.getByRole('button', { name: 'RU Русский' }).click();
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Обзор' }).waitFor();
      expect(await page.evaluate('document.documentElement.lang')).toBe('ru');
      expect(await ground()).toBe(light);
      await goTo(page, 'Ключи');
      await page.getByRole('button', { name: 'Новый ключ' }).click();
      await page.getByRole('dialog').waitFor();
      expect(await page.evaluate('getComputedStyle(document.querySelector("dialog")).animationName')).toBe('none');
    },
    { colorScheme: 'dark', reducedMotion: 'reduce' },
  );
});

it('the texts stay as they are while others cannot be fetched or come too late, and without any the page says so', async () => {
  await withPanel(
    'current',
    async (page) => {
      const language = () => page.evaluate('document.documentElement.lang');
      const fetched = gate();
      let isThere = true;
      await page.route(/assets\/ru-/, async (route) => {
        await fetched.opened;
        return isThere ? route.continue() : route.abort();
      });
      const asked = page.waitForRequest(/assets\/ru-/);
      await page.getByRole('button', { name: 'RU Русский' }).click();
      const url = (await asked).url();
      await page.getByRole('button', { name: 'EN English' }).click();
      fetched.open();
      // The page has it by then, for it asked for it before.
      await page.evaluate(`import('${url}').then(() => new Promise((done) => setTimeout(done)))`);
      expect(await language()).toBe('en');
      isThere = false;
      await page.reload();
      await page.getByRole('button', { name: 'RU Русский' }).click();
      await page.getByText('The server does not answer.').waitFor();
      expect(await language()).toBe('en');
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await page.route(/assets\/en-/, (route) => route.abort());
      await page.reload();
      await page.getByText('обновите её').waitFor();
    },
    { expected: /ERR_FAILED/ },
  );
});

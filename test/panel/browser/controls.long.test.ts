import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { drawingsOf, expectNoIconTwice, lookAtList, lookAtPages, lookAtWindows, SCREENS } from './controls.js';
import { withPanel } from './in-browser.js';
import { goTo, holdTime, resize } from './stage.js';

it('at every width every control of every page is the element at its own centre, on a phone with 44 pixels around it, and nothing is cut', async () => {
  await lookAtPages(SCREENS);
});

it('at every width so it is in the list: with a selection, an order that is kept, and the sheet of a key', async () => {
  await lookAtList(SCREENS);
});

it('so it is in every window, on a phone and on a screen', async () => {
  // What opens as a window is no wider on a wide screen.
  await lookAtWindows(SCREENS.filter(({ width }) => [390, 600, 1024].includes(width)));
});

it('on a phone a row shows the limit and the pencil, which opens a window, the sheet is as wide as the screen, and no icon of an action stands twice', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      const row = page.locator('.row', { hasText: 'Guests' });
      await row.getByText('of 50 GiB').waitFor();
      await row.getByRole('button', { name: 'Edit: Guests' }).click();
      await page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Label').fill('Visitors');
      await page.keyboard.press('Enter');
      await page.locator('.row', { hasText: 'Visitors' }).waitFor();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByLabel('Select all shown').check();
      expect((await drawingsOf(page)).length).toBeGreaterThan(7);
      await expectNoIconTwice(page);
      const words = page.locator('.toolbar .button > span, .selection .button > span');
      for (const word of await words.all()) expect((await word.boundingBox())?.width ?? 0).toBeGreaterThan(10);
      await page.getByRole('link', { name: 'Visitors' }).click();
      expect((await page.getByRole('dialog').boundingBox())?.width).toBe(390);
    },
    { viewport: { width: 390, height: 780 } },
  );
});

it('at 768 pixels a row says what is used of which limit, above its bar, and nothing of that is cut', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      const used = page.locator('.row', { hasText: 'Guests' }).locator('.cell-used');
      const words = used.getByText('of 50 GiB');
      await words.waitFor();
      const [text, bar] = [await words.boundingBox(), await used.locator('.usage-bar').boundingBox()];
      expect(bar?.width, 'the width of the bar').toBeGreaterThan(100);
      expect(bar?.y, 'the bar stands below the words').toBeGreaterThanOrEqual((text?.y ?? 0) + (text?.height ?? 0));
      expect(await used.evaluate((cell) => cell.scrollWidth - cell.clientWidth), 'pixels out of sight').toBe(0);
    },
    { viewport: { width: 768, height: 1024 } },
  );
});

it('the order can be seen and changed above the list at every width that hides columns', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    const choice = page.getByRole('combobox', { name: 'Sort by' });
    const rows = page.locator('.row:not(.row-head) a');
    await expect.poll(() => rows.allInnerTexts()).toEqual(['Exact', 'no label', 'Guests', "Anna's laptop"]);
    for (const width of [601, 768, 900, 1024, 1264, 1265, 1440]) {
      await resize(page, { width, height: 700 });
      const isWhole = (await page.getByRole('columnheader').count()) === 10;
      expect(await choice.isVisible(), `the choice at ${width} pixels`).toBe(!isWhole);
    }
    await resize(page, { width: 768, height: 1024 });
    expect(await choice.inputValue()).toBe('down');
    await page.getByRole('button', { name: 'Descending' }).click();
    await expect.poll(() => rows.first().innerText()).toBe("Anna's laptop");
  });
});

it('in Russian the buttons above the list stand beside each other from 601 pixels on', async () => {
  const test = async (page: Page) => {
    await goTo(page, 'Ключи');
    for (const width of [601, 640, 700, 701]) {
      await resize(page, { width, height: 900 });
      const buttons = page.locator('.toolbar-line:first-child > .button');
      const middles = await buttons.evaluateAll((all) =>
        all.map((button) => button.getBoundingClientRect()).map(({ y, height }) => Math.round(y + height / 2)),
      );
      expect(new Set(middles).size, `lines of buttons at ${width} pixels`).toBe(1);
    }
  };
  await withPanel('current', test, { locale: 'ru-RU' });
});

it('a button that cannot be pressed looks so under the pointer, and the buttons of a sheet stand at its lower edge', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Configuration');
      const button = page.getByRole('button', { name: 'Review changes' });
      const colour = () => button.evaluate((element) => getComputedStyle(element).backgroundColor);
      const before = await colour();
      await button.hover({ force: true });
      await page.evaluate('Promise.all(document.getAnimations().map(({ finished }) => finished))');
      expect(await colour(), 'its colour under the pointer').toBe(before);
      await page.evaluate('location.hash = "#/keys/guest-2026"');
      const foot = await page.locator('.dialog-side > .dialog-foot').boundingBox();
      expect((foot?.y ?? 0) + (foot?.height ?? 0), 'the lower edge of the buttons').toBe(1600);
    },
    { viewport: { width: 768, height: 1600 } },
  );
});

it('the menu of a phone closes at Escape, beside it and with a page, and gives the focus back', async () => {
  await withPanel(
    'current',
    async (page) => {
      const toggle = page.getByRole('button', { name: 'Language, theme and sign-out' });
      const inside = page.getByRole('button', { name: 'Sign out' });
      await toggle.click();
      await inside.waitFor();
      await page.keyboard.press('Escape');
      await inside.waitFor({ state: 'hidden' });
      expect(await toggle.evaluate((element) => element === document.activeElement)).toBe(true);
      await toggle.click();
      await page.getByRole('heading', { level: 1 }).click();
      await inside.waitFor({ state: 'hidden' });
      await toggle.click();
      await goTo(page, 'Rules');
      await inside.waitFor({ state: 'hidden' });
      await toggle.click();
      await page.getByRole('button', { name: 'RU Русский' }).click();
      await page.getByRole('button', { name: 'Выйти' }).click();
      await page.getByLabel('Имя пользователя').waitFor();
    },
    { viewport: { width: 390, height: 780 } },
  );
});

it('a message covers no button of a selection or of the sheet, on a phone or on a screen', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByLabel('Select all shown').check();
      await holdTime(page);
      await page.getByRole('button', { name: 'Copy link: Guests' }).click();
      await page.locator('.toast').waitFor();
      const expectWhole = async (buttons: Locator) => {
        for (const width of [390, 1440]) {
          await page.setViewportSize({ width, height: 780 });
          await buttons.first().waitFor();
          // It is drawn anew for the width in a frame, and those of a page whose time stands still cannot be waited for.
          await expect.poll(() => cutOf(buttons), { message: `at ${width} pixels` }).toEqual([]);
        }
      };
      await expectWhole(page.getByRole('toolbar').getByRole('button'));
      await page.getByRole('link', { name: 'Guests' }).click();
      await expectWhole(page.getByRole('dialog').locator('.dialog-foot').getByRole('button'));
    },
    { clock: true, permissions: ['clipboard-read', 'clipboard-write'] },
  );
});

/** The words of the elements that are not in the window as a whole with nothing over them, without being scrolled to. */
async function cutOf(elements: Locator): Promise<readonly (string | null)[]> {
  return elements.evaluateAll((all) =>
    all
      .filter((element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect();
        const points = [left + 2, right - 2].flatMap((x) => [top + 2, bottom - 2].map((y) => [x, y] as const));
        return !points.every(([x, y]) => element.contains(document.elementFromPoint(x, y)));
      })
      .map(({ textContent }) => textContent),
  );
}

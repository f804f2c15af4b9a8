import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { fill, type Values } from '../../../panel/i18n/message.js';
import { ru } from '../../../panel/i18n/ru.js';
import { cutWords, expectFits, withPanel } from './in-browser.js';
import { goTo, holdTime, picture, refreshNow, resize, type Stage } from './stage.js';

/** Pixels that a finger needs to each side of a control's centre. */
const FINGER = 21;

/** Scrolls each control of the page, or of the window on top of it, into sight, and returns those that something else covers there. */
async function coveredControls(page: Page, reach = 0): Promise<unknown> {
  return page.evaluate(
    ([around, toFinger]) => {
      const top = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
      const isShown = (element: Element) =>
        element.checkVisibility({ visibilityProperty: true }) &&
        !element.matches(':disabled, .skip, .skip *, input[type=file]') &&
        // A link within a sentence is as high as its line.
        !(toFinger > 0 && element.matches('p a, p button, .hint a'));
      const owns = (element: Element, x: number, y: number) => {
        const hit = document.elementFromPoint(x, y);
        return hit !== null && (element.contains(hit) || hit.closest('label')?.control === element);
      };
      return [...top.querySelectorAll('a[href], button, input, select, textarea, summary')]
        .filter(isShown)
        .flatMap((element) => {
          element.scrollIntoView({ block: 'center', inline: 'center' });
          const box = element.getClientRects()[0];
          if (box === undefined) return ['nowhere'];
          const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
          const missed = around.filter(([dx = 0, dy = 0]) => !owns(element, x + dx * toFinger, y + dy * toFinger));
          const name = element.getAttribute('aria-label') ?? element.textContent?.trim() ?? '';
          return missed.length === 0 ? [] : [`${element.tagName} ${name || element.id} ${JSON.stringify(missed)}`];
        });
    },
    [
      reach === 0
        ? [[0, 0]]
        : [
            [0, 0],
            [-1, 0],
            [1, 0],
            [0, -1],
            [0, 1],
          ],
      reach,
    ] as const,
  );
}

/** The icons of the buttons that stand above and below a list. */
async function drawingsOf(page: Page): Promise<readonly (string | null)[]> {
  const paths = page.locator('.toolbar-line .button svg path, .selection .button svg path');
  return paths.evaluateAll((found) => found.map((path) => path.getAttribute('d')));
}

async function expectNoIconTwice(page: Page): Promise<void> {
  const drawings = await drawingsOf(page);
  expect(drawings).toEqual([...new Set(drawings)]);
}

/** The windows that each page is looked at in; 720 by 450 pixels are 1440 by 900 at a zoom of 200 %. */
const SCREENS = [
  { width: 390, height: 780, finger: FINGER },
  { width: 600, height: 900, finger: FINGER },
  { width: 720, height: 450, finger: 0 },
  { width: 768, height: 1024, finger: 0 },
  { width: 1024, height: 768, finger: 0 },
  { width: 1440, height: 900, finger: 0 },
] as const;

/** What opens as a window is no wider on a wide screen. */
const FOR_WINDOWS = SCREENS.filter(({ width }) => width !== 720 && width !== 768 && width !== 1440);

/** The texts of the page. Russian words are the longer ones. */
const words = (name: keyof typeof ru, values?: Values) => fill(ru[name], 'ru', values);

/**
 * Fails with the controls that are covered in some window, or on a phone have too little room around them, with words that have no
 * room, and with what is wider than the window; `shown` is there in each.
 */
async function expectReachable(
  page: Page,
  where: string,
  shown: Locator,
  screens: readonly (typeof SCREENS)[number][] = SCREENS,
): Promise<void> {
  for (const { finger, ...screen } of screens) {
    await resize(page, screen);
    await shown.waitFor();
    expect(await coveredControls(page, finger), `${where} at ${screen.width} pixels`).toEqual([]);
    expect(await cutWords(page), `${where} at ${screen.width} pixels`).toEqual([]);
    await expectFits(page);
    await expectNoIconTwice(page);
    await picture(page, `ru-${screen.width}-${where.replaceAll(' ', '-')}`);
  }
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Runs with a Russian page. */
const inRussian = (test: (page: Page, stage: Stage) => Promise<void>) =>
  withPanel('current', test, { locale: 'ru-RU' });

it('at every width every control of every page is the element at its own centre, on a phone with 44 pixels around it, and nothing is cut', async () => {
  await inRussian(async (page, stage) => {
    const look = (where: string, shown: Locator) => expectReachable(page, where, shown);
    for (const name of ['overview', 'keys', 'configuration', 'rules', 'dns', 'audit', 'tokens'] as const) {
      await goTo(page, words(`page.${name}`));
      await page.locator('.loading').waitFor({ state: 'detached' });
      await look(name, page.getByRole('heading', { level: 1, name: words(`page.${name}`) }));
    }
    await button(page, words('usage.title')).click();
    await look('usage', page.locator('.entry').first());
    await goTo(page, words('page.audit'));
    await button(page, words('events.title')).click();
    await look('events', page.getByRole('combobox'));
    await goTo(page, words('page.configuration'));
    await button(page, words('config.view.text')).click();
    await look('the file as text', page.getByLabel(words('config.editor')));
    await stage.call('POST', '/../keyway/v1/keys/batch?delay=60', {
      items: [{ op: 'reset', access_key: 'guest-2026' }],
    });
    await page.evaluate('location.hash = "#/kyes"');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: words('page.unknown') }).waitFor();
    await look('no page, with a job', page.getByRole('region', { name: words('batch.bar') }));
  });
});

it('at every width so it is in the list: with a selection, a row that is edited, an order that is kept, and the sheet of a key', async () => {
  await inRussian(async (page, stage) => {
    const look = (where: string, shown: Locator) => expectReachable(page, where, shown);
    await goTo(page, words('page.keys'));
    await page.getByRole('link', { name: 'Guests' }).hover();
    stage.app.keyway.local?.keys.setCounters('guest-2026', { bytesUp: 1n, bytesDown: 10n ** 17n, connections: 1n });
    const told = page.locator('.toolbar .stale');
    await expect.poll(async () => refreshNow(page).then(() => told.count())).toBe(1);
    await page.getByLabel(words('keys.selectAll')).check();
    await look('a selection', button(page, words('keys.unselect')));
    await resize(page, { width: 1280, height: 800 });
    await button(page, `${words('key.edit')}: Guests`).click();
    await look('a row that is edited', page.getByLabel(words('keys.limit'), { exact: true }));
    await page.keyboard.press('Escape');
    await button(page, words('keys.unselect')).click();
    const dots = page.locator('.row .status-online');
    for (const { width, height } of SCREENS.slice(2)) {
      await resize(page, { width, height });
      for (const dot of await dots.all()) expect(await dot.evaluate(isSeen), `the dot at ${width} pixels`).toBe(true);
      const head = await page.getByRole('columnheader', { name: words('keys.name') }).boundingBox();
      const cell = await page.locator('.cell-name', { hasText: 'Guests' }).boundingBox();
      expect(head?.x, `the head of the names at ${width} pixels`).toBe(cell?.x);
    }
    await page.getByRole('link', { name: 'Guests' }).click();
    await look('the sheet', page.getByRole('img', { name: words('key.qr.link') }));
  });
});

it('so it is in every window, on a phone and on a screen', async () => {
  await inRussian(async (page, stage) => {
    /** Opens a window, looks at it, and leaves it. */
    const look = async (where: string, ...presses: readonly (readonly [Locator | null, string])[]) => {
      await resize(page, { width: 1280, height: 800 });
      for (const [within, name] of presses) await (within ?? page).getByRole('button', { name, exact: true }).click();
      await expectReachable(page, where, page.getByRole('dialog').last(), FOR_WINDOWS);
      while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
    };
    const tools = page.getByRole('toolbar');
    const sheet = page.getByRole('dialog');
    await goTo(page, words('page.keys'));
    for (const name of ['edit.new', 'keys.bulk', 'import.open'] as const) await look(name, [null, words(name)]);
    await page.getByLabel(words('keys.selectAll')).check();
    for (const name of ['keys.limit', 'key.resetCounters', 'key.delete', 'bulk.sheet'] as const)
      await look(`selected ${name}`, [tools, words(name)]);
    for (const name of ['key.edit', 'key.resetCounters', 'key.rotate', 'key.delete'] as const) {
      await page.getByRole('link', { name: 'Guests' }).click();
      await look(`sheet ${name}`, [sheet, words(name)]);
    }
    await goTo(page, words('page.rules'));
    await look('rules.add', [null, words('rules.add')]);
    await stage.call('POST', '/audit', { eventEn: 'Looked', eventRu: 'Осмотр', success: true });
    await goTo(page, words('page.audit'));
    await look('audit.clear', [null, words('audit.clear')]);
    await goTo(page, words('page.tokens'));
    await look('tokens.new', [null, words('tokens.new')]);
    await goTo(page, words('page.configuration'));
    await page.getByLabel(words('config.webpath')).fill('mine');
    await stage.writeFile((await stage.fileText()).replace('office/panel', 'theirs'));
    await look('config.review', [null, words('config.review')]);
    await page.keyboard.press('?');
    await look('shortcuts');
  });
});

it('on a phone a row shows the limit and the pencil, which opens a window, the sheet is as wide as the screen, and no icon of an action stands twice', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      const row = page.locator('.row', { hasText: 'Guests' });
      await row.getByText('of 50 GiB').waitFor();
      await row.getByRole('button', { name: 'Edit: Guests' }).click();
      await page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Name').fill('Visitors');
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
          for (const each of await buttons.all())
            expect(await isWhole(each), `${await each.innerText()} at ${width} pixels`).toBe(true);
        }
      };
      await expectWhole(page.getByRole('toolbar').getByRole('button'));
      await page.getByRole('link', { name: 'Guests' }).click();
      await expectWhole(page.getByRole('dialog').locator('.dialog-foot').getByRole('button'));
    },
    { clock: true, permissions: ['clipboard-read', 'clipboard-write'] },
  );
});

/** Tells whether an element is in the window and has nothing over it, without being scrolled to. */
async function isWhole(element: Locator): Promise<boolean> {
  return element.evaluate((button) => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const points = [left + 2, right - 2].flatMap((x) => [top + 2, bottom - 2].map((y) => [x, y] as const));
    return points.every(([x, y]) => button.contains(document.elementFromPoint(x, y)));
  });
}

/** Tells whether an element is what is seen at its centre, and whole in its cell. */
function isSeen(element: Element): boolean {
  const box = element.getBoundingClientRect();
  const cell = element.closest('.cell')?.getBoundingClientRect();
  const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return hit === element && cell !== undefined && box.right <= cell.right;
}

import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { fill, type Values } from '../../../panel/i18n/message.js';
import { ru } from '../../../panel/i18n/ru.js';
import { someOf } from '../../whole.js';
import { cutWords, expectFits, withPanel } from './in-browser.js';
import { goTo, picture, refreshNow, resize, type Stage } from './stage.js';

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
export async function drawingsOf(page: Page): Promise<readonly (string | null)[]> {
  const drawings = page.locator('.toolbar-line .button svg use, .selection .button svg use');
  return drawings.evaluateAll((found) => found.map((use) => use.getAttribute('href')));
}

export async function expectNoIconTwice(page: Page): Promise<void> {
  const drawings = await drawingsOf(page);
  expect(drawings).toEqual([...new Set(drawings)]);
}

/** A window, and the pixels that a finger needs there to each side of a control's centre. */
interface Screen {
  readonly width: number;
  readonly height: number;
  readonly finger: number;
}

/** The windows that a page can be looked at in; 720 by 450 pixels are 1440 by 900 at a zoom of 200 %. */
export const SCREENS: readonly Screen[] = [
  { width: 390, height: 780, finger: FINGER },
  { width: 600, height: 900, finger: FINGER },
  { width: 640, height: 900, finger: 0 },
  { width: 720, height: 450, finger: 0 },
  { width: 768, height: 1024, finger: 0 },
  { width: 1024, height: 768, finger: 0 },
  { width: 1440, height: 900, finger: 0 },
];

export const PHONE = SCREENS.filter(({ width }) => width === 390);

/** The texts of the page. Russian words are the longer ones. */
const words = (name: keyof typeof ru, values?: Values) => fill(ru[name], 'ru', values);

/**
 * Fails with the controls that are covered in some window, or on a phone have too little room around them, with words that have no
 * room, and with what is wider than the window; `shown` is there in each.
 */
async function expectReachable(page: Page, where: string, shown: Locator, screens: readonly Screen[]): Promise<void> {
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

const NAMES = ['overview', 'keys', 'configuration', 'rules', 'dns', 'audit', 'tokens'] as const;

/** Looks at every page: at some of those with a name in the menu, by the seed, where the run is not whole. */
export async function lookAtPages(screens: readonly Screen[]): Promise<void> {
  await inRussian(async (page, stage) => {
    const look = (where: string, shown: Locator) => expectReachable(page, where, shown, screens);
    const looked = someOf(NAMES, 3);
    for (const name of NAMES) {
      await goTo(page, words(`page.${name}`));
      if (!looked.includes(name)) continue;
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
}

/** Looks at the list with a selection, an order that is kept, and the sheet of a key. */
export async function lookAtList(screens: readonly Screen[]): Promise<void> {
  await inRussian(async (page, stage) => {
    const look = (where: string, shown: Locator) => expectReachable(page, where, shown, screens);
    await goTo(page, words('page.keys'));
    await page.getByRole('link', { name: 'Guests' }).hover();
    stage.app.keyway.local?.keys.setCounters('guest-2026', { bytesUp: 1n, bytesDown: 10n ** 17n, connections: 1n });
    const told = page.locator('.toolbar .stale');
    await expect.poll(async () => refreshNow(page).then(() => told.count())).toBe(1);
    await page.getByLabel(words('keys.selectAll')).check();
    await look('a selection', button(page, words('keys.unselect')));
    await resize(page, { width: 1280, height: 800 });
    await button(page, words('keys.unselect')).click();
    const dots = page.locator('.row .online-dot');
    for (const { width, height } of screens.filter((screen) => screen.width > 600)) {
      await resize(page, { width, height });
      for (const dot of await dots.all()) expect(await dot.evaluate(isSeen), `the dot at ${width} pixels`).toBe(true);
      const head = await page.getByRole('columnheader', { name: words('keys.label') }).boundingBox();
      const cell = await page.locator('.cell-name', { hasText: 'Guests' }).boundingBox();
      expect(head?.x, `the head of the names at ${width} pixels`).toBe(cell?.x);
    }
    await page.getByRole('link', { name: 'Guests' }).click();
    await look('the sheet', page.getByRole('img', { name: words('key.qr.link') }));
  });
}

/** Looks at every window. */
export async function lookAtWindows(screens: readonly Screen[]): Promise<void> {
  await inRussian(async (page, stage) => {
    /** Opens a window, looks at it, and leaves it. */
    const look = async (where: string, ...presses: readonly (readonly [Locator | null, string])[]) => {
      await resize(page, { width: 1280, height: 800 });
      for (const [within, name] of presses) await (within ?? page).getByRole('button', { name, exact: true }).click();
      await expectReachable(page, where, page.getByRole('dialog').last(), screens);
      while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
    };
    const tools = page.getByRole('toolbar');
    const sheet = page.getByRole('dialog');
    await goTo(page, words('page.keys'));
    for (const name of ['edit.new', 'keys.bulk', 'import.open'] as const) await look(name, [null, words(name)]);
    await page.getByLabel(words('keys.selectAll')).check();
    for (const name of ['key.delete', 'keys.limit', 'key.resetCounters', 'bulk.sheet'] as const)
      await look(`selected ${name}`, [tools, words(name)]);
    for (const name of ['key.edit', 'key.resetCounters', 'key.rotate', 'key.delete'] as const) {
      await page.getByRole('link', { name: 'Guests' }).click();
      await look(`sheet ${name}`, [sheet, words(name)]);
    }
    await stage.call('POST', '/audit', { eventEn: 'Looked', eventRu: 'Осмотр', success: true });
    for (const [of, name] of [
      ['page.rules', 'rules.add'],
      ['page.audit', 'audit.clear'],
      ['page.tokens', 'tokens.new'],
    ] as const) {
      await goTo(page, words(of));
      await look(name, [null, words(name)]);
    }
    await goTo(page, words('page.configuration'));
    await page.getByLabel(words('config.webpath')).fill('mine');
    await stage.writeFile((await stage.fileText()).replace('office/panel', 'theirs'));
    await look('config.review', [null, words('config.review')]);
    await page.keyboard.press('?');
    await look('shortcuts');
  });
}

/** Tells whether an element is what is seen at its centre, and whole in its cell. */
function isSeen(element: Element): boolean {
  const box = element.getBoundingClientRect();
  const cell = element.closest('.cell')?.getBoundingClientRect();
  const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return hit === element && cell !== undefined && box.right <= cell.right;
}

import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { formatSize } from '../../../panel/text/sizes.js';
import { localOf } from '../../local-of.js';
import { gate } from '../gate.js';
import { SERVER_FILE } from '../server-files.js';
import { expectAccessible, expectLegible } from './axe.js';
import { cutWords, expectFits, OWN_PAGES, PAGES, withPanel } from './in-browser.js';
import { goTo, holdTime, picture, resize } from './stage.js';

const ALL_PAGES = [...PAGES, ...OWN_PAGES];

/** Leaves the page as it was: in English, light and wide. */
async function pictures(page: Page, name: string): Promise<void> {
  await picture(page, name);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expectLegible(page);
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: 'light' });
}

it('shows every page of a server that lacks some, greys those, and axe finds nothing, light or dark', async () => {
  await withPanel('dns', async (page) => {
    for (const name of ALL_PAGES) {
      await goTo(page, name);
      await page.locator('.loading').waitFor({ state: 'detached' });
      await expectAccessible(page);
      await expectFits(page);
      await pictures(page, `dns-${name.toLowerCase()}`);
    }
    const missing = await page.locator('nav a.missing').allInnerTexts();
    expect(missing.map((text) => text.split('\n')[0])).toEqual(['Audit']);
    await goTo(page, 'Audit');
    await page.getByRole('heading', { name: 'Not available on this server' }).waitFor();
  });
});

/** The screens of each language, with what axe looks at: one with the layout of the one before differs in what is seen alone. */
const LANGUAGES = {
  en: {
    pages: ALL_PAGES,
    keys: 'Keys',
    code: 'QR code of the link',
    screens: [
      { width: 1280, height: 800, colorScheme: 'light', audit: expectAccessible },
      { width: 1280, height: 800, colorScheme: 'dark', audit: expectLegible },
      { width: 1440, height: 900, colorScheme: 'dark', audit: expectLegible },
      { width: 1920, height: 1080, colorScheme: 'light', audit: expectLegible },
    ],
  },
  ru: {
    pages: ['Обзор', 'Ключи', 'Конфигурация', 'Правила', 'DNS', 'Журнал', 'Токены'],
    keys: 'Ключи',
    code: 'QR-код ссылки',
    screens: [
      { width: 390, height: 780, colorScheme: 'dark', audit: expectAccessible },
      { width: 768, height: 1024, colorScheme: 'light', audit: expectAccessible },
    ],
  },
} as const;

it.each([
  'en',
  'ru',
] as const)('every page in %s fits screens of every width, with nothing cut and nothing that axe finds, light or dark', async (language) => {
  const { pages, keys, code, screens } = LANGUAGES[language];
  const look = async (page: Page, name: string) => {
    for (const { width, height, colorScheme, audit } of screens) {
      await resize(page, { width, height });
      await page.emulateMedia({ colorScheme });
      await audit(page);
      await expectFits(page);
      expect(await cutWords(page)).toEqual([]);
      await picture(page, `${width}-${name}-${colorScheme}-${language}`);
    }
  };
  const test = async (page: Page) => {
    for (const [index, name] of pages.entries()) {
      await goTo(page, name);
      await page.locator('.loading').waitFor({ state: 'detached' });
      await look(page, ALL_PAGES[index]?.toLowerCase() ?? name);
      await resize(page, { width: 320, height: 640 });
      await expectFits(page);
      await resize(page, screens[0]);
    }
    expect(await page.locator('nav a.missing').count()).toBe(0);
    await goTo(page, keys);
    await page.getByRole('link', { name: 'Guests' }).click();
    await page.getByRole('img', { name: code }).waitFor();
    await look(page, 'key');
  };
  await withPanel('current', test, { viewport: screens[0], ...(language === 'ru' ? { locale: 'ru-RU' } : {}) });
});

it('on a phone the list is the page: one line of header, a menu of filters, and what is selected at the bottom', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      const box = async (selector: string) =>
        (await page.locator(selector).first().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      expect((await box('.brand')).height).toBeLessThan(56);
      expect((await box('.grid')).height).toBeGreaterThan(390);
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
      expect((await box('.toast')).y).toBeGreaterThanOrEqual(nav.y + nav.height);
      await page.clock.resume();
      await page.getByRole('button', { name: 'Show QR code: Guests' }).click();
      await page.getByRole('img', { name: 'QR code of the link' }).waitFor();
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
    for (let key = 0; key < 10; key += 1) await stage.call('POST', '/users', {});
    await expect.poll(() => rows.count()).toBe(14);
    expect(await grid.evaluate((element) => element.scrollHeight > element.clientHeight)).toBe(true);
    await expectFits(page);
    for (const width of [601, 768, 1024, 1110, 1264, 1266, 1440]) {
      await resize(page, { width, height: 600 });
      const [list, actions] = [await grid.boundingBox(), await rows.first().locator('.cell-actions').boundingBox()];
      const room = (list?.x ?? 0) + (list?.width ?? 0) - ((actions?.x ?? 0) + (actions?.width ?? 0));
      expect(room, `right of the actions at ${width} pixels`).toBeGreaterThanOrEqual(0);
    }
  });
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

it('folds its menu at 768 pixels, and uses 1,920', async () => {
  await withPanel('current', async (page) => {
    const width = async (selector: string) => (await page.locator(selector).first().boundingBox())?.width;
    await resize(page, { width: 768, height: 1024 });
    expect(await width('.side')).toBeLessThan(70);
    await resize(page, { width: 1920, height: 1080 });
    expect(await width('.board')).toBeGreaterThan(1_600);
  });
});

it('draws what moved since it was opened, in total and for each key', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await page.getByText('The chart starts in a few seconds.').waitFor();
      const { keys } = localOf(stage.app.keyway);
      const chart = page.getByRole('figure').first();
      for (let turn = 1n; turn <= 3n; turn += 1n) {
        keys.setCounters('guest-2026', {
          bytesUp: 10_000_000_000n,
          bytesDown: 60_000_000_000n * turn,
          connections: 1n,
        });
        const guests = page
          .locator('.card', { hasText: 'Top keys' })
          .getByRole('listitem')
          .filter({ hasText: 'Guests' });
        const refreshed = async () => {
          // The time leaps again only when the list has come: a leap ends the patience with one that is on its way.
          const list = page.waitForEvent('requestfinished', (request) => request.url().endsWith('/users'));
          await page.clock.fastForward(60_000);
          await list;
          return guests.innerText();
        };
        await expect.poll(refreshed).toContain(formatSize(60_000_000_000n * turn, 'en'));
      }
      await chart.getByRole('img', { name: 'Traffic' }).focus();
      const readout = async () => {
        await page.keyboard.press('ArrowLeft');
        return chart.getByRole('status').innerText();
      };
      await expect.poll(readout).toMatch(/–.*Down \d[\d.]*\s[KMG]iB\/s/);
      await page.locator('.ranking .sparkline path').first().waitFor();
      await page.locator('.card', { hasText: 'Near or over their limit' }).getByText('353%').waitFor();
      await pictures(page, 'current-traffic');
      await page.getByRole('link', { name: 'Guests' }).first().click();
      await page.getByRole('dialog').getByRole('figure').getByText(/Up \d/).first().waitFor();
    },
    { clock: true, stage: { ownApi: false } },
  );
});

it('has the colours and the language that were chosen last, without motion where none is wanted', async () => {
  await withPanel(
    'current',
    async (page) => {
      const theme = () => page.evaluate('document.documentElement.dataset.theme');
      expect(await theme()).toBe('dark');
      await page.getByRole('button', { name: /^Theme/ }).click();
      expect(await theme()).toBe('light');
      await page.getByRole('button', { name: 'RU Русский' }).click();
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Обзор' }).waitFor();
      expect(await page.evaluate('document.documentElement.lang')).toBe('ru');
      expect(await theme()).toBe('light');
      await goTo(page, 'Ключи');
      await page.getByRole('button', { name: 'Новый ключ' }).click();
      await page.getByRole('dialog').waitFor();
      expect(await page.evaluate('getComputedStyle(document.querySelector("dialog")).animationName')).toBe('none');
    },
    { colorScheme: 'dark', reducedMotion: 'reduce' },
  );
});

describe('the texts', () => {
  /** The language files that the page asks for from now on, by their languages. */
  const languagesAsked = (page: Page) => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(...(/assets\/(en|ru)-/.exec(request.url())?.slice(1) ?? [])));
    return asked;
  };
  const RUSSIAN = { locale: 'ru-RU' };

  it('are fetched in the language that is read, also after a reload, and in the other when it is chosen', async () => {
    await withPanel('current', async (page) => {
      const asked = languagesAsked(page);
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      expect(asked).toEqual(['en']);
      await page.getByRole('button', { name: 'RU Русский' }).click();
      await page.getByRole('heading', { level: 1, name: 'Обзор' }).waitFor();
      expect(asked).toEqual(['en', 'ru']);
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Обзор' }).waitFor();
      expect(asked).toEqual(['en', 'ru', 'ru']);
    });
  });

  it('are Russian alone for a Russian browser, without a moment of English', async () => {
    const test = async (page: Page) => {
      const asked = languagesAsked(page);
      // Notes every heading that is ever drawn.
      await page.addInitScript(`{
        globalThis.drawn = new Set();
        new MutationObserver(() => document.querySelectorAll('h1, nav a').forEach((each) => drawn.add(each.textContent)))
          .observe(document, { subtree: true, childList: true, characterData: true });
      }`);
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Обзор' }).waitFor();
      expect(asked).toEqual(['ru']);
      const drawn = await page.evaluate('[...drawn]');
      expect(drawn).toContain('Обзор');
      expect(drawn).not.toContain('Overview');
      await page.getByRole('button', { name: 'EN English' }).click();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      expect(asked).toEqual(['ru', 'en']);
    };
    await withPanel('current', test, RUSSIAN);
  });

  it('are those that were chosen last, though others that were chosen before come later', async () => {
    await withPanel('current', async (page) => {
      const fetched = gate();
      await page.route(/assets\/ru-/, async (route) => {
        await fetched.opened;
        await route.continue();
      });
      const asked = page.waitForRequest(/assets\/ru-/);
      await page.getByRole('button', { name: 'RU Русский' }).click();
      const url = (await asked).url();
      await page.getByRole('button', { name: 'EN English' }).click();
      fetched.open();
      // The page has it by then, for it asked for it before.
      await page.evaluate(`import('${url}').then(() => new Promise((done) => setTimeout(done)))`);
      expect(await page.evaluate('document.documentElement.lang')).toBe('en');
    });
  });

  it('stay as they are while others cannot be fetched', async () => {
    const test = async (page: Page) => {
      let isThere = false;
      await page.route(/assets\/ru-/, (route) => (isThere ? route.continue() : route.abort()));
      await page.getByRole('button', { name: 'RU Русский' }).click();
      await page.getByText('The server does not answer.').waitFor();
      expect(await page.evaluate('document.documentElement.lang')).toBe('en');
      isThere = true;
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Обзор' }).waitFor();
    };
    await withPanel('current', test, { expected: /ERR_FAILED/ });
  });

  it('are those of the other language where the chosen ones cannot be fetched, and without any the page says so', async () => {
    const test = async (page: Page) => {
      await page.route(/assets\/ru-/, (route) => route.abort());
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await page.route(/assets\/en-/, (route) => route.abort());
      await page.reload();
      await page.getByText('обновите её').waitFor();
    };
    await withPanel('current', test, { ...RUSSIAN, expected: /ERR_FAILED/ });
  });
});

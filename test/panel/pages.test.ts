import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { formatSize } from '../../panel/text/sizes.js';
import { localOf } from '../local-of.js';
import { expectAccessible, inBrowser, PAGES } from './in-browser.js';
import { goTo, picture } from './stage.js';

const { withPanel } = inBrowser();

/** Leaves the page as it was: in English, light and wide. */
async function pictures(page: Page, name: string): Promise<void> {
  await picture(page, name);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expectAccessible(page);
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Fails where something is wider than the window, or where the frame can be scrolled away. */
async function expectFits(page: Page): Promise<void> {
  expect(
    await page.evaluate(
      '[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight].map((over) => Math.max(0, over))',
    ),
  ).toEqual([0, 0]);
}

describe.each(['dns', 'current'])('revision %s', (revision) => {
  it('shows every page, greys what the server lacks, and axe finds nothing, light or dark', async () => {
    await withPanel(revision, async (page) => {
      for (const name of PAGES) {
        await goTo(page, name);
        await page.locator('.loading').waitFor({ state: 'detached' });
        await expectAccessible(page);
        await expectFits(page);
        await pictures(page, `${revision}-${name.toLowerCase()}`);
      }
      const missing = await page.locator('nav a.missing').allInnerTexts();
      const lacking = revision === 'dns' ? ['Rules', 'Audit'] : ['DNS'];
      expect(missing.map((text) => text.split('\n')[0])).toEqual(lacking);
      await goTo(page, lacking[0] ?? '');
      await page.getByRole('heading', { name: 'not on this server' }).waitFor();
    });
  });
});

it('is usable on a phone, dark and in Russian, and down to 320 pixels', async () => {
  await withPanel(
    'current',
    async (page) => {
      for (const [name, picturedAs] of [
        ['Обзор', 'overview'],
        ['Ключи', 'keys'],
        ['Конфигурация', 'configuration'],
        ['Правила', 'rules'],
        ['DNS', 'dns'],
        ['Журнал', 'audit'],
      ] as const) {
        await goTo(page, name);
        await page.locator('.loading').waitFor({ state: 'detached' });
        await expectAccessible(page);
        await expectFits(page);
        await picture(page, `phone-${picturedAs}-dark-ru`);
        await page.setViewportSize({ width: 320, height: 640 });
        await expectFits(page);
        await page.setViewportSize({ width: 390, height: 780 });
      }
      await goTo(page, 'Ключи');
      await page.getByRole('link', { name: 'Guests' }).click();
      await page.getByRole('img', { name: 'QR-код ссылки' }).waitFor();
      await expectAccessible(page);
      await picture(page, 'phone-key-dark-ru');
    },
    {
      viewport: { width: 390, height: 780 },
      colorScheme: 'dark',
      locale: 'ru-RU',
      words: ['Имя пользователя', 'Пароль', 'Войти'],
    },
  );
});

it('draws what moved since it was opened, in total and for each key', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await page.getByText('The page compares one refresh with the next').waitFor();
      const { keys } = localOf(stage.app.keyway);
      const chart = page.getByRole('figure').first();
      for (let turn = 1n; turn <= 3n; turn += 1n) {
        keys.setCounters('guest-2026', {
          bytesUp: 10_000_000_000n,
          bytesDown: 60_000_000_000n * turn,
          connections: 1n,
        });
        const guests = page.locator('.ranking').first().getByRole('listitem').filter({ hasText: 'Guests' });
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
      await expect.poll(readout).toMatch(/Down \d[\d.]*\s[KMG]iB\/s/);
      await page.locator('.ranking .sparkline path').first().waitFor();
      await page.locator('.card', { hasText: 'Near or over their limit' }).getByText('353%').waitFor();
      await pictures(page, 'current-traffic');
      await page.getByRole('link', { name: 'Guests' }).first().click();
      await page.getByRole('dialog').getByRole('figure').getByText(/Up \d/).first().waitFor();
    },
    { clock: true },
  );
});

it('has the colours and the language that were chosen last, without motion where none is wanted', async () => {
  await withPanel(
    'current',
    async (page) => {
      const theme = () => page.evaluate('document.documentElement.dataset.theme');
      expect(await theme()).toBe('dark');
      await page.getByRole('button', { name: /^Colours/ }).click();
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

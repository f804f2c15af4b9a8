import { describe, expect, it } from 'vitest';
import { expectAccessible, inBrowser, PAGES } from './in-browser.js';
import { goTo, picture } from './stage.js';

const { withPanel } = inBrowser();

describe.each(['dns', 'current'])('revision %s', (revision) => {
  it('shows every page, greys what the server lacks, and axe finds nothing', async () => {
    await withPanel(revision, async (page) => {
      for (const name of PAGES) {
        await goTo(page, name);
        await page.locator('.loading').waitFor({ state: 'detached' });
        await expectAccessible(page);
        await picture(page, `${revision}-${name.toLowerCase()}`);
      }
      const missing = await page.locator('nav a.missing').allInnerTexts();
      const lacking = revision === 'dns' ? ['Rules', 'Audit'] : ['DNS'];
      expect(missing.map((text) => text.split('\n')[0])).toEqual(lacking);
      await goTo(page, lacking[0] ?? '');
      await page.getByRole('heading', { name: 'not on this server' }).waitFor();
    });
  });
});

it('is usable on a phone, dark and in Russian', async () => {
  await withPanel(
    'current',
    async (page) => {
      for (const name of ['Обзор', 'Ключи', 'Конфигурация', 'Правила', 'Журнал']) {
        await goTo(page, name);
        await page.locator('.loading').waitFor({ state: 'detached' });
        await expectAccessible(page);
        await picture(page, `phone-${name}`);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      }
      await goTo(page, 'Ключи');
      await page.getByRole('link', { name: 'Guests' }).click();
      await page.getByRole('img', { name: 'QR-код ссылки' }).waitFor();
      await expectAccessible(page);
      await picture(page, 'phone-key');
    },
    {
      viewport: { width: 390, height: 780 },
      colorScheme: 'dark',
      locale: 'ru-RU',
      words: ['Имя пользователя', 'Пароль', 'Войти'],
    },
  );
});

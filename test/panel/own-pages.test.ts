import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { cutWords, expectAccessible, expectFits, inBrowser } from './in-browser.js';
import { goTo, picture } from './stage.js';

const { withPanel } = inBrowser();

const LOGIN = { ru: ['Имя пользователя', 'Пароль', 'Войти'], en: ['Username', 'Password', 'Sign in'] } as const;
const WORDS = {
  en: { tokens: 'Tokens', usage: 'Usage', audit: 'Audit', events: 'Events', rotate: 'Rotate' },
  ru: { tokens: 'Токены', usage: 'Использование', audit: 'Журнал', events: 'События', rotate: 'Заменить ключ' },
} as const;

const SCREENS = [
  { width: 390, height: 780, language: 'ru' },
  { width: 390, height: 780, language: 'en' },
  { width: 1024, height: 768, language: 'ru' },
  { width: 1440, height: 900, language: 'en' },
] as const;

it.each(
  SCREENS,
)('the pages of Keyway’s own interface fit $width pixels in $language, full as well as open, and axe finds nothing', async ({
  width,
  height,
  language,
}) => {
  const words = WORDS[language];
  const look = async (page: Page, name: string) => {
    await page.locator('.loading').waitFor({ state: 'detached' });
    await expectAccessible(page);
    await expectFits(page);
    expect(await cutWords(page)).toEqual([]);
    await picture(page, `${width}-own-${name}-${language}`);
  };
  await withPanel(
    'current',
    async (page, stage) => {
      const { api } = stage;
      const headers = { authorization: 'Bearer static-token-1', 'content-type': 'application/json' };
      const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
      for (const [name, may] of [
        ['relay-frankfurt-am-main-2', 'relay'],
        ['a.bot', 'keys'],
      ]) {
        const body = JSON.stringify({ name, may, expires_at: expiresAt });
        await fetch(api.replace(/api$/, 'keyway/v1/tokens'), { method: 'POST', headers, body });
      }
      for (let key = 0; key < 7; key += 1) await stage.call('POST', '/users', { name: `A rather long name ${key}` });
      await goTo(page, words.tokens);
      await page.getByText('relay-frankfurt-am-main-2').waitFor();
      await look(page, 'tokens');
      await page.getByRole('button', { name: words.usage, exact: true }).click();
      await page.locator('summary').first().click();
      await look(page, 'usage');
      await goTo(page, words.audit);
      await page.getByText('relay-frankfurt-am-main-2').first().waitFor();
      await look(page, 'audit');
      await page.getByRole('button', { name: words.events, exact: true }).click();
      await page.getByRole('listitem').filter({ hasText: 'A rather long name' }).first().waitFor();
      await look(page, 'events');
      await page.evaluate('location.hash = "#/keys/guest-2026"');
      await page.getByRole('button', { name: words.rotate }).click();
      await page.getByRole('checkbox').last().check();
      await look(page, 'rotation');
    },
    { viewport: { width, height }, locale: language === 'ru' ? 'ru-RU' : 'en-US', words: LOGIN[language] },
  );
});

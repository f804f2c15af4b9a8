import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectAccessible, expectLegible } from './axe.js';
import { cutWords, expectFits, withPanel } from './in-browser.js';
import { goTo, picture, resize } from './stage.js';

const WORDS = {
  en: { tokens: 'Tokens', usage: 'Usage', audit: 'Audit', events: 'Events', rotate: 'Rotate' },
  ru: { tokens: 'Токены', usage: 'Использование', audit: 'Журнал', events: 'События', rotate: 'Заменить ключ' },
} as const;

/** The screens of each language, with what axe looks at: the layout of a phone and that of a screen are looked at as a whole once. */
const SCREENS = {
  en: [
    { width: 390, height: 780, audit: expectAccessible },
    { width: 1440, height: 900, audit: expectLegible },
  ],
  ru: [
    { width: 390, height: 780, audit: expectLegible },
    { width: 1024, height: 768, audit: expectAccessible },
  ],
} as const;

it.each([
  'en',
  'ru',
] as const)('the pages of Keyway’s own interface fit a phone and a screen in %s, full as well as open, and axe finds nothing', async (language) => {
  const words = WORDS[language];
  const look = async (page: Page, name: string) => {
    await page.locator('.loading').waitFor({ state: 'detached' });
    for (const { audit, ...screen } of SCREENS[language]) {
      await resize(page, screen);
      await audit(page);
      await expectFits(page);
      expect(await cutWords(page)).toEqual([]);
      await picture(page, `${screen.width}-own-${name}-${language}`);
    }
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
      await look(page, 'rotation');
    },
    { viewport: SCREENS[language][0], locale: language === 'ru' ? 'ru-RU' : 'en-US' },
  );
});

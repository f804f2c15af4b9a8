import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { auditPages, LOOKS } from './every-page.js';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

it('axe finds nothing on any page', async () => {
  await auditPages(LOOKS.slice(0, 1));
});

it('a server that lacks some pages has them grey, and says why', async () => {
  await withPanel('dns', async (page) => {
    await goTo(page, 'Keys');
    await page.getByText('cannot tell which keys are online').waitFor();
    const missing = async () => {
      const texts = await page.locator('nav a.missing').allInnerTexts();
      return texts.map((text) => text.split('\n')[0]);
    };
    await expect.poll(missing).toEqual(['Audit']);
    await goTo(page, 'Audit');
    await page.getByRole('heading', { name: 'Not available on this server' }).waitFor();
    await expectAccessible(page);
  });
});

/** The language files that the page asks for from now on, by their languages. */
const languagesAsked = (page: Page) => {
  const asked: string[] = [];
  page.on('request', (request) => asked.push(...(/assets\/(en|ru)-/.exec(request.url())?.slice(1) ?? [])));
  return asked;
};

it('the texts are Russian alone for a Russian browser, without a moment of English, and others once they are chosen', async () => {
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
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(asked).toEqual(['ru', 'en', 'en']);
  };
  await withPanel('current', test, { locale: 'ru-RU' });
});

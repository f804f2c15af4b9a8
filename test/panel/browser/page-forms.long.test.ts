import type { Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { PAGES, withPanel } from './in-browser.js';
import { goTo } from './stage.js';

/** What each page asks for alone, the view of it that is opened first, and what it shows of that. */
const ASKED: readonly {
  readonly page: string;
  /** The current one unless it lacks what is asked. */
  readonly revision?: string;
  readonly view: string;
  readonly path: RegExp;
  readonly shown: string | RegExp;
}[] = [
  { page: 'Configuration', view: '', path: /\/configuration$|\/server\/config$/, shown: 'Web path' },
  { page: 'Configuration', view: 'Versions', path: /\/configuration\/versions$/, shown: 'Compare' },
  { page: 'Rules', view: '', path: /\/rules$/, shown: '10.0.0.0/8' },
  { page: 'DNS', revision: 'dns', view: '', path: /\/dns/, shown: 'No queries yet' },
  { page: 'Audit', view: '', path: /\/audit$/, shown: 'signed in' },
  { page: 'Audit', view: 'Events', path: /\/events/, shown: 'Key created' },
  { page: 'Tokens', view: '', path: /\/tokens$/, shown: 'Create the first token' },
  { page: 'Tokens', view: 'Usage', path: /\/usage/, shown: 'Keyway’s own interface' },
];

it.each(ASKED)('$page $view says that it waits, what went wrong, and then what there is', async ({
  page: name,
  revision = 'current',
  view,
  path,
  shown,
}) => {
  await withPanel(
    revision,
    async (page, stage) => {
      await stage.call('POST', '/users', { access_key: 'made', name: 'Made' });
      const held: Route[] = [];
      let answers: 'later' | 'failure' | 'as ever' = 'later';
      const fail = (route: Route) =>
        route.fulfill({ status: 500, json: { ok: false, error: 'broken on purpose', code: 'internal_error' } });
      await page.route(path, (route) => {
        if (answers === 'as ever') return route.continue();
        return answers === 'failure' ? fail(route) : void held.push(route);
      });
      const main = page.getByRole('main');
      const open = async () => {
        await goTo(page, name);
        if (view !== '') await main.getByRole('button', { name: view }).click();
      };
      await open();
      await main.locator('.loading').first().waitFor();
      await expect.poll(() => held.length).toBeGreaterThan(0);
      answers = 'failure';
      for (const route of held.splice(0)) await fail(route);
      await main.getByText('broken on purpose').first().waitFor();
      await expect.poll(() => main.locator('.loading').count()).toBe(0);
      answers = 'as ever';
      await goTo(page, 'Overview');
      await open();
      await main.getByText(shown).first().waitFor();
      await expect.poll(() => main.getByText('broken on purpose').count()).toBe(0);
    },
    { typed: true, expected: /status of 500/ },
  );
});

// Of the list, which all pages share, trouble.test.ts shows the same.
it('every page but Overview and Keys, which show the list alone, is among these', () => {
  const named = new Set(ASKED.map(({ page }) => page));
  expect(PAGES.filter((page) => !named.has(page))).toEqual(['Overview', 'Keys']);
});

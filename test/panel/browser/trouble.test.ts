import { expect, it } from 'vitest';
import { withPanel } from './in-browser.js';
import { goTo, holdTime, picture } from './stage.js';

it('a server that does not answer is told of until it is back, the list says of when it is, and one that cannot be had counts nothing', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      await page.getByLabel('Search by label, note or key').fill('gue');
      let isAway = true;
      await page.route(/\/api\/|\/keyway\//, (route) => (isAway ? route.abort() : route.continue()));
      const bar = page.getByRole('alert').filter({ hasText: 'No connection since' });
      const age = page.getByText(/^as of \d+:\d\d:\d\d/);
      const told = bar.filter({ hasText: 'The server does not answer' });
      await expect
        .poll(async () => {
          await page.clock.fastForward(5_000);
          return [await told.count(), await age.count()];
        })
        .toEqual([1, 1]);
      await picture(page, 'current-away');
      // It asks by itself, too: not any more, and what it has asked is answered before this is.
      await holdTime(page);
      await page.evaluate('fetch("api/nothing").catch(() => undefined)');
      isAway = false;
      await page.getByRole('button', { name: 'Retry now' }).click();
      await page.clock.resume();
      await bar.waitFor({ state: 'detached' });
      await age.waitFor({ state: 'detached' });
      expect(await page.getByLabel('Search by label, note or key').inputValue()).toBe('gue');
      await page.route(/\/api\/users|\/keyway\/v1\/keys/, (route) => route.abort());
      await page.reload();
      await page.getByRole('main').getByText('The server does not answer.').first().waitFor();
      const filters = page.getByRole('group', { name: 'Show' }).getByRole('button');
      await expect
        .poll(async () => (await filters.allInnerTexts()).map((text) => text.trim()))
        .toEqual(['All', 'Over limit', 'Near limit', 'Online', 'Used', 'Never used', 'No limit']);
    },
    { clock: true, expected: /ERR_FAILED/ },
  );
});

import { expect, it } from 'vitest';
import { TOKEN } from '../server-files.js';
import { withPanel } from './in-browser.js';
import { goTo, resize } from './stage.js';

it('a revision that will end is marked, and says whom that would cut off', async () => {
  const sunset = Date.parse('2099-03-01T00:00:00Z');
  await withPanel(
    'current',
    async (page, { origin }) => {
      const old = { authorization: `Bearer ${TOKEN}`, 'user-agent': 'old-bot/0.9' };
      expect((await fetch(`${origin}/api/users`, { headers: old })).status).toBe(200);
      await goTo(page, 'Tokens');
      await page.getByRole('button', { name: 'Usage', exact: true }).click();
      const first = page.locator('details').first();
      await first.getByText(/^Ends /).waitFor();
      expect(await first.locator('strong').textContent()).toBe('earliest');
      await first.locator('summary').click();
      await first.getByText('Without earliest this would be cut off:').waitFor();
      await first.getByRole('row', { name: /the static token old-bot\/0\.9/ }).waitFor();
      await resize(page, { width: 390, height: 780 });
      const table = first.getByRole('region', { name: 'earliest' });
      expect(await table.evaluate((box) => box.scrollWidth - box.clientWidth), 'pixels out of sight').toBe(0);
      await table.getByText('Last seen').waitFor();
    },
    { stage: { mounts: [{ revision: 'current' }, { revision: 'earliest', sunset }] } },
  );
});

it('a token that may keys alone finds no page of tokens, and may rotate', async () => {
  await withPanel(
    'current',
    async (page, { own }) => {
      const { token } = Object(await own('POST', '/tokens', { name: 'helper', may: 'keys' }));
      await page.getByRole('button', { name: 'Token', exact: true }).click();
      await page.getByRole('textbox', { name: 'API token' }).fill(token);
      await page.keyboard.press('Enter');
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Guests' }).click();
      await page.getByRole('button', { name: 'Rotate' }).waitFor();
      await page.keyboard.press('Escape');
      expect(await page.getByRole('navigation').getByRole('link', { name: 'Tokens' }).count()).toBe(0);
      await page.evaluate('location.hash = "#/tokens"');
      await page.getByRole('heading', { name: 'Not available on this server' }).waitFor();
    },
    { signed: false },
  );
});

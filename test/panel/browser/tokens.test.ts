import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo, holdTime } from './stage.js';

it('a token is made, shown once, used, seen as used, and removed after a question', async () => {
  await withPanel(
    'current',
    async (page, { own, app, api }) => {
      await goTo(page, 'Tokens');
      await page.getByRole('heading', { name: 'No named tokens' }).waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'New token' }).click();
      const form = page.getByRole('dialog', { name: 'New token' });
      await form.getByRole('button', { name: 'Create' }).click();
      await form.getByText('and none of Keyway’s own words').waitFor();
      await form.getByLabel('Name').fill('relay-eu');
      await form.getByLabel('May').selectOption('relay');
      await form.getByText('Reads the keys.').waitFor();
      await form.getByLabel('Lasts').selectOption('30 days');
      await expectAccessible(page);
      await form.getByRole('button', { name: 'Create' }).click();
      const shown = page.getByRole('dialog', { name: 'The token relay-eu' });
      await shown.getByRole('button', { name: 'Copy: Token' }).waitFor();
      const secret = (await shown.locator('code').textContent()) ?? '';
      await expectAccessible(page);
      expect(secret).toMatch(/^kw_/);
      await shown.getByRole('button', { name: 'I have it' }).click();
      await shown.getByText('It was not copied yet.').waitFor();
      expect(await shown.locator('code').textContent(), 'it stays until it is declined twice').toBe(secret);
      await page.keyboard.press('Escape');
      await shown.waitFor({ state: 'detached' });
      expect(await page.getByText(secret).count()).toBe(0);
      const [token] = (await own('GET', '/tokens')) as readonly { readonly expires_at: string }[]; // docs/api.md
      expect(token).toMatchObject({ name: 'relay-eu', may: 'relay', made_by: 'session' });
      expect(Math.abs(Date.parse(token?.expires_at ?? '') - Date.now() - 30 * 86_400_000)).toBeLessThan(600_000);

      const entry = page.getByRole('listitem').filter({ hasText: 'relay-eu' });
      await entry.getByText('never').waitFor();
      const used = await fetch(`${api}/users`, {
        headers: { authorization: `Bearer ${secret}`, 'user-agent': 'relay/7.1 x' },
      });
      expect(used.status).toBe(200);
      await page.getByRole('button', { name: 'Usage', exact: true }).click();
      const revision = page.locator('details').filter({ has: page.getByText(/^0\.2\.96$|^current$/) });
      await revision.locator('summary').click();
      await revision.getByText('would be cut off').waitFor();
      // What the page knew from its visit before stands there until the new answer has come.
      await revision.getByRole('row', { name: /relay-eu relay\/7\.1 1 1/ }).waitFor();
      await page.getByRole('button', { name: 'Tokens', exact: true }).click();
      await entry.getByText('never').waitFor({ state: 'detached' });

      await page.getByRole('button', { name: 'Remove relay-eu' }).click();
      const asked = page.getByRole('dialog', { name: 'Remove the token relay-eu?' });
      await asked.getByRole('button', { name: 'Cancel' }).click();
      expect(await own('GET', '/tokens')).toHaveLength(1);
      await page.getByRole('button', { name: 'Remove relay-eu' }).click();
      await asked.getByRole('button', { name: 'Remove' }).click();
      await page.getByText('Token removed: relay-eu.').waitFor();
      await page.getByRole('button', { name: 'New token' }).click();
      await form.getByLabel('Name').fill('relay-us');
      await form.getByRole('button', { name: 'Create' }).click();
      const next = page.getByRole('dialog', { name: 'The token relay-us' });
      const copyToken = next.getByRole('button', { name: 'Copy: Token' });
      await copyToken.waitFor();
      await holdTime(page);
      await copyToken.click();
      await next.getByRole('button', { name: 'Copied' }).waitFor();
      await page.clock.resume();
      await next.getByRole('button', { name: 'I have it' }).click();
      await next.waitFor({ state: 'detached' });
      await own('DELETE', '/tokens/relay-us');
      expect(await own('GET', '/tokens')).toEqual([]);
      const refused = await fetch(`${api}/users`, { headers: { authorization: `Bearer ${secret}` } });
      expect(refused.status).toBe(401);
      expect(JSON.stringify(await app.keyway.core.audit.list())).not.toContain(secret);
    },
    // For what the page says for a moment alone.
    { clock: true },
  );
});

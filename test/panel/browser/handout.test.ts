import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo } from './stage.js';

it('a new key opens with its link and QR code at the top, and the subscription URL beside it, which leads to the page of its user', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await page.evaluate('navigator.share = async ({ text }) => { window.shared = text; }');
      await goTo(page, 'Keys');
      await page.getByRole('button', { name: 'New key' }).click();
      await page.getByLabel('Label', { exact: true }).fill('Reception');
      await page.getByLabel('Key', { exact: true }).fill('a/b');
      await page.getByLabel('Limit', { exact: true }).fill('5 GB');
      await page.getByText('= 5,000,000,000 bytes').waitFor();
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      const drawer = page.getByRole('dialog', { name: 'Reception' });
      const top = async (name: string) => (await drawer.getByRole('img', { name }).boundingBox())?.y ?? Number.NaN;
      await drawer.getByRole('img', { name: 'QR code of the link' }).waitFor();
      expect(await top('QR code of the link')).toBeLessThan(200);
      await drawer.getByRole('button', { name: 'Subscription URL' }).click();
      await drawer.getByRole('img', { name: 'QR code of the subscription URL' }).waitFor();
      const url = await drawer.locator('code').first().innerText();
      expect(url).toMatch(new RegExp(`^${stage.origin}/sub/[0-9a-f]{32}$`));
      await drawer.getByText('It names 127.0.0.1, which clients elsewhere cannot reach.').waitFor();
      await drawer.getByRole('button', { name: 'Share…' }).click();
      expect(await page.evaluate('window.shared')).toBe(url);
      expect(await (await fetch(url)).text()).toContain('ostp://a%2Fb@');
      await expectAccessible(page);
      const link = drawer.getByRole('link', { name: 'The user’s page' });
      const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
      await opened.getByText('Reception').first().waitFor();
      expect(opened.url()).toBe(url);
      await opened.close();
      await drawer.getByRole('button', { name: 'Print' }).click();
      await page.getByRole('dialog', { name: 'QR codes' }).getByText('Reception').waitFor();
      await page.keyboard.press('Escape');
      await drawer.getByRole('button', { name: 'Edit' }).click();
      expect(
        await page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Limit', { exact: true }).inputValue(),
      ).toBe('5');
      expect(await page.getByLabel('Unit').inputValue()).toBe('GB');
    },
    { stage: { ownVersion: '9.8.7', subscriptionTokens: true } },
  );
});

it('a table of keys is shown with what it would change before it does, and failures are told by line', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await goTo(page, 'Keys');
      await page.getByRole('button', { name: 'Import' }).click();
      const dialog = page.getByRole('dialog', { name: 'Import keys from CSV' });
      const csv =
        'name;limit;access_key\r\nVisitors;60 GiB;guest-2026\r\n"New; one";5 GB;desk-1\r\n;;exact-limit\r\nBad;lots;desk-2\r\nRefused;;desk-3\r\n';
      await dialog
        .locator('input[type=file]')
        .setInputFiles({ name: 'keys.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
      await dialog.getByText('New: 2 · Changed: 2 · Unchanged: 0 · Skipped: 1').waitFor();
      await dialog.getByRole('row', { name: /2 guest-2026 Changed Guests → Visitors · 50 GiB → 60 GiB/ }).waitFor();
      await dialog.getByRole('row', { name: /5 desk-2 Skipped Enter a number/ }).waitFor();
      await expectAccessible(page);
      expect(stage.app.keyway.core.keys.size).toBe(4);
      await page.route(`${stage.api}/users`, async (route) => {
        if (route.request().postData()?.includes('desk-3') === true) await route.fulfill({ status: 500, body: 'oops' });
        else await route.continue();
      });
      await dialog.getByRole('button', { name: 'Import 4 keys' }).click();
      await page.getByRole('heading', { name: '3 keys imported' }).waitFor();
      await page.getByText('Line 6, Refused: Server error (500).').waitFor();
      const [links] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Links' }).click(),
      ]);
      expect((await contentOf(links)).toString()).toContain('//desk-1@');
      expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({
        name: 'Visitors',
        limit_bytes: 64_424_509_440,
      });
      expect(await stage.call('GET', '/users/desk-1')).toMatchObject({ name: 'New; one', limit_bytes: 5_000_000_000 });
      expect(await stage.call('GET', '/users/exact-limit')).toMatchObject({ name: null, limit_bytes: null });
    },
    { expected: /status of 500/, stage: { ownApi: false } },
  );
});

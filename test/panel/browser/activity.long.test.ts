import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo } from './stage.js';

it('the audit list has ages with date and zone, and who, is filtered, and saved as CSV and JSON', async () => {
  await withPanel(
    'current',
    async (page, { app }) => {
      const { audit } = app.keyway.core;
      await audit.add({ eventEn: '=Door opened', eventRu: 'Дверь открыта', success: false });
      await goTo(page, 'Keys');
      await page.getByRole('button', { name: 'New key' }).click();
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await expect.poll(async () => JSON.stringify(await audit.list())).toContain('Created a key · session · ');
      // The window of the new key follows the form, which has such a button, too.
      await page.getByRole('button', { name: 'Rotate' }).waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
      await goTo(page, 'Audit');
      const created = page.getByRole('listitem').filter({ hasText: 'Created a key' });
      await created.waitFor();
      expect(await created.textContent()).toBe('just nowCreated a key · somebody signed in');
      expect(await created.locator('time').getAttribute('title')).toMatch(/2\d{3}.*:.*GMT\+13$/);
      await page
        .getByRole('listitem')
        .filter({ hasText: /^\d\d:\d\d:\d\d=Door openedFailed$/ })
        .waitFor();
      await expectAccessible(page);

      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'CSV' }).click();
      const csv = String(await contentOf(await saved));
      expect(csv.split('\r\n')[0]).toBe('time,server_time,by,event,success');
      expect(csv).toMatch(/\r\n2\d{3}-[^,]*Z,\d\d:\d\d:\d\d,session,Created a key,true\r\n/);
      expect(csv).toMatch(/\r\n,\d\d:\d\d:\d\d,,'=Door opened,false\r\n/);
      const json = page.waitForEvent('download');
      await page.getByRole('button', { name: 'JSON' }).click();
      expect(JSON.parse(String(await contentOf(await json)))).toContainEqual(
        expect.objectContaining({ time: null, event: '=Door opened', by: null, success: false }),
      );

      await page.getByRole('button', { name: 'Failed only' }).click();
      await created.waitFor({ state: 'detached' });
      await page.getByRole('searchbox', { name: 'Filter by event or who' }).fill('nothing');
      await page.getByText('Nothing matches').waitFor();
    },
    { timezoneId: 'Pacific/Tongatapu' },
  );
});

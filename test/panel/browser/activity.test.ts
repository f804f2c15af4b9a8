import { expect, it } from 'vitest';
import { withPanel } from './in-browser.js';
import { overHomes } from './over-homes.js';
import { contentOf, goTo } from './stage.js';

overHomes(
  (withPanel) => {
    it('events appear as they happen, each a sentence with links to the keys that are there, and can be filtered', async () => {
      await withPanel(async ({ page, expectAccessible, app, own }) => {
        const { core } = app.keyway;
        await goTo(page, 'Audit');
        await page.getByRole('button', { name: 'Events', exact: true }).click();
        await page.getByText('in the last 7 days').waitFor();
        await core.createUser({ accessKey: 'event-key', name: 'Eve', limitBytes: null });
        const created = page.getByRole('listitem').filter({ hasText: 'created: ' });
        await created.getByText('Eve').waitFor();
        await core.setLimit('event-key', 5n);
        await page.getByRole('listitem').filter({ hasText: 'Key changed: Eve (Limit no limit → 5\u00a0B)' }).waitFor();
        await expectAccessible();
        await created.getByRole('link', { name: 'Eve' }).click();
        await page.getByRole('dialog', { name: 'Eve' }).waitFor();
        await page.goBack();
        await own('PATCH', '/keys/event-key', { name: 'Eva', note: 'never told' });
        const byToken = page.getByRole('listitem').filter({ hasText: 'Key changed: Eva (Eve → Eva; Note)' });
        await byToken.getByText('the static token').waitFor();
        const { access_key: successor } = Object(await own('POST', '/keys/event-key/rotate', {}));
        await page
          .getByRole('listitem')
          .filter({ hasText: /Key rotated: Eva · the static token$/ })
          .waitFor();
        await core.deleteUser(successor);
        await page.getByRole('listitem').filter({ hasText: 'Key removed: Eva' }).waitFor();
        await page.getByRole('combobox', { name: 'Show' }).selectOption('Removed');
        await expect.poll(() => page.getByRole('list', { name: 'Events' }).getByRole('listitem').count()).toBe(1);
        await page.getByRole('combobox', { name: 'Show' }).selectOption('Configuration');
        await page.getByRole('heading', { name: 'No entries' }).waitFor();
      });
    });
  },
  ['file'],
);

overHomes(
  (withPanel) => {
    it('the audit list has ages with date and zone, and who, is filtered, and saved as CSV and JSON', async () => {
      await withPanel(
        async ({ page, expectAccessible, app }) => {
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
          await expectAccessible();

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
  },
  ['file'],
);

it('the audit list shows the language of the viewer, and is cleared for everybody', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await stage.call('POST', '/audit', { eventEn: 'Door opened', eventRu: 'Дверь открыта', success: false });
      await stage.call('POST', '/audit', { eventEn: 'English alone', eventRu: '', success: true });
      await goTo(page, 'Audit');
      await page.getByRole('listitem').filter({ hasText: 'Door openedFailed' }).waitFor();
      await page.getByRole('button', { name: 'RU Русский' }).click();
      await page.getByRole('listitem').filter({ hasText: 'Дверь открытаОшибка' }).waitFor();
      for (const done of [/English alone$/, /Вход в панель/])
        await page.getByRole('listitem').filter({ hasText: done }).waitFor();
      await page.getByRole('button', { name: 'Очистить журнал' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Очистить журнал' }).click();
      await page.getByText('Записей нет').waitFor();
      expect(await stage.call('GET', '/audit')).toEqual([]);
    },
    // The panel notes a sign-in that was typed.
    { typed: true },
  );
});

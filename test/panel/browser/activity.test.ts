import { expect, it } from 'vitest';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

it('events appear as they happen, each a sentence with links to the keys that are there, and can be filtered', async () => {
  await withPanel('current', async (page, { app, own }) => {
    const { core } = app.keyway;
    await goTo(page, 'Audit');
    await page.getByRole('button', { name: 'Events', exact: true }).click();
    await page.getByText('in the last 7 days').waitFor();
    await core.createUser({ accessKey: 'event-key', name: 'Eve', limitBytes: null });
    const created = page.getByRole('listitem').filter({ hasText: 'created: ' });
    await created.getByText('Eve').waitFor();
    await core.setLimit('event-key', 5n);
    await page.getByRole('listitem').filter({ hasText: 'Key changed: Eve (Limit no limit → 5\u00a0B)' }).waitFor();
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

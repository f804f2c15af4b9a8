import { expect, it } from 'vitest';
import { overHomes } from './over-homes.js';
import { goTo } from './stage.js';

interface Key {
  readonly access_key: string;
  readonly name: string | null;
}

overHomes((withPanel) => {
  it('a key is rotated in its sheet, which then shows the link of the new key, and the old one ends when it was said', async () => {
    await withPanel(async ({ page, expectAccessible, app, own }) => {
      const { core } = app.keyway;
      await core.createUser({ accessKey: 'leaked', name: 'Leaky', limitBytes: 5000n });
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Leaky' }).click();
      await page.getByRole('button', { name: 'Rotate' }).click();
      const asking = page.getByRole('dialog', { name: 'Rotate Leaky?' });
      await expectAccessible();
      await asking.getByText('cut off at once').waitFor();
      await asking.getByRole('button', { name: 'Rotate' }).click();
      const shown = page.getByRole('dialog', { name: 'The new key' });
      await shown.getByText('The old key has ended.').waitFor();
      const link = (await shown.locator('code').first().textContent()) ?? '';
      await expectAccessible();
      const { keys } = (await own('GET', '/keys')) as { readonly keys: readonly Key[] }; // As docs/api.md says.
      const successor = keys.find(({ name }) => name === 'Leaky');
      expect(link).toContain(`//${successor?.access_key}@`);
      expect(successor).toMatchObject({ limit_bytes: 5000 });
      expect(keys.map(({ access_key }) => access_key)).not.toContain('leaked');
      await shown.getByRole('button', { name: 'Close' }).last().click();
      await expect.poll(() => new URL(page.url()).hash).toBe(`#/keys/${successor?.access_key}`);
      await page.getByRole('dialog', { name: 'Leaky' }).getByRole('button', { name: 'Rotate' }).waitFor();
    });
  });
});

overHomes(
  (withPanel) => {
    it('with a grace the old key goes on, and its address leads to the new one until the time that was typed', async () => {
      await withPanel(async ({ page, app, own }) => {
        const { core } = app.keyway;
        await core.createUser({ accessKey: 'planned', name: 'Planned', limitBytes: null });
        await goTo(page, 'Keys');
        await page.getByRole('link', { name: 'Planned' }).click();
        await page.getByRole('button', { name: 'Rotate' }).click();
        const asking = page.getByRole('dialog', { name: 'Rotate Planned?' });
        await asking.getByLabel('The old key goes on for').selectOption('1 day');
        await asking.getByLabel('Keep the subscription address').check();
        await asking.getByLabel('Keep it until').fill('2001-02-03T04:05');
        await asking.getByRole('button', { name: 'Rotate' }).click();
        await asking.getByText('Choose a time to come.').waitFor();
        expect(await own('GET', '/keys/planned')).toMatchObject({ name: 'Planned' });
        await asking.getByLabel('Keep it until').fill('2999-02-03T04:05');
        const sent = page.waitForRequest((request) => request.url().endsWith('/keys/planned/rotate'));
        await asking.getByRole('button', { name: 'Rotate' }).click();
        expect((await sent).postDataJSON()).toEqual({
          grace_seconds: 86_400,
          keep_address_until: await page.evaluate('new Date("2999-02-03T04:05").toISOString()'),
        });
        await page.getByRole('dialog', { name: 'The new key' }).getByText('The old key works until').waitFor();
        expect(await own('GET', '/keys/planned')).toMatchObject({ name: 'Planned (old)' });
      });
    });
  },
  ['file'],
);

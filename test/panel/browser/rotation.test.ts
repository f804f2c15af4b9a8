import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

interface Key {
  readonly access_key: string;
  readonly name: string | null;
}

it('a key is rotated in its sheet, which then shows the link of the new key, also where the first answer is lost', async () => {
  await withPanel(
    'current',
    async (page, { app, own }) => {
      const { core } = app.keyway;
      await core.createUser({ accessKey: 'leaked', name: 'Leaky', limitBytes: 5000n });
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Leaky' }).click();
      await page.getByRole('button', { name: 'Rotate' }).click();
      const asking = page.getByRole('dialog', { name: 'Rotate Leaky?' });
      await expectAccessible(page);
      await asking.getByText('cut off at once').waitFor();
      await page.route(
        '**/rotate',
        async (route) => {
          await route.fetch();
          await route.abort();
        },
        { times: 1 },
      );
      await asking.getByRole('button', { name: 'Rotate' }).click();
      await asking.getByRole('alert').waitFor();
      expect(core.keys.get('leaked')).toBeUndefined();
      await asking.getByRole('button', { name: 'Rotate' }).click();
      const shown = page.getByRole('dialog', { name: 'The new key' });
      await shown.getByText('The old key has ended.').waitFor();
      const link = (await shown.locator('code').first().textContent()) ?? '';
      await expectAccessible(page);
      const { keys } = (await own('GET', '/keys')) as { readonly keys: readonly Key[] }; // As docs/api.md says.
      const successor = keys.find(({ name }) => name === 'Leaky');
      expect(link).toContain(`//${successor?.access_key}@`);
      expect(successor).toMatchObject({ limit_bytes: 5000 });
      expect(keys.map(({ access_key }) => access_key)).not.toContain('leaked');
      await shown.getByRole('button', { name: 'Close' }).last().click();
      await expect.poll(() => new URL(page.url()).hash).toBe(`#/keys/${successor?.access_key}`);
      await page.getByRole('dialog', { name: 'Leaky' }).getByRole('button', { name: 'Rotate' }).waitFor();
    },
    // The browser says so of an answer that is lost.
    { expected: /ERR_FAILED/ },
  );
});

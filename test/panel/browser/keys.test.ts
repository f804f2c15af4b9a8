import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { withPanel } from './in-browser.js';
import { contentOf, goTo, hurry, picture } from './stage.js';

it('a key is created, limited, reset and deleted through the page, as the API and the file say', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Label', { exact: true }).fill('<script>window.hit=1</script>');
    await page.getByLabel('Limit', { exact: true }).fill('18446744073709551615');
    await page.getByLabel('Unit').selectOption('B');
    await page.getByText('= 18,446,744,073,709,551,615 bytes').waitFor();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('heading', { name: '<script>' }).waitFor();
    await drawer.getByRole('img', { name: 'QR code' }).waitFor();
    await picture(page, 'current-key');
    expect(await stage.fileText()).toMatch(/"name": ?"<script>.*"limit_bytes": ?18446744073709551615/);

    await drawer.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit key' });
    expect(await edit.getByLabel('Limit', { exact: true }).inputValue()).toBe('18446744073709551615');
    for (const [typed, sentence] of [
      ['-1', 'cannot be negative'],
      ['abc', 'Enter a number'],
      ['18446744073709551616', 'A limit is less than 16 EiB'],
    ]) {
      await edit.getByLabel('Limit', { exact: true }).fill(typed ?? '');
      await edit
        .getByRole('alert')
        .filter({ hasText: sentence ?? '' })
        .waitFor();
    }
    await edit.getByLabel('Limit', { exact: true }).fill('1.5 GiB');
    await edit.getByRole('button', { name: 'Save' }).click();
    await edit.waitFor({ state: 'detached' });
    await expect.poll(() => stage.fileText()).toMatch(/"name": ?"<script>.*"limit_bytes": ?1610612736/);

    await hurry(page);
    await drawer.getByRole('button', { name: 'Reset counters' }).click();
    await page.getByRole('dialog', { name: 'Reset' }).getByRole('button', { name: 'Reset counters' }).click();
    await page.getByText('Counters reset.').waitFor();
    await drawer.getByRole('button', { name: 'Delete' }).click();
    const sure = page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' });
    await sure.click();
    await page.getByText('Key deleted.').waitFor();
    expect(await stage.fileText()).not.toContain('<script>');
    expect(await page.evaluate('window.hit')).toBeUndefined();

    const audit = JSON.stringify(await stage.call('GET', '/audit'));
    expect(audit).toContain('Deleted 1 key');
    expect(audit).toContain('Удалён 1 ключ');
    expect(audit).not.toContain('script');
  });
});

/** Presses Tab until the focus is on what has this name, as somebody without a mouse does. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const focused = page.locator(':focus');
  for (let pressed = 0; pressed < 40; pressed += 1) {
    await page.keyboard.press('Tab');
    if ((await focused.count()) === 0) continue;
    const box = page
      .locator('body')
      .getByLabel(name)
      .or(page.getByRole('link', { name }))
      .or(page.getByRole('button', { name }));
    if ((await focused.and(box).count()) > 0) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}

it('a keyboard alone signs in, creates a key and deletes it', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await page.getByLabel('Username').waitFor();
      await tabTo(page, 'Username');
      await page.keyboard.type('admin');
      await tabTo(page, /^Password$/);
      await page.keyboard.type('password');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await tabTo(page, 'Keys');
      await page.keyboard.press('Enter');
      // The page before links the same keys, twice.
      await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
      await page.getByRole('grid').getByRole('link', { name: 'Guests' }).waitFor();
      await tabTo(page, 'New key');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'New key' }).waitFor();
      expect(await page.evaluate('document.activeElement.closest(".field").querySelector("label").textContent')).toBe(
        'Label',
      );
      for (let pressed = 0; pressed < 12; pressed += 1) {
        await page.keyboard.press('Tab');
        expect(
          await page.evaluate('document.activeElement === document.body || !!document.activeElement.closest("dialog")'),
        ).toBe(true);
      }
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await page.locator(':focus').innerText()).toBe('New key');
      await page.keyboard.press('Enter');
      await page.keyboard.type('By keyboard');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByRole('heading', { name: 'By keyboard' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await tabTo(page, /^Access keys/);
      await page.keyboard.press('End');
      await page.locator('.row-active', { hasText: 'By keyboard' }).waitFor();
      await page.keyboard.press('Delete');
      await page.getByRole('dialog', { name: 'Delete this key?' }).waitFor();
      await hurry(page);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByText('Key deleted.').waitFor();
      expect(await stage.fileText()).not.toContain('By keyboard');
    },
    { signed: false },
  );
});

it('many keys are created at once, and handed out as a table and as codes', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Create several' }).click();
    await page.getByLabel('How many').fill('0');
    await page.getByText('Enter a whole number').waitFor();
    await page.getByLabel('How many').fill('12');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: '12 keys created' }).waitFor();
    const [csv] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()]);
    const lines = (await contentOf(csv)).toString().trim().split('\r\n');
    expect(lines).toHaveLength(13);
    expect(lines[1]).toMatch(/^,([0-9a-f]{32}),ostp:\/\/\1@203\.0\.113\.7:50000\?type=udp/);
    await page.getByRole('button', { name: 'QR sheet' }).click();
    await expect.poll(() => page.locator('.sheet .qr').count()).toBe(12);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const printed = await page
      .locator('.sheet li')
      .evaluateAll((items) => items.map((item) => item.getBoundingClientRect().top));
    expect(Math.min(...printed)).toBeGreaterThanOrEqual(0);
    expect(await page.evaluate('getComputedStyle(document.querySelector(".sheet code")).color')).toBe('rgb(0, 0, 0)');
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
    expect(stage.app.keyway.core.keys.size).toBe(16);
  });
});

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

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { expectAccessible, inBrowser } from './in-browser.js';
import { goTo, picture } from './stage.js';

const { withPanel } = inBrowser();

it('a key is created, limited, reset and deleted through the page, as the API and the file say', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('<script>window.hit=1</script>');
    await page.getByLabel('Limit', { exact: true }).fill('18446744073709551615');
    await page.getByLabel('Unit').selectOption('B');
    await page.getByText('= 18,446,744,073,709,551,615 bytes').waitFor();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('heading', { name: '<script>' }).waitFor();
    await drawer.getByRole('img', { name: 'QR code' }).waitFor();
    await expectAccessible(page);
    await picture(page, 'current-key');
    expect(await stage.fileText()).toMatch(/"name": ?"<script>.*"limit_bytes": ?18446744073709551615/);

    await drawer.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit key' });
    expect(await edit.getByLabel('Limit', { exact: true }).inputValue()).toBe('18446744073709551615');
    for (const [typed, sentence] of [
      ['1.5 GB', 'GB can mean 1000³ or 1024³'],
      ['-1', 'below 0'],
      ['abc', 'Expected a number'],
      ['18446744073709551616', 'The largest limit'],
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

    await drawer.getByRole('button', { name: 'Reset counters' }).click();
    await page.getByRole('dialog', { name: 'Reset' }).getByRole('button', { name: 'Reset counters' }).click();
    await page.getByText('Counters reset.').waitFor();
    await drawer.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Nothing was deleted.').waitFor();
    expect(await stage.fileText()).toContain('<script>');

    await page.getByRole('link', { name: '<script>' }).click();
    await drawer.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Key deleted.').waitFor();
    expect(await stage.fileText()).not.toContain('<script>');
    expect(await page.evaluate('window.hit')).toBeUndefined();

    const audit = JSON.stringify(await stage.call('GET', '/audit'));
    expect(audit).toContain('Deleted 1 key');
    expect(audit).toContain('Удалён 1 ключ');
    expect(audit).not.toContain('script');
  });
});

it('a keyboard alone creates and deletes a key', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'New key' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('By keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('heading', { name: 'By keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('grid').focus();
    await page.keyboard.press('End');
    await page.locator('.row-active', { hasText: 'By keyboard' }).waitFor();
    await page.keyboard.press('Delete');
    await page.getByRole('dialog', { name: 'Delete this key?' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Key deleted.').waitFor();
    expect(await stage.fileText()).not.toContain('By keyboard');
  });
});

it('many keys are created at once, and one by one where the server has no bulk creation', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Many keys' }).click();
    await page.getByLabel('How many').fill('0');
    await page.getByText('Expected a whole number').waitFor();
    await page.getByLabel('How many').fill('12');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: '12 keys created' }).waitFor();
    const [csv] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()]);
    const lines = readFileSync(await csv.path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(lines).toHaveLength(13);
    expect(lines[1]).toMatch(/^,([0-9a-f]{16}),ostp:\/\/\1@203\.0\.113\.7:50000\?type=udp/);
    await page.getByRole('button', { name: 'QR sheet' }).click();
    await expect.poll(() => page.locator('.sheet .qr').count()).toBe(12);
    expect(stage.app.keyway.core.keys.size).toBe(16);
  });
  await withPanel('dns', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Many keys' }).click();
    await page.getByText('created one by one').first().waitFor();
    await page.getByLabel('How many').fill('9');
    await page.getByLabel('Name', { exact: true }).fill('Guest');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: '9 keys created' }).waitFor();
    expect(await stage.fileText()).toContain('Guest 9');
  });
});

it('pasting 5,000 lines into the search looks them up as keys', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    await page.evaluate(`{
      const data = new DataTransfer();
      data.setData('text', Array.from({ length: 4999 }, (_, i) => 'line ' + i).join('\\n') + '\\nguest-2026');
      document.querySelector('input[type=search]').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    }`);
    await page.getByText('Looking for 5,000 pasted lines').waitFor();
    expect(await page.locator('.row:not(.row-head)').count()).toBe(1);
    await page.getByRole('button', { name: 'Clear the search' }).click();
    await page.getByRole('link', { name: 'Exact' }).waitFor();
  });
});

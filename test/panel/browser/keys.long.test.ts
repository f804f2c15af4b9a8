import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { withPanel } from './in-browser.js';
import { goTo, holdTime, hurry, type Stage } from './stage.js';

it('a note that could not be saved stays in its form, is there again after Escape, and is saved by the next try', async () => {
  await withPanel('current', async (page, stage) => {
    const isPatch = (url: URL) => url.pathname.includes('/keyway/v1/keys/');
    await page.route(isPatch, (route) => route.fulfill({ status: 429, body: '{"ok":false,"error":"slow down"}' }));
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Label', { exact: true }).fill('Eve');
    await page.getByLabel('Note', { exact: true }).fill('by phone');
    await page.getByLabel('Key', { exact: true }).fill('key of her own');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const form = page.getByRole('dialog', { name: 'Edit key' });
    await form.getByText('Key created without its note.').waitFor();
    await form.getByRole('alert').filter({ hasText: 'slow down' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New key' }).click();
    await expect.poll(() => form.getByLabel('Note', { exact: true }).inputValue()).toBe('by phone');
    await page.unroute(isPatch);
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Eve' }).waitFor();
    expect(await stage.call('GET', '/users')).toHaveLength(5);
    expect([...stage.app.keyway.backend.records.of('notes').values()]).toEqual(['"by phone"']);
    await page.getByRole('button', { name: 'New key' }).click();
    await expect.poll(() => page.getByLabel('Note', { exact: true }).inputValue()).toBe('');
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
    await page.getByText('Searching for 5,000 pasted lines').waitFor();
    expect(await page.locator('.row:not(.row-head)').count()).toBe(1);
    await page.getByRole('button', { name: 'Clear search' }).click();
    await page.getByRole('link', { name: 'Exact' }).waitFor();
  });
});

it('copies key, link and client configuration, also where the browser keeps the clipboard to itself', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      const copied = () =>
        page.evaluate('Navigator.prototype.__lookupGetter__("clipboard").call(navigator).readText()');
      const link = await stage.app.inject({
        url: '/office/panel/api/subscribe/guest-2026',
        headers: { accept: 'text/plain' },
      });
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Guests' }).hover();
      await page.getByRole('button', { name: 'Copy link: Guests' }).click();
      await page.getByText('Link copied.').waitFor();
      expect(await copied()).toBe(link.json().data);
      await page.getByRole('grid').focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('c');
      await expect.poll(copied).toContain('//exact-limit@');
      await page.getByRole('link', { name: 'Guests' }).click();
      const copyLink = page.getByRole('button', { name: 'Copy: Link' });
      await copyLink.waitFor();
      await holdTime(page);
      await copyLink.click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await copied()).toBe(link.json().data);
      await page.clock.resume();
      await page.evaluate('Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true })');
      await page.getByRole('button', { name: 'Copy: Key' }).click();
      await expect.poll(copied).toBe('guest-2026');
      await page.getByText('Client configuration').click();
      await page.getByRole('button', { name: 'Copy: Client configuration' }).click();
      await expect
        .poll(async () => JSON.parse(String(await copied())))
        .toMatchObject({ mode: 'client', access_key: 'guest-2026' });
    },
    { clock: true, permissions: ['clipboard-read', 'clipboard-write'] },
  );
});

it('a name of 10,000 characters is kept, a longer one refused at its field, and a key that is markup stays text', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Label', { exact: true }).fill('n'.repeat(10_001));
    await dialog.getByText('10,001 characters is too long: at most 10,000.').waitFor();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByLabel('Key', { exact: true }).fill('guest-2026');
    await dialog.getByText('This key already exists.').waitFor();
    expect(stage.app.keyway.core.keys.size).toBe(4);
    await dialog.getByLabel('Label', { exact: true }).fill('n'.repeat(10_000));
    const key = '"><img src=x onerror="window.hit=1">/../?#%00é';
    await dialog.getByLabel('Key', { exact: true }).fill(key);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    expect(await page.getByRole('dialog').locator('code').nth(1).innerText()).toBe(key);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await stage.call('GET', `/users/${encodeURIComponent(key)}`)).toMatchObject({ name: 'n'.repeat(10_000) });
    expect(await page.evaluate('window.hit')).toBeUndefined();
    await page.reload();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    expect(await page.evaluate('window.hit')).toBeUndefined();
  });
});

it('Create pressed again after an answer that said "not saved" makes no second key, also where the list could not be read', async () => {
  const test = async (page: Page, { api, app }: Stage) => {
    await goTo(page, 'Keys');
    await page.route(`${api}/users`, async (route) => {
      if (route.request().method() !== 'POST') return route.abort();
      await route.fetch();
      return route.fulfill({ status: 400, body: '{"ok":false,"error":"failed to save configuration"}' });
    });
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Label', { exact: true }).fill('Eve');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('The server could not save this').waitFor();
    await page.keyboard.press('Escape');
    await page.unroute(`${api}/users`);
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    const made = [...app.keyway.core.keys.entries()].filter(({ name }) => name === 'Eve');
    expect(made.map(({ accessKey }) => accessKey)).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  };
  await withPanel('current', test, { expected: /status of 400|ERR_FAILED/, stage: { ownApi: false } });
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

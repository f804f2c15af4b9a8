import type { Locator, Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo } from './stage.js';

it('a new key opens with its link and QR code at the top, and the subscription URL that is served beside it', async () => {
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
      await drawer.getByRole('button', { name: 'Share…' }).click();
      expect(await page.evaluate('window.shared')).toBe(url);
      expect(await (await fetch(url)).text()).toContain('ostp://a%2Fb@');
      await expectAccessible(page);
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

it('on a phone a key with 10 GB is handed out by its code with four taps, the page of keys among them', async () => {
  await withPanel(
    'current',
    async (page) => {
      await page.evaluate(
        'window.taps = 0; addEventListener("click", ({ isTrusted }) => { taps += isTrusted; }, true)',
      );
      await page.getByRole('link', { name: 'Keys', exact: true }).tap();
      await page.getByRole('button', { name: 'New key' }).tap();
      await page.getByLabel('Label', { exact: true }).fill('Anna');
      await page.getByLabel('Limit', { exact: true }).fill('10 GB');
      await page.getByRole('button', { name: 'Create', exact: true }).tap();
      const drawer = page.getByRole('dialog', { name: 'Anna' });
      await drawer.getByText('10 GB').first().waitFor();
      await drawer.getByRole('img', { name: 'QR code of the link' }).tap();
      await page.getByRole('dialog', { name: 'QR code of the link' }).waitFor();
      expect(await page.evaluate('taps')).toBe(4);
    },
    { viewport: { width: 390, height: 780 }, hasTouch: true },
  );
});

/** Reads the QR code that an element shows, from a picture of it. */
async function readCode(page: Page, element: Locator): Promise<string> {
  const picture = (await element.screenshot()).toString('base64');
  const { width, height, data } = await page.evaluate<{ width: number; height: number; data: string }>(`(async () => {
    const bytes = Uint8Array.from(atob('${picture}'), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    canvas.drawImage(bitmap, 0, 0);
    const { width, height, data } = canvas.getImageData(0, 0, bitmap.width, bitmap.height);
    return { width, height, data: btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join('')) };
  })()`);
  return decodeQR({ width, height, data: Buffer.from(data, 'base64') });
}

it('the code of a key is read as the link below it, and a link that is too long for one says so', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Show QR code: Guests' }).click();
    const share = page.getByRole('region', { name: 'Share' });
    const link = await share.locator('code').innerText();
    expect(link).toContain('//guest-2026@');
    expect(await readCode(page, share.getByRole('img', { name: 'QR code of the link' }))).toBe(link);
    const key = 'k'.repeat(2_400);
    await stage.call('POST', '/users', { access_key: key, name: 'Long' });
    await page.evaluate(`location.hash = '#/keys/${key}'`);
    await page.getByRole('dialog', { name: 'Long' }).getByText('Too long for a QR code.').waitFor();
  });
});

it('a sheet of 300 codes is drawn in portions, while the page goes on', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Create several' }).click();
    await page.getByLabel('How many').fill('300');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: '300 keys created' }).waitFor();
    await page.evaluate(`{
      window.seen = new Set();
      setInterval(() => {
        const codes = document.querySelectorAll('.sheet .qr').length;
        window.seen.add(codes);
        const print = [...document.querySelectorAll('button')].find((one) => one.textContent === 'Print');
        if (codes > 0 && codes < 300) window.wasDisabled = (window.wasDisabled ?? true) && print.disabled;
      }, 0);
    }`);
    await page.getByRole('button', { name: 'QR sheet' }).click();
    const print = page.getByRole('button', { name: 'Print' });
    await expect.poll(() => page.locator('.sheet .qr').count()).toBe(300);
    await expect.poll(() => print.isDisabled()).toBe(false);
    expect(await page.evaluate('window.wasDisabled')).toBe(true);
    // What else the page does had its turn in between, again and again: a portion is 20 of them.
    expect(Number(await page.evaluate('window.seen.size'))).toBeGreaterThan(10);
  });
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

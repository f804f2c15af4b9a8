import type { Locator, Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import { expect, it } from 'vitest';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

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

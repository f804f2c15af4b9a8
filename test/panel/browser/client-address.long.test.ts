import { expect, it } from 'vitest';
import { SERVER_FILE } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo } from './stage.js';

it('a server whose links name 0.0.0.0 hands out no link, code or sheet before it is told where clients reach it, and that once for every browser', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Guests' }).click();
      const drawer = page.getByRole('dialog', { name: 'Guests' });
      await drawer.getByText('The server’s links name 0.0.0.0, which no client can reach.').waitFor();
      expect(await drawer.getByRole('img', { name: 'QR code of the link' }).count()).toBe(0);
      expect(await drawer.getByText('ostp://').count()).toBe(0);
      await expectAccessible(page);
      await drawer.getByRole('button', { name: 'Set address' }).click();
      const question = page.getByRole('dialog', { name: 'Address for clients' });
      await question.getByLabel('Address for clients').fill('localhost');
      await question.getByRole('button', { name: 'Use this address' }).click();
      await question.getByText('Type an address that clients can reach').waitFor();
      await expect.poll(() => page.evaluate('document.activeElement.value')).toBe('localhost');
      await question.getByLabel('Address for clients').fill('vpn.example.com');
      await page.keyboard.press('Enter');
      await drawer.getByText('ostp://guest-2026@vpn.example.com:50000').waitFor();
      await drawer.getByRole('img', { name: 'QR code of the link' }).waitFor();
      await drawer.getByRole('button', { name: 'Subscription URL' }).click();
      await drawer.getByText('No subscriptions are served.').waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.reload();
      await page.getByLabel('Select all shown').check();
      const toolbar = page.getByRole('toolbar');
      const [links] = await Promise.all([
        page.waitForEvent('download'),
        toolbar.getByRole('button', { name: 'Links' }).click(),
      ]);
      const lines = (await contentOf(links)).toString().trim().split('\n');
      expect(lines.filter((line) => line.includes('@vpn.example.com:50000'))).toHaveLength(4);
    },
    { stage: { file: SERVER_FILE.replace('203.0.113.7', '0.0.0.0') } },
  );
});

it('a sheet or a copied link asks for the address in a window, and goes on with it', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      await page.getByLabel('Select all shown').check();
      await page.getByRole('toolbar').getByRole('button', { name: 'QR sheet' }).click();
      const question = page.getByRole('dialog', { name: 'Address for clients' });
      await question.getByLabel('Address for clients').fill('203.0.113.9:443');
      await expectAccessible(page);
      await question.getByRole('button', { name: 'Use this address' }).click();
      await expect.poll(() => page.locator('.sheet .qr').count()).toBe(4);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Copy link: Guests' }).click();
      await page.getByText('Link copied.').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toContain('guest-2026@203.0.113.9:443');
    },
    {
      stage: { file: SERVER_FILE.replace('203.0.113.7', '0.0.0.0') },
      permissions: ['clipboard-read', 'clipboard-write'],
    },
  );
});

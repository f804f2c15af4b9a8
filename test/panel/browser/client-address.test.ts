import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isReachable, partLink, readClientAddress } from '../../../panel/text/client-address.js';
import { SERVER_FILE } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo } from './stage.js';

describe('the address in a share link', () => {
  it.each([
    '203.0.113.7',
    '10.0.0.1',
    '[2001:db8::1]',
    'vpn.example.com',
    'vpn.example.com.',
    'сервер.рф',
  ])('takes %s', (host) => {
    expect(isReachable(host)).toBe(true);
  });

  it.each([
    '',
    '0.0.0.0',
    '127.0.0.1',
    '127.8.8.8',
    '255.255.255.255',
    '[::]',
    '[0:0::0]',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
    'a.localhost',
    'nonsense',
    'not a host.example',
    '256.1.1.1',
  ])('refuses %j', (host) => {
    expect(isReachable(host)).toBe(false);
  });

  it.each([
    ['203.0.113.7', { host: '203.0.113.7', port: '' }],
    [' vpn.example.com:443 ', { host: 'vpn.example.com', port: ':443' }],
    ['2001:db8::1', { host: '[2001:db8::1]', port: '' }],
    ['[2001:db8::1]:443', { host: '[2001:db8::1]', port: ':443' }],
    ['0.0.0.0', null],
    ['vpn.example.com:0', null],
    ['vpn.example.com:70000', null],
    ['https://vpn.example.com', null],
    ['vpn.example.com/path', null],
    ['', null],
  ])('reads %j as it is typed', (typed, address) => {
    expect(readClientAddress(typed)).toEqual(address);
  });

  it('is found behind any key, which stands in the link as it is or percent-encoded', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.boolean(), (key, encoded) => {
        const spelled = encoded ? encodeURIComponent(key) : key;
        const parts = partLink(`ostp://${spelled}@0.0.0.0:50000?type=udp&sni=a@b`, key);
        expect(parts).toEqual({
          before: `ostp://${spelled}@`,
          host: '0.0.0.0',
          port: ':50000',
          after: '?type=udp&sni=a@b',
        });
      }),
    );
    expect(partLink('vless://other@[::]:1', 'key')).toBeNull();
    expect(partLink('vless://key@[::]:1', 'key')).toMatchObject({ host: '[::]', port: ':1' });
    expect(partLink('ostp://key@nonsense:1', 'key')).toMatchObject({ host: 'nonsense', port: ':1' });
  });
});

describe.each(['0.0.0.0', '[::]'])('a server whose links name %s', (host) => {
  it('hands out no link, code or sheet before it is told where clients reach it, and that once', async () => {
    await withPanel(
      'current',
      async (page) => {
        await goTo(page, 'Keys');
        await page.getByRole('link', { name: 'Guests' }).click();
        const drawer = page.getByRole('dialog', { name: 'Guests' });
        await drawer.getByText(`The server’s links name ${host}, which no client can reach.`).waitFor();
        expect(await drawer.getByRole('img', { name: 'QR code of the link' }).count()).toBe(0);
        expect(await drawer.getByText('ostp://').count()).toBe(0);
        if (host === '0.0.0.0') await expectAccessible(page);
        await drawer.getByLabel('Address for clients').fill('localhost');
        await drawer.getByRole('button', { name: 'Use this address' }).click();
        await drawer.getByText('Type an address that clients can reach').waitFor();
        await expect.poll(() => page.evaluate('document.activeElement.value')).toBe('localhost');
        await drawer.getByLabel('Address for clients').fill('vpn.example.com');
        await page.keyboard.press('Enter');
        await drawer.getByText('ostp://guest-2026@vpn.example.com:50000').waitFor();
        await drawer.getByRole('img', { name: 'QR code of the link' }).waitFor();
        await drawer.getByRole('button', { name: 'Subscription URL' }).click();
        await drawer.getByText(`A client that fetches this is told ${host}`).waitFor();
        if (host === '0.0.0.0') await expectAccessible(page);
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
      { stage: { file: SERVER_FILE.replace('203.0.113.7', host) } },
    );
  });
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

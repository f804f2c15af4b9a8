import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

it('an address that names no page says so and leads to one, and the secret path is nowhere on the page', async () => {
  await withPanel('current', async (page, stage) => {
    expect(await page.locator('.brand').innerText()).toContain(new URL(stage.api).host);
    expect(await page.evaluate('document.body.outerHTML')).not.toContain('office/panel');
    await page.evaluate('location.hash = "#/kyes"');
    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    await page.getByText('Nothing is at this address: #/kyes').waitFor();
    await expectAccessible(page);
    await page.getByRole('main').getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });
});

it('a form that is refused leaves the caret in the field that it is about, and a button that cannot be pressed says why', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      const focused = () => page.evaluate('document.activeElement.labels?.[0]?.textContent');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('Username').fill('admin');
      await page.getByRole('textbox', { name: 'Password' }).fill('wrong');
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByText('Wrong username or password.').waitFor();
      await expect.poll(focused).toBe('Password');
      await page.getByRole('textbox', { name: 'Password' }).fill('password');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await goTo(page, 'Keys');
      await page.getByRole('button', { name: 'New key' }).click();
      await page.getByLabel('Limit', { exact: true }).fill('lots');
      expect(await page.getByRole('button', { name: '+10 GiB' }).getAttribute('title')).toContain('Enter a number');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await expect.poll(focused).toBe('Limit');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Create several' }).click();
      await page.route(`${stage.api}/users/**`, (route) => route.fulfill({ status: 500, body: 'oops' }));
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByText('Could not create 10 keys.').waitFor();
      await expect.poll(focused).toBe('How many');
      await expect
        .poll(async () => JSON.stringify(await stage.call('GET', '/audit')))
        .toContain('"eventEn":"Created 10 keys · session · ');
      expect(JSON.stringify(await stage.call('GET', '/audit'))).not.toContain('Created 0');
    },
    { expected: /status of 500/, stage: { ownApi: false } },
  );
});

it('a list that the server refuses leaves its figures unknown, neither at zero nor awaited', async () => {
  await withPanel('current', async (page, stage) => {
    await page.route(`${stage.api}/users`, (route) =>
      route.fulfill({ status: 403, body: '{"ok":false,"error":"not permitted"}' }),
    );
    await page.reload();
    await page.getByText('The server refused: not permitted').waitFor();
    const figures = async () => {
      const texts = await page.locator('.figures dd').allTextContents();
      return texts.map((figure) => (/^[1-9]/.test(figure) ? 'known' : figure));
    };
    // What the status tells is asked for beside the list.
    await expect.poll(figures).toEqual(['known', '—', 'known', '—', '—']);
  });
});

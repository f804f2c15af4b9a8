import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { SERVER_FILE, TOKEN } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo, openPage, signIn, startStage } from './stage.js';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

it('the login says what is wrong, shares a session between tabs, and takes a static token', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await page.getByLabel('Username').waitFor();
      await expectAccessible(page);
      await page.keyboard.type('admin');
      expect(await page.getByLabel('Username').inputValue(), 'the first field has the focus').toBe('admin');
      expect(await page.locator('main').innerText()).not.toContain('127.0.0.1');
      await signIn(page, 'wrong');
      await page.getByText('Wrong username or password.').waitFor();
      await page.getByRole('textbox', { name: 'Password' }).fill('password');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      const tab = await page.context().newPage();
      await tab.goto(`${stage.panel}#/keys`);
      await tab.getByRole('link', { name: 'Guests' }).waitFor();
      await tab.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('You signed out in another tab.').waitFor();
      await tab.getByRole('button', { name: 'Token' }).click();
      await tab.getByLabel('API token').fill('nonsense');
      await tab.keyboard.press('Enter');
      await tab.getByText('The server does not accept this token.').waitFor();
      await tab.getByLabel('API token').fill(TOKEN);
      await tab.keyboard.press('Enter');
      await tab.getByRole('link', { name: 'Guests' }).waitFor();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    },
    { signed: false },
  );
});

it('a password goes to the server that stands above its field, and each server gets its own credential alone', async () => {
  const other = await startStage('dns', { file: SERVER_FILE.replace(/5e884898\w+/, sha256('another')) });
  const stage = await startStage('current', {
    panelServers: [{ root: other.api, name: 'Rotterdam' }],
    ownVersion: '9.8.7',
  });
  const { page, expectClean, close } = await openPage(stage.panel, { allowed: [other.origin] });
  const sent = new Map<string, Set<string>>();
  page.on('request', (request) => {
    const { origin } = new URL(request.url());
    const shown = [request.headers().authorization ?? '', request.postData() ?? ''].filter((text) => text !== '');
    sent.set(origin, new Set([...(sent.get(origin) ?? []), ...shown]));
  });
  await page.getByText(`Your password will be sent to ${new URL(stage.api).host}/office/panel/api`).waitFor();
  await signIn(page);
  await page.getByText('Keyway 9.8.7 · 0.3.6').waitFor();
  expect(await page.locator('.brand option').allInnerTexts()).toEqual([
    `${new URL(stage.api).host} (this server)`,
    'Rotterdam',
  ]);
  await goTo(page, 'Configuration');
  await page.getByLabel('Username').fill('half typ');
  await page.locator('.brand').getByLabel('Server').selectOption(other.api);
  await page.getByText('Your password will be sent to Rotterdam').waitFor();
  await signIn(page, 'another');
  await goTo(page, 'DNS');
  await page.getByLabel('Upstream').waitFor();
  await page.locator('.brand').getByLabel('Server').selectOption(stage.api);
  await goTo(page, 'Configuration');
  await expect.poll(() => page.getByLabel('Username').inputValue()).toBe('half typ');
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor();
  const [here = [], there = []] = [stage.origin, other.origin].map((origin) => [...(sent.get(origin) ?? [])]);
  expect(here.join()).toContain('"password":"password"');
  expect(there.join()).toContain('"password":"another"');
  expect(here.join()).not.toContain('another');
  expect(there.join()).not.toContain('"password":"password"');
  expect(here.filter((text) => there.includes(text))).toEqual([]);
  expectClean();
  await close();
  await stage.close();
  await other.close();
});

import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { SERVER_FILE, TOKEN } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo, openPage, picture, refreshNow, signIn, startStage } from './stage.js';

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

it('a session that somebody else ended leads back to the login, says so, and loses nothing typed', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    await page.getByLabel('Search by label, note or key').fill('Gue');
    await fetch(`${stage.api}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'admin', password: 'password' }),
    });
    await refreshNow(page);
    await page.getByText('Somebody else signed in').waitFor();
    await picture(page, 'current-lost-session');
    await page.getByText('sign in with the API token: it ends nobody’s session').waitFor();
    await page.getByRole('button', { name: 'Use the token' }).click();
    await page.getByLabel('API token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    expect(await page.getByLabel('Search by label, note or key').inputValue()).toBe('Gue');
  });
});

it('speaks to an earliest server on another origin, whose host stands above the field', async () => {
  const other = await startStage('earliest');
  const stage = await startStage('current', { panelServers: [{ root: `${other.origin}/api`, name: '' }] });
  const { page, expectClean, close } = await openPage(stage.panel, { allowed: [other.origin] });
  await page.getByLabel('Server').selectOption(`${other.origin}/api`);
  await page.getByText(`Your token will be sent to ${new URL(other.origin).host}/api`).waitFor();
  await page.getByText('This server version has no password sign-in').waitFor();
  await page.getByLabel('API token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await goTo(page, 'Keys');
  // The list of such a server tells no names, its configuration does.
  await page.getByRole('link', { name: 'Guests' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click();
  expect(await page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Label').inputValue()).toBe('Guests');
  await page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Limit', { exact: true }).fill('60');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog', { name: 'Edit key' }).waitFor({ state: 'detached' });
  await expect.poll(() => other.fileText()).toContain('"limit_bytes": 64424509440');
  expect(await other.fileText()).toContain('"Guests"');
  await page.keyboard.press('Escape');
  expectClean();
  await close();
  await stage.close();
  await other.close();
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

it('a sign-out leaves no key in the storage of the tab and no edit, whatever page was seen since it was loaded', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    await page.getByLabel(/^Search/).fill('guest-2026');
    await goTo(page, 'Overview');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const kept = () => page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])');
    expect(await kept()).toContain('guest-2026');
    await goTo(page, 'Configuration');
    const level = await page.getByLabel('Log level').inputValue();
    await page.getByLabel('Log level').selectOption('trace');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Username').waitFor();
    expect(await kept()).not.toContain('guest-2026');
    await signIn(page);
    await page.getByLabel('Log level').waitFor();
    expect(level).not.toBe('trace');
    expect(await page.getByLabel('Log level').inputValue()).toBe(level);
  });
});

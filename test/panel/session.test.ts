import { describe, expect, it } from 'vitest';
import { expectAccessible, inBrowser, PAGES } from './in-browser.js';
import { goTo, picture, signIn, startStage, TOKEN } from './stage.js';

const { open, withPanel } = inBrowser();

describe('signing in', () => {
  it('says what is wrong, shares a session between tabs, and takes a static token', async () => {
    await withPanel(
      'current',
      async (page, stage) => {
        await expectAccessible(page);
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
        await tab.getByLabel('Static API token').fill('nonsense');
        await tab.keyboard.press('Enter');
        await tab.getByText('The server does not take this token.').waitFor();
        await tab.getByLabel('Static API token').fill(TOKEN);
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
      await page.getByLabel('Search by name or key').fill('Gue');
      await fetch(`${stage.api}/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'admin', password: 'password' }),
      });
      await page.getByText('Somebody else signed in.').waitFor();
      await picture(page, 'current-lost-session');
      await signIn(page);
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      expect(await page.getByLabel('Search by name or key').inputValue()).toBe('Gue');
    });
  });
});

it('two mounts on one origin keep their own sessions, and each speaks to its own', async () => {
  const stage = await startStage('current', {
    mounts: [
      { revision: 'current', webpath: 'new' },
      { revision: 'dns', webpath: 'old' },
    ],
  });
  const { page, expectClean } = await open(`${stage.origin}/new/`);
  await signIn(page);
  const second = await page.context().newPage();
  await second.goto(`${stage.origin}/old/#/keys`);
  await signIn(second);
  await second.getByRole('link', { name: 'Guests' }).waitFor();
  await goTo(page, 'Audit');
  await page.getByText('Signed in to the panel').waitFor();
  await second.reload();
  await second.getByRole('link', { name: 'Guests' }).waitFor();
  expectClean();
  await page.context().close();
  await stage.close();
});

it('speaks to an earliest server on another origin, whose host stands above the field', async () => {
  const other = await startStage('earliest');
  const stage = await startStage('current', { panelServers: [`${other.origin}/api`] });
  const { page, expectClean } = await open(stage.panel, { allowed: [other.origin] });
  await page.getByLabel('Server').selectOption(`${other.origin}/api`);
  await page.getByText(`The token goes to ${new URL(other.origin).host}/api`).waitFor();
  await page.getByText('This server has no login with a password').waitFor();
  await page.getByLabel('Static API token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await goTo(page, 'Keys');
  await page.getByText('guest-2026').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click();
  await page.getByText('Leave the name as it is').waitFor();
  await page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Limit', { exact: true }).fill('60');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog', { name: 'Edit key' }).waitFor({ state: 'detached' });
  await expect.poll(() => other.fileText()).toContain('"limit_bytes": 64424509440');
  expect(await other.fileText()).toContain('"Guests"');
  await page.keyboard.press('Escape');
  for (const name of PAGES) {
    await goTo(page, name);
    await page.locator('.loading').waitFor({ state: 'detached' });
    await expectAccessible(page);
    await picture(page, `earliest-${name.toLowerCase()}`);
  }
  expect(await page.locator('nav a.missing').count()).toBe(3);
  expectClean();
  await page.context().close();
  await stage.close();
  await other.close();
});

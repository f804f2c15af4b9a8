import { expect, it } from 'vitest';
import { TOKEN } from '../server-files.js';
import { withPanel } from './in-browser.js';
import { goTo, openPage, picture, refreshNow, startStage } from './stage.js';

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

import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../free-ports.js';
import { openProfile } from '../../shared.js';
import { SERVER_FILE, TOKEN } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { PAGES, withPanel } from './in-browser.js';
import { goTo, openPage, picture, refreshNow, signIn, startStage } from './stage.js';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('signing in', () => {
  it('begins in the first field, and names no address where there is one server', async () => {
    await withPanel(
      'current',
      async (page) => {
        await page.getByLabel('Username').waitFor();
        await page.keyboard.type('admin');
        expect(await page.getByLabel('Username').inputValue()).toBe('admin');
        expect(await page.locator('main').innerText()).not.toContain('127.0.0.1');
      },
      { signed: false },
    );
  });

  it('servers of the list are called as the operator called them, and Keyway’s own version stands beside the one it speaks', async () => {
    const other = await startStage('earliest');
    const panelServers = [{ root: `${other.origin}/api`, name: 'Rotterdam' }];
    const stage = await startStage('current', { panelServers, ownVersion: '9.8.7' });
    const { page, expectClean, close } = await openPage(stage.panel, { allowed: [other.origin] });
    await page.getByLabel('Server').selectOption('Rotterdam');
    await page.getByText('Your token will be sent to Rotterdam').waitFor();
    await page.getByLabel('Server').selectOption({ index: 0 });
    const username = page.getByLabel('Username');
    await username.fill('somebody');
    // Longer than the page waits for what other tabs know of this server.
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))');
    expect(await username.inputValue()).toBe('somebody');
    await signIn(page);
    await page.getByText('Keyway 9.8.7 · 0.3.6').waitFor();
    expectClean();
    await close();
    await stage.close();
    await other.close();
  });

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

  it('a tab whose other ones are slow to answer shows the login, and is signed in as soon as they have', async () => {
    await withPanel('current', async (page, stage) => {
      await page.evaluate(`{
        const send = BroadcastChannel.prototype.postMessage;
        const held = [];
        BroadcastChannel.prototype.postMessage = function (message) { held.push(() => send.call(this, message)); };
        window.letGo = () => held.forEach((each) => each());
      }`);
      const tab = await page.context().newPage();
      await tab.goto(`${stage.panel}#/keys`);
      await tab.getByLabel('Username').waitFor();
      await page.evaluate('letGo()');
      await tab.getByRole('link', { name: 'Guests' }).waitFor();
    });
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
      await refreshNow(page);
      await page.getByText('Somebody else signed in').waitFor();
      await picture(page, 'current-lost-session');
      await page.getByText('sign in with the API token: it ends nobody’s session').waitFor();
      await page.getByRole('button', { name: 'Use the token' }).click();
      await page.getByLabel('API token').fill(TOKEN);
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      expect(await page.getByLabel('Search by name or key').inputValue()).toBe('Gue');
    });
  });

  it('a session ends with the gateway, a static token outlives it, and either leads back to where one was', async () => {
    const port = await freePort();
    let stage = await startStage('current', { port });
    const { page, expectClean, close } = await openPage(`${stage.panel}#/keys`, {
      clock: true,
      expected: /ERR_CONNECTION_REFUSED|status of 503/,
    });
    const restart = async () => {
      await stage.close();
      await page.clock.fastForward(120_000);
      await page.getByText('No connection since').waitFor();
      stage = await startStage('current', { port });
      await page.clock.fastForward(120_000);
    };
    await signIn(page);
    await page.getByRole('link', { name: 'Guests' }).click();
    await restart();
    await page.getByText('Your session has ended: the server was restarted').waitFor();
    await page.getByRole('button', { name: 'Token' }).click();
    await page.getByLabel('API token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('heading', { name: 'Guests' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await restart();
    await page.getByText('No connection since').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    expectClean();
    await close();
    await stage.close();
  });

  it('outlives the browser only where one wants to stay signed in, and holds no more than the session', async () => {
    const stage = await startStage('current');
    const profile = await mkdtemp(join(tmpdir(), 'keyway-profile-'));
    const visit = async (act: (page: Page) => Promise<void>) => {
      const context = await openProfile(profile);
      const page = await context.newPage();
      await page.goto(stage.panel);
      await act(page);
      await context.close();
    };
    const overview = (page: Page) => page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await visit(async (page) => {
      await signIn(page);
      await overview(page);
    });
    await visit(async (page) => {
      await page.getByLabel('Stay signed in').check();
      await signIn(page);
      await overview(page);
      const kept = await page.evaluate('JSON.stringify(localStorage) + JSON.stringify(sessionStorage)');
      expect(kept).not.toContain('"password"');
      expect(kept).not.toContain('admin');
    });
    await visit(async (page) => {
      await overview(page);
      await page.getByRole('button', { name: 'Sign out' }).click();
    });
    await visit((page) => page.getByLabel('Username').waitFor());
    await rm(profile, { recursive: true, force: true });
    await stage.close();
  });
});

it('two mounts on one origin keep their own sessions, and each speaks to its own', async () => {
  const stage = await startStage('current', {
    mounts: [
      { revision: 'current', webpath: 'new' },
      { revision: 'dns', webpath: 'old' },
    ],
  });
  const { page, expectClean, close } = await openPage(`${stage.origin}/new/`);
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
  await close();
  await stage.close();
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
  expect(await page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Name').inputValue()).toBe('Guests');
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
  expect(await page.locator('nav a.missing').count()).toBe(1);
  expectClean();
  await close();
  await stage.close();
  await other.close();
});

it('a password goes to the server that stands above its field, and each server gets its own credential alone', async () => {
  const other = await startStage('dns', { file: SERVER_FILE.replace(/5e884898\w+/, sha256('another')) });
  const stage = await startStage('current', { panelServers: [{ root: other.api, name: '' }] });
  const { page, expectClean, close } = await openPage(stage.panel, { allowed: [other.origin] });
  const sent = new Map<string, Set<string>>();
  page.on('request', (request) => {
    const { origin } = new URL(request.url());
    const shown = [request.headers().authorization ?? '', request.postData() ?? ''].filter((text) => text !== '');
    sent.set(origin, new Set([...(sent.get(origin) ?? []), ...shown]));
  });
  await page.getByText(`Your password will be sent to ${new URL(stage.api).host}/office/panel/api`).waitFor();
  await signIn(page);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(await page.locator('.brand option').allInnerTexts()).toEqual([
    `${new URL(stage.api).host} (this server)`,
    new URL(other.api).host,
  ]);
  await goTo(page, 'Configuration');
  await page.getByLabel('Username').fill('half typ');
  await page.locator('.brand').getByLabel('Server').selectOption(other.api);
  await page.getByText(`Your password will be sent to ${new URL(other.api).host}/office/panel/api`).waitFor();
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

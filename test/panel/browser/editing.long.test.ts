import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createNoResolver } from '../../../src/dns/no-resolver.js';
import { fileWithDns, INBOUNDS_FILE, SERVER_FILE } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo, picture, refreshNow, type Stage } from './stage.js';

it('a comma that is missing is told by its line, which is marked, and so is a member that no server would start from', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Configuration');
    await page.getByRole('button', { name: 'JSON' }).click();
    const editor = page.getByRole('textbox', { name: 'Configuration file as JSON' });
    const text = await editor.inputValue();
    expect(text).not.toContain('guest-2026');
    await page.getByText('Keys (4) are left out here').waitFor();
    await editor.fill(text.replace('"server",', '"server"'));
    await page.getByText('A comma is missing at the end of line 2.').waitFor();
    const place = "getComputedStyle(document.querySelector('.code-wrong')).backgroundPosition";
    expect(await page.evaluate(place)).toBe('0px 34px');
    await picture(page, 'configuration-comma');
    await editor.fill(text.replace('"enabled": true', '"enabled": 7'));
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save to server' }).click();
    await page.getByText('api.enabled: expected true or false').waitFor();
    const selected = 'document.activeElement.value.slice(document.activeElement.selectionStart).slice(0, 9)';
    expect(await page.evaluate(selected)).toBe('"enabled"');
    await picture(page, 'configuration-refused');
    expect(await stage.fileText()).not.toContain('"enabled": 7');
  });
});

it('a backup is downloaded and restored, after a word of the keys that go', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Configuration');
    const [backup] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download backup' }).click(),
    ]);
    expect(backup.suggestedFilename()).toMatch(/^config-\d{4}-\d\d-\d\d-\d{4}\.json$/);
    const kept = await contentOf(backup);
    expect(kept.toString()).toContain('"ceiling": 18446744073709551615');
    await stage.call('DELETE', '/users/guest-2026');
    await stage.call('POST', '/users', { access_key: 'came-later' });
    const choose = page.locator('input[type=file]');
    await choose.setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no JSON') });
    await page.getByText('Line 1, column 1').waitFor();
    expect(await page.getByRole('button', { name: 'Review changes' }).isDisabled()).toBe(true);
    await choose.setInputFiles({ name: 'backup.json', mimeType: 'application/json', buffer: kept });
    await page.getByText('Loaded backup.json.').waitFor();
    await page.getByRole('button', { name: 'Review changes' }).click();
    const review = page.getByRole('dialog', { name: 'Changes to be saved' });
    await review.getByText('Saving removes 1 key from the server.').waitFor();
    await review.getByRole('button', { name: 'Save to server' }).click();
    await page.getByText('Configuration saved.').waitFor();
    expect(JSON.parse(await stage.fileText())).toEqual(JSON.parse(kept.toString()));
    expect(await stage.fileText()).toContain('18446744073709551615');
  });
});

describe.each(['accessKeys', 'inbounds'] as const)('a file of the layout %s', (layout) => {
  const file = layout === 'accessKeys' ? SERVER_FILE : INBOUNDS_FILE;

  it('has a field for everything that people change, and keeps the rest', async () => {
    await withPanel(
      'current',
      async (page, stage) => {
        await goTo(page, 'Configuration');
        await page.getByLabel('Log level').selectOption('debug');
        await page.getByLabel('Mode').selectOption('server');
        await page.getByLabel('Blocklists', { exact: true }).fill('https://a.example/x\nhttps://b.example/y');
        await page.getByLabel('Web path').fill('elsewhere');
        await page.getByLabel('Proxy port').fill('1080');
        await page.getByLabel('Default action').selectOption({ label: 'block' });
        await page.getByLabel('Refresh blocklists every').fill('6');
        if (layout === 'accessKeys') await page.getByLabel('Client address').fill('203.0.113.8:50001');
        else await page.getByLabel('Client port').fill('50001');
        await expectAccessible(page);
        await page.getByRole('button', { name: 'Review changes' }).click();
        await page.getByRole('button', { name: 'Save to server' }).click();
        await page.getByText('Configuration saved.').waitFor();
        expect(await page.getByText('Unsaved changes').count()).toBe(0);
        const saved: unknown = JSON.parse(await stage.fileText());
        expect(saved).toMatchObject({
          dns: { adblock_urls: ['https://a.example/x', 'https://b.example/y'], refresh_hours: 6 },
          ...(layout === 'accessKeys'
            ? {
                listen: '203.0.113.8:50001',
                log_level: 'debug',
                api: { webpath: 'elsewhere', bind: '127.0.0.1:9090' },
                outbound: { port: 1080, default_action: 'block', rules: [{}, {}, {}] },
              }
            : {
                log: { level: 'debug' },
                inbounds: [{ port: 50001, users: [{}, {}] }, { webpath: 'elsewhere' }],
                outbounds: [{ port: 1080, tag: 'tor' }, {}, {}],
                routing: { default_outbound: 'block', rules: [{}, {}] },
              }),
        });
      },
      { stage: { file } },
    );
  });
});

it('takes a new password that was typed twice, warns before, and the page is signed in with it', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await goTo(page, 'Configuration');
      const [typed, repeated] = [
        page.getByLabel('New password', { exact: true }),
        page.getByLabel('Repeat the password'),
      ];
      await typed.fill('another');
      expect(await page.getByRole('button', { name: 'Review changes' }).isDisabled()).toBe(true);
      await repeated.fill('anothr');
      await page.getByText('The passwords differ.').waitFor();
      await repeated.fill('another');
      await page.getByText('You are signed in again with the new ones.').waitFor();
      await page.getByRole('button', { name: 'Review changes' }).click();
      await page.getByRole('dialog').getByText('signs everybody out').waitFor();
      await page.getByRole('button', { name: 'Save to server' }).click();
      await page.getByText('You are signed in with the new details.').waitFor();
      await goTo(page, 'Keys');
      await refreshNow(page);
      await page.getByText('Guests').first().waitFor();
      expect(await page.getByText('Unsaved changes').count()).toBe(0);
      const hash = createHash('sha256').update('another').digest('hex');
      expect(await stage.fileText()).toContain(hash);
      await goTo(page, 'Configuration');
      await page.getByRole('button', { name: 'Generate' }).last().click();
      const made = await typed.inputValue();
      expect(made).toMatch(/^[A-Za-z0-9]{24}$/);
      expect(await repeated.inputValue()).toBe(made);
    },
    {},
  );
});

it('rules and DNS settings of a server without operations for them are edited in its file', async () => {
  await withPanel(
    '0.2.36',
    async (page, stage) => {
      await goTo(page, 'Rules');
      await page.getByText('they are edited in its configuration file').waitFor();
      await page.getByText('Changes take effect as soon as they are saved.').waitFor();
      await page.getByRole('button', { name: 'Edit rule 1' }).focus();
      await page.keyboard.press('Alt+ArrowDown');
      await page.getByRole('button', { name: 'Add rule' }).click();
      await page.getByRole('dialog').getByLabel('Action').selectOption('Block');
      await page.getByLabel('Domain suffixes').fill('added.example');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Apply' }).click();
      await goTo(page, 'DNS');
      await page.getByText('Unsaved changes').waitFor();
      await page.getByLabel('Upstream').fill('https://dns.example/query');
      await page.getByLabel('Answer to blocked names').selectOption('zero');
      await page.getByLabel('Listen address').fill('127.0.0.2');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByLabel('Name', { exact: true }).last().fill('*.lab.example');
      await page.getByLabel('Address', { exact: true }).last().fill('fd00::5');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Review changes' }).click();
      await page.getByRole('button', { name: 'Save to server' }).click();
      await page.getByText('Configuration saved.').waitFor();
      const { dns, outbound } = stage.app.keyway.backend.settings();
      expect(dns).toMatchObject({ dohUpstream: 'https://dns.example/query', blockedAnswer: 'zero', bind: '127.0.0.2' });
      expect([...dns.customDomains.keys()]).toContain('*.lab.example');
      expect(outbound?.rules).toMatchObject([
        { ipCidr: ['10.0.0.0/8'] },
        { domainSuffix: ['.onion'] },
        { domainSuffix: ['added.example'], action: 'block' },
      ]);
    },
    { stage: { file: INBOUNDS_FILE, ownVersion: '9.8.7' } },
  );
});

it('what is edited and not saved outlives a change of page, and the browser asks before the tab is closed', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Rules');
    await page.getByRole('button', { name: 'Remove rule 1' }).click();
    await goTo(page, 'Configuration');
    await page.getByLabel('Username').fill('operator');
    await goTo(page, 'Rules');
    await page.getByText('Unsaved changes').waitFor();
    await expect.poll(() => page.locator('.rule').count()).toBe(2);
    await goTo(page, 'Configuration');
    expect(await page.getByLabel('Username').inputValue()).toBe('operator');
    const asked = page.waitForEvent('dialog');
    const reloaded = page.reload();
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.accept();
    await reloaded;
    expect(await page.getByLabel('Username').inputValue()).toBe('admin');
  });
});

it('a rule in its window stays the one that is edited, whatever becomes of the rules on the server', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Rules');
    const rules = page.locator('.rule');
    await page.getByRole('button', { name: 'Edit rule 2' }).click();
    await page.getByLabel('Domain suffixes').fill('typed.example');
    const [, second, third] = Array.from(Object(await stage.call('GET', '/router/rules')));
    await stage.call('PUT', '/router/rules', [second, third]);
    await refreshNow(page);
    await expect.poll(() => rules.count()).toBe(2);
    await page.getByRole('dialog', { name: 'Rule 1' }).getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: 'Save rules' }).click();
    await page.getByText('Rules saved.').waitFor();
    expect(await stage.call('GET', '/router/rules')).toMatchObject([
      { action: 'block', domain_suffix: ['typed.example'] },
      { action: 'direct', domain_suffix: ['.example.org'] },
    ]);
    await page.getByRole('button', { name: 'Edit rule 1' }).click();
    await page.getByLabel('Domain suffixes').fill('again.example');
    await stage.call('PUT', '/router/rules', []);
    await refreshNow(page);
    await expect.poll(() => rules.count()).toBe(0);
    await page.getByRole('dialog', { name: 'New rule' }).getByRole('button', { name: 'Apply' }).click();
    await rules.filter({ hasText: 'again.example' }).waitFor();
  });
});

it('of DNS settings in the form of 0.4.6 the page edits what both forms share, keeps the rest, and says where that is edited', async () => {
  const newer = {
    ...{ upstreams: ['https://one.example/dns-query', 'tls://two.example'], blocking_mode: 'null_ip' },
    ...{
      lists: [{ name: 'Ads', url: 'https://lists.example/ads.txt', enabled: false, mine: 1 }],
      user_rules: ['||x^'],
    },
    ...{ rewrites: [{ domain: 'nas.example', answer: 'host.example' }], update_interval_hours: 12, other: null },
  };
  const test = async (page: Page, stage: Stage) => {
    await goTo(page, 'DNS');
    await page.getByText('This form does not show all DNS settings of the file.').waitFor();
    for (const label of ['Upstream', 'Blocklists', 'Answer to blocked names'])
      expect(await page.getByRole('main').getByLabel(label).count(), `fields of ${label}`).toBe(0);
    await page.getByLabel('Listen address').fill('127.0.0.2');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save to server' }).click();
    await page.getByText('Configuration saved.').waitFor();
    expect(JSON.parse(await stage.fileText()).dns).toEqual({ enabled: true, ...newer, bind: '127.0.0.2' });
  };
  await withPanel('0.4.6', test, { stage: { file: fileWithDns({ enabled: true, ...newer }) } });
});

it('an upstream that is wrong in the form is not saved from the earlier versions either', async () => {
  const test = async (page: Page) => {
    await goTo(page, 'Configuration');
    await page.getByLabel('Upstream').fill('nonsense');
    const save = page.getByRole('button', { name: 'Review changes' });
    await expect.poll(() => save.getAttribute('title')).toBe('Correct what is marked first.');
    await page.getByRole('button', { name: 'Versions' }).click();
    await page.getByLabel('Upstream').waitFor({ state: 'detached' });
    expect(await save.getAttribute('title')).toBe('Correct what is marked first.');
  };
  await withPanel('current', test, { stage: { file: fileWithDns({ enabled: true }) } });
});

it('lists of the DNS server are shown with count, age and error, and switched, where the file alone has its settings', async () => {
  const none = createNoResolver();
  const today = { since: Date.now(), questions: 340, blocked: 12 };
  const read = { names: 1234, fetchedAt: Date.now() - 3 * 3_600_000 };
  const lists = ['Ads', 'More'].map((name) => ({ name, url: `https://lists.example/${name}`, enabled: true }));
  let idle: 'off' | null = null;
  const resolver = {
    ...none,
    state: () => ({
      ...{ ...none.state(), idle, today },
      lists: none.state().lists.map((list) => (list.enabled ? { ...list, ...read, error: 'HTTP 503' } : list)),
    }),
  };
  const file = fileWithDns({ enabled: true, lists });
  await withPanel(
    '0.4.7',
    async (page, stage) => {
      await goTo(page, 'DNS');
      const card = page.getByRole('region', { name: 'Blocklists' });
      await card.getByText('Blocked today: 12 of 340').waitFor();
      await card.getByText('1,234 names · 3 h ago HTTP 503').first().waitFor();
      await page.getByText('No queries yet').waitFor();
      expect(await page.getByText('This server version has no API').count()).toBe(0);
      await expectAccessible(page);
      // One right after the other, before the first is answered.
      for (const { name } of lists) await card.getByLabel(name).evaluate((input: HTMLElement) => input.click());
      await expect
        .poll(async () => JSON.parse(await stage.fileText()).dns.lists)
        .toEqual(lists.map((list) => ({ ...list, enabled: false })));
      await expect.poll(() => card.getByText('1,234 names').count()).toBe(0);
      const refresh = card.getByRole('button', { name: 'Refresh blocklists' });
      await expect.poll(() => refresh.isDisabled()).toBe(false);
      idle = 'off';
      await page.reload();
      await card.getByText('The DNS server is switched off.').waitFor();
      await expect.poll(() => refresh.isDisabled()).toBe(true);
    },
    { stage: { resolver, file } },
  );
});

import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createNoResolver } from '../../src/dns/no-resolver.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo, INBOUNDS_FILE, picture, refreshNow, SERVER_FILE, type Stage } from './stage.js';

it('the configuration is compared before it is saved, warns of changes meanwhile, and keeps numbers as spelled', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Configuration');
    await page.getByLabel('Username').fill('operator');
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const editor = page.getByLabel('Configuration file as JSON');
    const text = await editor.inputValue();
    expect(text).toContain('"ceiling": 18446744073709551615');
    expect(text).toContain('"ratio": 0.10');
    expect(text).toContain('"username": "operator"');
    await editor.fill(text.replace('"mode"', '// no\n  "mode"'));
    await page.getByText('Line 2, column 3: comments are not allowed here.').waitFor();
    await editor.fill(text.replace('"ratio": 0.10', '"ratio": 0.20'));
    await stage.call('POST', '/users', { access_key: 'meanwhile' });
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('The file was changed on the server since you opened it.').waitFor();
    await page.getByText('What others changed stays').waitFor();
    expect(await page.getByText('Saving removes').count()).toBe(0);
    await expectAccessible(page);
    await picture(page, 'current-diff');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await expect.poll(() => editor.inputValue()).toContain('meanwhile');
    await editor.fill((await editor.inputValue()).replace('"ratio": 0.10', '"ratio": 0.20'));
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('1 added, 1 removed').waitFor();
    await page.getByRole('button', { name: 'Save to server' }).click();
    await page.getByText('Configuration saved.').waitFor();
    const file = await stage.fileText();
    expect(file).toContain('0.20');
    expect(file).toContain('18446744073709551615');
    expect(file).toContain('meanwhile');
  });
});

it('rules are added, checked, moved by keyboard and saved', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Rules');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByLabel('Block').check();
    await page.getByLabel('Networks (CIDR)').fill('10.0.0.0/33');
    await page.getByText('Not a network: 10.0.0.0/33').waitFor();
    await page.getByLabel('Networks (CIDR)').fill('fd00::/8');
    await page.getByLabel('Domain suffixes').fill('not a name');
    await page.getByText('Not a domain suffix').waitFor();
    await page.getByLabel('Domain suffixes').fill('ads.example');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: 'Edit rule 4' }).focus();
    await page.keyboard.press('Alt+ArrowUp');
    await page.keyboard.press('Alt+ArrowUp');
    await page.locator('.rule').nth(1).filter({ hasText: 'ads.example' }).waitFor();
    await page.getByRole('button', { name: 'Save rules' }).click();
    await page.getByText('Rules saved.').waitFor();
    expect(await stage.call('GET', '/router/rules')).toMatchObject([
      { action: 'proxy' },
      { action: 'block', domain_suffix: ['ads.example'], ip_cidr: ['fd00::/8'], protocol: null },
      { action: 'block' },
      { protocol: 'tcp' },
    ]);
  });
});

it('DNS settings are checked and saved, and a refresh says its outcome', async () => {
  await withPanel('dns', async (page, stage) => {
    await goTo(page, 'DNS');
    await page.getByLabel('Upstream').fill('plain.example');
    await page.getByText('Enter an address that starts with https://').waitFor();
    await page.getByLabel('Upstream').fill('https://dns.example/query');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByLabel('Name', { exact: true }).last().fill('nas.office.example');
    await page.getByLabel('Address', { exact: true }).last().fill('192.0.2.300');
    await page.getByText('Enter an IPv4 or IPv6 address.').waitFor();
    await page.getByLabel('Address', { exact: true }).last().fill('192.0.2.21');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByText('DNS settings saved.').waitFor();
    expect(stage.app.keyway.backend.settings().dns.dohUpstream).toBe('https://dns.example/query');
    expect([...stage.app.keyway.backend.settings().dns.customDomains.keys()]).toEqual([
      'printer.office.example',
      'nas.office.example',
    ]);
    await page.getByRole('button', { name: 'Refresh blocklists' }).click();
    await page.getByText('Refresh started at').waitFor();
  });
});

it('a backup is downloaded and restored, after a look at the difference', async () => {
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
    await review.locator('.diff-removed', { hasText: 'came-later' }).waitFor();
    await review.locator('.diff-added', { hasText: 'guest-2026' }).waitFor();
    await review.getByRole('button', { name: 'Save to server' }).click();
    await page.getByText('Configuration saved.').waitFor();
    expect(JSON.parse(await stage.fileText())).toEqual(JSON.parse(kept.toString()));
    expect(await stage.fileText()).toContain('18446744073709551615');
  });
});

it('a backup brings back a file that the server cannot read', async () => {
  const test = async (page: Page, stage: Stage) => {
    await stage.writeFile('{ "mode": ');
    await goTo(page, 'Configuration');
    await page.getByText('Could not show the configuration. The server refused: Failed to').waitFor();
    await expectAccessible(page);
    const buffer = Buffer.from(SERVER_FILE);
    await page.locator('input[type=file]').setInputFiles({ name: 'kept.json', mimeType: 'application/json', buffer });
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save to server' }).click();
    await page.getByText('Configuration saved.').waitFor();
    expect(JSON.parse(await stage.fileText())).toEqual(JSON.parse(SERVER_FILE));
  };
  // Keyway's own interface calls such a file a failure of the server's.
  await withPanel('current', test, { expected: /status of 500/ });
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
      { stage: { file } },
    );
  });

  it('has its rules on their page where the server has no operations for them', async () => {
    await withPanel(
      'dns',
      async (page, stage) => {
        await goTo(page, 'Rules');
        await page.getByText('they are edited in its configuration file').waitFor();
        await page.getByText('Keyway applies changes as soon as they are saved').waitFor();
        await page.getByRole('button', { name: 'Add rule' }).click();
        await page.getByRole('dialog').getByLabel('Block').check();
        await page.getByLabel('Domain suffixes').fill('added.example');
        await page.getByRole('button', { name: 'Apply' }).click();
        await saveFile(page);
        expect(stage.app.keyway.backend.settings().outbound?.rules.at(-1)).toMatchObject({
          domainSuffix: ['added.example'],
          action: 'block',
        });
      },
      { stage: { file } },
    );
  });

  it('has its DNS settings on their page where the server has no operations for them, every one of them', async () => {
    await withPanel(
      'current',
      async (page, stage) => {
        await goTo(page, 'DNS');
        await page.getByText('Changes take effect as soon as they are saved.').waitFor();
        await page.getByLabel('Upstream').fill('https://dns.example/query');
        await page.getByLabel('Answer to blocked names').selectOption('zero');
        await page.getByLabel('Listen address').fill('127.0.0.2');
        await page.getByRole('button', { name: 'Add', exact: true }).click();
        await page.getByLabel('Name', { exact: true }).last().fill('*.lab.example');
        await page.getByLabel('Address', { exact: true }).last().fill('fd00::5');
        await goTo(page, 'Configuration');
        await page.getByText('Unsaved changes').waitFor();
        await goTo(page, 'DNS');
        await expectAccessible(page);
        await saveFile(page);
        const { dns } = stage.app.keyway.backend.settings();
        expect(dns).toMatchObject({
          dohUpstream: 'https://dns.example/query',
          blockedAnswer: 'zero',
          bind: '127.0.0.2',
        });
        expect([...dns.customDomains.keys()]).toContain('*.lab.example');
      },
      { stage: { file, ownVersion: '9.8.7' } },
    );
  });
});

async function saveFile(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Review changes' }).click();
  await page.getByRole('button', { name: 'Save to server' }).click();
  await page.getByText('Configuration saved.').waitFor();
}

it('the JSON editor numbers its lines, goes to what is wrong, and reads the file when the typing rests', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Configuration');
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const editor = page.getByLabel('Configuration file as JSON');
    const text = await editor.inputValue();
    const lines = await page.locator('.code-lines').innerText();
    expect(lines.trim().split('\n')).toHaveLength(text.split('\n').length);
    await editor.fill(text.replace('"monitoring": {', '"monitoring": {,'));
    const broken = text.split('\n').findIndex((line) => line.includes('monitoring')) + 1;
    await page.getByText(`Line ${broken}, column 18: unexpected “,”.`).waitFor();
    await page.getByRole('button', { name: 'Go to the error' }).click();
    const selected =
      'document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)';
    expect(await page.evaluate(selected)).toBe(',');
  });
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

it('rules are ordered by dragging, and a change on the server meanwhile is told', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await goTo(page, 'Rules');
      const rules = page.locator('.rule');
      await rules.nth(0).locator('.rule-grip').dragTo(rules.nth(2));
      await rules.nth(2).filter({ hasText: '.onion' }).waitFor();
      await stage.call('PUT', '/router/rules', []);
      await page.clock.fastForward(60_000);
      await page.getByText('The rules were changed on the server meanwhile.').waitFor();
      await rules.nth(2).locator('.rule-grip').dragTo(rules.nth(1));
      await rules.nth(1).filter({ hasText: '.onion' }).waitFor();
      await page.getByRole('button', { name: 'Save rules' }).click();
      await page.getByRole('group', { name: 'rules' }).getByText('[]', { exact: true }).waitFor();
      await expectAccessible(page);
      expect(await stage.call('GET', '/router/rules')).toEqual([]);
      await page.getByRole('radio', { name: 'Yours' }).check();
      await page.getByRole('button', { name: 'Save rules' }).click();
      await page.getByText('Rules saved.').waitFor();
      expect(await stage.call('GET', '/router/rules')).toMatchObject([
        { action: 'block' },
        { domain_suffix: ['.onion'] },
        { protocol: 'tcp' },
      ]);
    },
    { clock: true },
  );
});

/** Holds the answers to the page's calls of one method until each is let go. */
async function hold(page: Page, held: string, path: string): Promise<(() => void)[]> {
  const waiting: (() => void)[] = [];
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() !== held) return route.continue();
    const response = await route.fetch();
    await new Promise<void>((resolve) => waiting.push(resolve));
    return route.fulfill({ response });
  });
  return waiting;
}

it('rules that are changed while earlier ones are being saved stay under edit', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Rules');
    const rules = page.locator('.rule');
    const saves = await hold(page, 'PUT', '/router/rules');
    await page.getByRole('button', { name: 'Remove rule 1' }).click();
    await page.getByRole('button', { name: 'Save rules' }).click();
    await expect.poll(() => saves.length).toBe(1);
    await page.getByRole('button', { name: 'Remove rule 1' }).click();
    saves[0]?.();
    await page.getByText('Rules saved.').waitFor();
    expect(await rules.count()).toBe(1);
    await page.getByText('Unsaved changes').waitFor();
    expect(await stage.call('GET', '/router/rules')).toHaveLength(2);
  });
});

it('a file that is changed while an earlier one is being saved stays under edit', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Configuration');
    const level = page.getByLabel('Log level');
    const saves = await hold(page, 'PATCH', '/keyway/v1/configuration');
    await level.selectOption('debug');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save to server' }).click();
    await expect.poll(() => saves.length).toBe(1);
    await page.keyboard.press('Escape');
    await level.selectOption('trace');
    saves[0]?.();
    await page.getByText('Configuration saved.').waitFor();
    expect(await level.inputValue()).toBe('trace');
    await page.getByText('Unsaved changes').waitFor();
    expect(await stage.fileText()).toContain('"log_level": "debug"');
  });
});

it('an answer that was asked for before a save does not take the place of what was saved', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Rules');
    const rules = page.locator('.rule');
    await expect.poll(() => rules.count()).toBe(3);
    const answers = await hold(page, 'GET', '/router/rules');
    await refreshNow(page);
    await expect.poll(() => answers.length).toBe(1);
    await page.getByRole('button', { name: 'Remove rule 1' }).click();
    await page.getByRole('button', { name: 'Save rules' }).click();
    // A save asks first what others have changed.
    await expect.poll(() => answers.length).toBe(2);
    answers[1]?.();
    await page.getByText('Rules saved.').waitFor();
    answers[0]?.();
    // The next refresh begins when the one before it is done.
    await expect.poll(() => answers.length).toBe(3);
    expect(await rules.count()).toBe(2);
    answers[2]?.();
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

it('rules of a server without operations for them are edited in its file, and those that only move keep their spelling', async () => {
  const file = SERVER_FILE.replace('"domain_suffix": [".onion"],', '"domain_suffix": [".onion"], "weight": 1.50,');
  await withPanel(
    'dns',
    async (page, stage) => {
      await goTo(page, 'Rules');
      await page.getByRole('button', { name: 'Edit rule 1' }).focus();
      await page.keyboard.press('Alt+ArrowDown');
      await page.getByRole('button', { name: 'Add rule' }).click();
      await page.getByLabel('Domain suffixes').fill('added.example');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByRole('button', { name: 'Review changes' }).click();
      await page.getByRole('button', { name: 'Save to server' }).click();
      await page.getByText('Configuration saved.').waitFor();
      expect(await stage.fileText()).toContain('"weight": 1.50');
      expect(stage.app.keyway.core.rules()).toMatchObject([
        { ipCidr: ['10.0.0.0/8', '192.168.0.0/16'] },
        { domainSuffix: ['.onion'] },
        { protocol: 'tcp' },
        { domainSuffix: ['added.example'], action: 'proxy' },
      ]);
    },
    { stage: { file } },
  );
});

it('the query log follows the server and is filtered by name, client and outcome', async () => {
  const queries = [
    { timestamp: 1_770_000_000, domain: 'ads.example', clientIp: '10.0.0.7', blocked: true },
    { timestamp: 1_770_000_001, domain: 'news.example', clientIp: '10.0.0.8', blocked: false, failed: true },
  ];
  const resolver = { ...createNoResolver(), queries: () => queries };
  await withPanel(
    'dns',
    async (page) => {
      await goTo(page, 'DNS');
      const domains = () => page.locator('.log tbody td:nth-child(2)').allInnerTexts();
      await expect.poll(domains).toEqual(['news.example', 'ads.example']);
      const results = () => page.locator('.log tbody td:nth-child(4)').allInnerTexts();
      expect(await results()).toEqual(['Failed (SERVFAIL)', 'Blocked']);
      queries.push({ timestamp: 1_770_000_002, domain: 'mail.example', clientIp: '10.0.0.7', blocked: false });
      await page.clock.fastForward(60_000);
      await expect.poll(domains).toEqual(['mail.example', 'news.example', 'ads.example']);
      await page.getByLabel('Filter by name or client').fill('0.7');
      await expect.poll(domains).toEqual(['mail.example', 'ads.example']);
      await page.getByRole('button', { name: 'Blocked only' }).click();
      await expect.poll(domains).toEqual(['ads.example']);
      await page.getByLabel('Filter by name or client').fill('nothing');
      await page.getByText('No matching queries.').waitFor();
    },
    { clock: true, stage: { resolver } },
  );
});

it('the audit list shows the language of the viewer, and is cleared for everybody', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await stage.call('POST', '/audit', { eventEn: 'Door opened', eventRu: 'Дверь открыта', success: false });
      await stage.call('POST', '/audit', { eventEn: 'English alone', eventRu: '', success: true });
      await goTo(page, 'Audit');
      await page.getByRole('row', { name: /Door opened Failed/ }).waitFor();
      await page.getByRole('button', { name: 'RU Русский' }).click();
      await page.getByRole('row', { name: /Дверь открыта Ошибка/ }).waitFor();
      await page.getByRole('row', { name: /English alone Выполнено/ }).waitFor();
      await page.getByRole('row', { name: /Вход в панель/ }).waitFor();
      await page.getByRole('button', { name: 'Очистить журнал' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Очистить журнал' }).click();
      await page.getByText('Записей нет').waitFor();
      expect(await stage.call('GET', '/audit')).toEqual([]);
    },
    // The panel notes a sign-in that was typed.
    { typed: true },
  );
});

it('the audit list stays empty after it was cleared, though an answer was asked for before', async () => {
  await withPanel('current', async (page, stage) => {
    await stage.call('POST', '/audit', { eventEn: 'Door opened', eventRu: '', success: true });
    await goTo(page, 'Audit');
    await page.getByRole('row', { name: /Door opened/ }).waitFor();
    const answers = await hold(page, 'GET', '/audit');
    await refreshNow(page);
    await expect.poll(() => answers.length).toBe(1);
    await page.getByRole('button', { name: 'Clear log' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Clear log' }).click();
    await page.getByText('No entries').waitFor();
    await refreshNow(page);
    answers[0]?.();
    // The next refresh begins when the one before it is done.
    await expect.poll(() => answers.length).toBe(2);
    expect(await page.getByRole('row', { name: /Door opened/ }).count()).toBe(0);
    answers[1]?.();
  });
});

import { expect, it } from 'vitest';
import { createNoResolver } from '../../../src/dns/no-resolver.js';
import { SERVER_FILE } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo, picture } from './stage.js';

it('the configuration is typed as JSON, led to what is wrong in it, and compared before it is saved', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Configuration');
    await page.getByLabel('Username').fill('operator');
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const editor = page.getByLabel('Configuration file as JSON');
    const text = await editor.inputValue();
    expect(text).toContain('"username": "operator"');
    const lines = await page.locator('.code-lines').innerText();
    expect(lines.trim().split('\n')).toHaveLength(text.split('\n').length);
    await editor.fill(text.replace('"monitoring": {', '"monitoring": {,'));
    const broken = text.split('\n').findIndex((line) => line.includes('monitoring')) + 1;
    await page.getByText(`Line ${broken}, column 18: unexpected “,”.`).waitFor();
    await page.getByRole('button', { name: 'Go to the error' }).click();
    const selected =
      'document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)';
    expect(await page.evaluate(selected)).toBe(',');
    await editor.fill(text.replace('"ratio": 0.10', '"ratio": 0.20'));
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('2 added, 2 removed').waitFor();
    await expectAccessible(page);
    await picture(page, 'current-diff');
    await page.getByRole('button', { name: 'Save to server' }).click();
    await page.getByText('Configuration saved.').waitFor();
    expect(await stage.fileText()).toContain('0.20');
  });
});

it('rules are added, checked, moved by keyboard and by dragging, and saved', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Rules');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByLabel('Action').selectOption('Block');
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
    const list = page.locator('.rule');
    await list.nth(0).locator('.rule-grip').dragTo(list.nth(2));
    await list.nth(2).filter({ hasText: '.onion' }).waitFor();
    await page.getByRole('button', { name: 'Save rules' }).click();
    await page.getByText('Rules saved.').waitFor();
    expect(await stage.call('GET', '/router/rules')).toMatchObject([
      { action: 'block', domain_suffix: ['ads.example'], ip_cidr: ['fd00::/8'], protocol: null },
      { action: 'block' },
      { action: 'proxy' },
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
    await page.getByText('Refresh started').waitFor();
  });
});

it('a version is compared and restored in four clicks, and its message takes that back', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Configuration');
    await page.getByRole('button', { name: 'Versions' }).click();
    await page.getByRole('heading', { name: 'No versions yet' }).waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Log level').waitFor();
    for (const comment of ['by hand', 'and again']) {
      const isRead = new Promise<unknown>((done) => stage.app.keyway.backend.onChange(done));
      await stage.writeFile(`// ${comment}\n${await stage.fileText()}`);
      await isRead;
    }
    await stage.call('DELETE', '/users/guest-2026');
    const before = await stage.fileText();
    await page.getByRole('button', { name: 'Versions' }).click();
    await page.getByText('Before keys were removed').waitFor();
    expect(await page.getByRole('list', { name: 'Versions' }).locator('p').allInnerTexts()).toEqual([
      'Before keys were removed · restoring it adds 1 key',
      'Before comments or spelling were changed · restoring it adds 1 key',
    ]);
    await expectAccessible(page);
    await picture(page, 'versions');
    await page.getByRole('button', { name: 'Compare' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('restoring it adds 1 key').waitFor();
    await picture(page, 'version');
    await dialog.getByRole('button', { name: 'Restore this version' }).click();
    await page.getByText('The version is restored.').waitFor();
    expect(await stage.fileText()).toContain('guest-2026');
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(stage.fileText).toBe(before);
  });
});

it('a file that somebody else has changed is shown before it is saved over, or taken as theirs', async () => {
  await withPanel('current', async (page, stage) => {
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const edit = async (webpath: string) => {
      await page.getByLabel('Web path').fill('mine');
      await stage.writeFile(SERVER_FILE.replace('office/panel', webpath));
      await button('Review changes').click();
      await page.getByRole('region', { name: 'What has become different' }).getByText(webpath).waitFor();
      expect(await button('Save to server').isDisabled()).toBe(true);
    };
    await goTo(page, 'Configuration');
    await edit('theirs');
    await expectAccessible(page);
    await picture(page, 'current-conflict');
    await button('Use theirs').click();
    expect(await page.getByLabel('Web path').inputValue()).toBe('theirs');
    await edit('a-third');
    await button('Save mine over it').click();
    await page.getByText('Configuration saved.').waitFor();
    expect(await stage.fileText()).toContain('"webpath": "mine"');
  });
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
      const domains = () => page.locator('.scroller tbody td:nth-child(2)').allInnerTexts();
      await expect.poll(domains).toEqual(['news.example', 'ads.example']);
      const results = () => page.locator('.scroller tbody td:nth-child(4)').allInnerTexts();
      expect(await results()).toEqual(['Failed (SERVFAIL)', 'Blocked']);
      queries.push({ timestamp: 1_770_000_002, domain: 'mail.example', clientIp: '10.0.0.7', blocked: false });
      await page.clock.fastForward(60_000);
      await expect.poll(domains).toEqual(['mail.example', 'news.example', 'ads.example']);
      await page.getByLabel('Filter by name or client').fill('0.7');
      await expect.poll(domains).toEqual(['mail.example', 'ads.example']);
      await page.getByRole('button', { name: 'Blocked only' }).click();
      await expect.poll(domains).toEqual(['ads.example']);
      await page.getByLabel('Filter by name or client').fill('nothing');
      await page.getByText('Nothing matches').waitFor();
    },
    { clock: true, stage: { resolver } },
  );
});

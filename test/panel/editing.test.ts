import { expect, it } from 'vitest';
import { expectAccessible, inBrowser } from './in-browser.js';
import { goTo, picture } from './stage.js';

const { withPanel } = inBrowser();

it('the configuration is compared before it is saved, warns of changes meanwhile, and keeps numbers as spelled', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Configuration');
    await page.getByLabel('Username').fill('operator');
    await page.getByRole('button', { name: 'Text' }).click();
    const editor = page.getByLabel('The configuration file as JSON');
    const text = await editor.inputValue();
    expect(text).toContain('"ceiling": 18446744073709551615');
    expect(text).toContain('"ratio": 0.10');
    expect(text).toContain('"username": "operator"');
    await editor.fill(text.replace('"mode"', '// no\n  "mode"'));
    await page.getByText('Line 2, column 3: the API takes no comments.').waitFor();
    await editor.fill(text.replace('"ratio": 0.10', '"ratio": 0.20'));
    await stage.call('POST', '/users', { access_key: 'meanwhile' });
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('The file changed on the server since you opened it.').waitFor();
    await page.getByText('Saving removes 1 key').waitFor();
    await expectAccessible(page);
    await picture(page, 'current-diff');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await expect.poll(() => editor.inputValue()).toContain('meanwhile');
    await editor.fill((await editor.inputValue()).replace('"ratio": 0.10', '"ratio": 0.20'));
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('1 added, 1 removed').waitFor();
    await page.getByRole('button', { name: 'Save to the server' }).click();
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
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await page.getByLabel('Block').check();
    await page.getByLabel('Networks in CIDR').fill('10.0.0.0/33');
    await page.getByText('Not a network: 10.0.0.0/33').waitFor();
    await page.getByLabel('Networks in CIDR').fill('fd00::/8');
    await page.getByLabel('Domain suffixes').fill('not a name');
    await page.getByText('Not a domain suffix').waitFor();
    await page.getByLabel('Domain suffixes').fill('ads.example');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Take over' }).click();
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
    await page.getByLabel('Upstream').fill('http://plain.example/');
    await page.getByText('Expected an address that begins with https://').waitFor();
    await page.getByLabel('Upstream').fill('https://dns.example/query');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByLabel('Name', { exact: true }).last().fill('nas.office.example');
    await page.getByLabel('Address', { exact: true }).last().fill('192.0.2.300');
    await page.getByText('Expected an IPv4 or IPv6 address.').waitFor();
    await page.getByLabel('Address', { exact: true }).last().fill('192.0.2.21');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByText('DNS settings saved.').waitFor();
    expect(stage.app.keyway.core.dns().dohUpstream).toBe('https://dns.example/query');
    expect([...stage.app.keyway.core.dns().customDomains.keys()]).toEqual([
      'printer.office.example',
      'nas.office.example',
    ]);
    await page.getByRole('button', { name: 'Refresh blocklists' }).click();
    await page.getByText('The server started a refresh').waitFor();
  });
});

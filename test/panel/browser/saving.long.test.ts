import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo } from './stage.js';

const difference = (page: Page) => page.getByRole('region', { name: 'What has become different' });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

it('rules and DNS settings that somebody else has changed are shown, and saved over or taken as theirs', async () => {
  await withPanel('0.2.84', async (page, stage) => {
    await goTo(page, 'Rules');
    await button(page, 'Remove rule 1').click();
    await stage.call('PUT', '/router/rules', [{ domain_suffix: ['.bot.example'], ip_cidr: [], action: 'block' }]);
    await button(page, 'Save rules').click();
    await difference(page).getByText('.bot.example').waitFor();
    expect(await button(page, 'Save rules').isDisabled()).toBe(true);
    await expectAccessible(page);
    await button(page, 'Save mine over it').click();
    await page.getByText('Rules saved.').waitFor();
    expect(await stage.call('GET', '/router/rules')).toHaveLength(2);
    await goTo(page, 'DNS');
    const upstream = page.getByLabel('Upstream');
    await upstream.fill('https://mine.example/q');
    await stage.call('POST', '/dns/config', { enabled: true, doh_upstream: 'https://theirs.example/q' });
    await button(page, 'Save settings').click();
    await difference(page).getByText('theirs.example').waitFor();
    await button(page, 'Use theirs').click();
    await expect.poll(() => upstream.inputValue()).toBe('https://theirs.example/q');
  });
});

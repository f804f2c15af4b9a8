import { expect } from 'vitest';
import { someOf } from '../../whole.js';
import { expectAccessible, expectLegible } from './axe.js';
import { expectFits, PAGES, withPanel } from './in-browser.js';
import { goTo, picture, resize } from './stage.js';

/** The layouts of a page, with what axe looks at: all but what is seen is the same in each. */
export const LOOKS = [
  { width: 1280, height: 800, colorScheme: 'light', audit: expectAccessible },
  { width: 1280, height: 800, colorScheme: 'dark', audit: expectLegible },
  { width: 390, height: 780, colorScheme: 'dark', audit: expectLegible },
] as const;

/** Has axe look at every page, in these layouts: at some of them, by the seed, where the run is not whole. */
export async function auditPages(looks: readonly (typeof LOOKS)[number][]): Promise<void> {
  const looked = someOf([...PAGES.map((name) => name.toLowerCase()), 'usage', 'events', 'key'], 4);
  await withPanel('current', async (page, stage) => {
    const look = async (name: string) => {
      if (!looked.includes(name)) return;
      await page.locator('.loading').waitFor({ state: 'detached' });
      for (const { width, height, colorScheme, audit } of looks) {
        await resize(page, { width, height });
        await page.emulateMedia({ colorScheme });
        await audit(page);
        await expectFits(page);
        await picture(page, `${width}-${name}-${colorScheme}`);
      }
      await resize(page, LOOKS[0]);
    };
    await stage.own('POST', '/tokens', { name: 'relay-frankfurt-am-main-2', may: 'relay' });
    await stage.call('POST', '/users', { name: 'A rather long name of a key' });
    for (const name of PAGES) {
      await goTo(page, name);
      await look(name.toLowerCase());
    }
    expect(await page.locator('nav a.missing').count()).toBe(0);
    await page.getByRole('button', { name: 'Usage', exact: true }).click();
    await page.locator('summary').first().click();
    await look('usage');
    await goTo(page, 'Audit');
    await page.getByRole('button', { name: 'Events', exact: true }).click();
    await page.getByRole('listitem').filter({ hasText: 'A rather long name' }).first().waitFor();
    await look('events');
    await page.evaluate('location.hash = "#/keys/guest-2026"');
    await page.getByRole('img', { name: 'QR code of the link' }).waitFor();
    await look('key');
  });
}

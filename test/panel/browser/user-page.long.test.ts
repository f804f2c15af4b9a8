import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { subscriptionToken } from '../../../src/subscription/token.js';
import { SERVER_FILE } from '../server-files.js';
import { AXE, expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { picture } from './stage.js';

const PATH = `/sub/${subscriptionToken('guest-2026')}`;

/** The beginning of a file with a link over TLS as well. */
const SECURE = '{ "domain": "vpn.example.com", "tls": { "enabled": true },';

it('the user’s page fits a phone, is legible in light and dark, and gives its whole link to one click', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await page.goto(stage.origin + PATH);
      await page.evaluate(await readFile(AXE, 'utf8'));
      await page.locator('summary').click();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await expectAccessible(page);
        for (const width of [390, 768, 1440]) {
          await page.setViewportSize({ width, height: 900 });
          expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), `${width}`).toBe(0);
          await picture(page, `user-page-${width}-${colorScheme}`);
        }
      }
      const [link] = await page.getByRole('link', { name: 'Open in the app' }).all();
      await page.locator('code').first().click();
      expect(await page.evaluate('getSelection().toString()')).toBe(await link?.getAttribute('href'));
    },
    { stage: { subscriptionTokens: true, file: SERVER_FILE.replace('{', SECURE) } },
  );
});

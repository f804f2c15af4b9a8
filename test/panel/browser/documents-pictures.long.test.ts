import { createHash } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { ROOT } from '../../clone.js';
import { SERVER_FILE } from '../server-files.js';
import { type PanelOptions, withPanel } from './in-browser.js';
import { BEFORE, goTo, letPass, picture, refreshNow, type Stage, type StageOptions, takesPictures } from './stage.js';

const GIB = 1024 ** 3;
const NAMES = [
  ...[
    'Office printer',
    'Darja',
    'Sven · laptop',
    'Hanna',
    'Wim',
    'Lab relay',
    'Anna · phone',
    'Paulo',
    'Elif · tablet',
  ],
  ...['Ilja · TV', 'Boris', 'Quentin', 'Uma', 'Jonas', 'Nadia', 'Mateo', 'Zoë', 'Guest wifi', 'Kiosk', 'Backup NAS'],
  ...['Łukasz', 'Reception', 'Old tablet', 'Reserve'],
];

/** An office's keys: the first have moved most, every second has a limit, every fourth is online, the last was never used. */
const KEYS = NAMES.map((name, place) => {
  const limit = place % 2 === 0 ? null : [50, 50, 100, 20][(place >> 1) % 4];
  return {
    access_key: createHash('md5').update(name).digest('hex'),
    name,
    ...(limit !== null && limit !== undefined && { limit_bytes: limit * GIB }),
    used: place === NAMES.length - 1 ? 0 : 50 * GIB * 0.87 ** place,
    isOnline: place % 4 === 2,
  };
});

/** What the keys have moved by a minute of the picture. */
function countersAt(minute: number): NonNullable<StageOptions['counters']> {
  return KEYS.map(({ access_key, used, isOnline }, place) => {
    const more = isOnline ? (place + 2) * 3e6 * (12 * minute + 32 * Math.sin(minute / 4)) : 0;
    const connections = isOnline ? BigInt(1 + (place % 3)) : 0n;
    return [access_key, BigInt(Math.round((used + more) / 16)), BigInt(Math.round(used + more)), connections];
  });
}

const OPTIONS: PanelOptions = {
  clock: true,
  locale: 'en-GB',
  stage: {
    file: SERVER_FILE.replace(
      /"access_keys": \[[^\]]*\]/,
      `"access_keys": ${JSON.stringify(KEYS.map(({ used, isOnline, ...key }) => key))}`,
    ),
    counters: countersAt(0),
  },
};

/** Takes a picture that the documents have, and puts theirs beside it. */
async function documentPicture(page: Page, name: string): Promise<void> {
  await picture(page, `documents-${name}`);
  await copyFile(join(ROOT, 'docs/screenshots', `${name}.png`), join(BEFORE, `documents-${name}.png`));
}

it.runIf(takesPictures)('the pictures of the documents are taken anew, beside those that they have', async () => {
  const test = async (page: Page, stage: Stage) => {
    await goTo(page, 'Keys');
    await page.getByText('24 keys').waitFor();
    await page.locator('.row', { hasText: 'Office printer' }).getByText('50 GiB').waitFor();
    await documentPicture(page, 'keys');
    await page.getByRole('link', { name: 'Anna · phone' }).click();
    await page.getByRole('img', { name: 'QR code of the link' }).waitFor();
    await documentPicture(page, 'key');
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 390, height: 780 });
    await page.getByRole('combobox', { name: 'Sort by' }).waitFor();
    await documentPicture(page, 'phone');
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await goTo(page, 'Overview');
    const lists = page.locator('.board');
    let minute = 0;
    const nextMinute = async () => {
      minute += 1;
      for (const [key, bytesUp, bytesDown, connections] of countersAt(minute)) {
        stage.app.keyway.local?.keys.setCounters(key, { bytesUp, bytesDown, connections });
      }
      await letPass(page, 60_000);
      await refreshNow(page);
      return lists.innerText();
    };
    for (let seen = 0; seen < 24; seen += 1) {
      const before = await lists.innerText();
      await expect.poll(nextMinute).not.toBe(before);
    }
    await page.getByRole('img', { name: 'Traffic' }).hover();
    await page.locator('.chart-card').waitFor();
    await documentPicture(page, 'dark');
  };
  await withPanel('current', test, OPTIONS);
});

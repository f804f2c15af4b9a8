import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { gate } from '../gate.js';
import { SERVER_FILE } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { firstSteps, withPanel } from './in-browser.js';
import { letPass, refreshNow, resize, type Stage } from './stage.js';

it('the first steps stand while the links of another key are asked for', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      const missing = firstSteps(page).getByText('The server’s links name 0.0.0.0, which no client can reach.');
      await missing.waitFor();
      const [first] = Object(await stage.call('GET', '/users'));
      const asked = page.waitForRequest(/subscribe/);
      const answers = gate();
      await page.route(/subscribe/, async (route) => {
        await answers.opened;
        await route.continue();
      });
      await stage.call('DELETE', `/users/${first.access_key}`);
      await refreshNow(page);
      await asked;
      expect(await missing.count()).toBe(1);
      answers.open();
    },
    { stage: { file: SERVER_FILE.replace('203.0.113.7', '0.0.0.0') } },
  );
});

/** Has the page see five minutes go by, and some bytes move in them. */
async function seeTraffic(page: Page, stage: Stage, turn: bigint): Promise<void> {
  const loaded = () => page.locator('.card', { hasText: 'Top keys' }).innerText();
  const before = await loaded();
  await letPass(page, 300_000);
  stage.app.keyway.local?.keys.setCounters('guest-2026', {
    bytesUp: turn * 1_000_000_000n,
    bytesDown: 45_000_000_000n + turn * 7_000_000_000n,
    connections: 1n,
  });
  await expect
    .poll(async () => {
      await refreshNow(page);
      return loaded();
    })
    .not.toBe(before);
}

it('the chart of a server in use begins when something moves, has round marks, a range to choose, and a card of values by pointer and by keyboard', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await expect
        .poll(async () => {
          await letPass(page, 60_000);
          await refreshNow(page);
          return page.getByText('Nothing has moved since').count();
        })
        .toBe(1);
      expect(await firstSteps(page).count(), 'nothing is left of the first steps').toBe(0);
      const chart = page.getByRole('img', { name: 'Traffic' });
      expect(await chart.count()).toBe(0);
      for (let turn = 1n; turn <= 5n; turn += 1n) await seeTraffic(page, stage, turn);
      await chart.waitFor();
      const caption = page.getByText(/^Since .*, while this page was open: [\d.]+\sGiB down, [\d.]+\sGiB up\./);
      await caption.waitFor();
      const marks = await chart.locator('text[text-anchor=end]').allTextContents();
      const sizes = marks.filter((mark) => mark.endsWith('/s')).map((mark) => Number.parseFloat(mark));
      expect(sizes.length).toBeGreaterThan(1);
      const step = sizes[0] ?? 0;
      expect([1, 2, 5]).toContain(Number(step.toExponential().split('e')[0]));
      sizes.forEach((size, index) => {
        expect(size).toBeCloseTo(step * (index + 1));
      });

      const card = page.locator('.board-chart .chart-card');
      expect(await card.count()).toBe(0);
      await chart.hover();
      expect(await card.innerText()).toMatch(/–.*Down \d.*Up \d/);
      await expectAccessible(page);
      await page.mouse.move(5, 5);
      await card.waitFor({ state: 'detached' });
      await chart.focus();
      const latest = await card.innerText();
      await page.keyboard.press('ArrowLeft');
      expect(await card.innerText()).not.toBe(latest);

      const ranges = page.getByRole('group', { name: 'Range of the chart' });
      const area = page.locator('.board-chart .chart-area');
      const intervals = async () => (await area.getAttribute('d'))?.match(/H/g)?.length ?? 0;
      const all = await intervals();
      await ranges.getByRole('button', { name: '15 min' }).click();
      await expect.poll(intervals).toBeLessThan(all);
      await ranges.getByRole('button', { name: 'All seen' }).click();
      // The page asks by itself every 5 s, and has one more then.
      await expect.poll(intervals).toBeGreaterThanOrEqual(all);
      await page.evaluate('location.hash = "#/keys/guest-2026"');
      await page
        .getByRole('dialog', { name: 'Guests' })
        .getByText(/^Since .*, while this page was open/)
        .waitFor();
    },
    { clock: true },
  );
});

it('no bar reaches its figure, and cards of one row end at one line, at every width', async () => {
  await withPanel('current', async (page) => {
    await page.locator('.ranked-bar').first().waitFor();
    for (const [width, rowsOfCards] of [
      [390, 3],
      [1024, 2],
      [1440, 2],
    ] as const) {
      await resize(page, { width, height: 900 });
      const rows = await page
        .locator('.ranking li:has(.ranked-bar)')
        .evaluateAll((found) =>
          found.map((row) =>
            ['.ranked-bar', '.ranked'].map((part) => row.querySelector(part)?.getBoundingClientRect()),
          ),
        );
      expect(rows.length, `bars at ${width} pixels`).toBeGreaterThan(1);
      for (const [bar, figure] of rows)
        expect(bar?.right ?? 1, `bar at ${width} pixels`).toBeLessThan(figure?.left ?? 0);
      const cards = await page
        .locator('.board > .card')
        .evaluateAll((found) =>
          found
            .map((one) => one.getBoundingClientRect())
            .map(({ top, bottom }) => [Math.round(top), Math.round(bottom)]),
        );
      const ends = new Map<number | undefined, Set<number | undefined>>();
      for (const [top, bottom] of cards) ends.set(top, new Set([...(ends.get(top) ?? []), bottom]));
      expect(ends.size, `rows of cards at ${width} pixels`).toBe(rowsOfCards);
      for (const [top, bottoms] of ends) expect(bottoms.size, `cards from ${top} at ${width} pixels`).toBe(1);
    }
  });
});

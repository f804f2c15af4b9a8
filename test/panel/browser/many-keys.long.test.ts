import { expect, it } from 'vitest';
import { SERVER_FILE } from '../server-files.js';
import { goTo, openPage, refreshNow, signIn, startStage } from './stage.js';

it('30,000 keys scroll without blank rows, and a refresh does not move them', async () => {
  const stage = await startStage('current', {
    file: SERVER_FILE.replace(/"access_keys": \[[\s\S]*?\n {2}\],/, '"access_keys": [],'),
    counters: [],
  });
  const names = Array.from({ length: 30_000 }, (_, index) => index);
  await stage.call('PUT', '/server/config', {
    ...JSON.parse(SERVER_FILE.replace(/18446744073709551615/g, '1')),
    access_keys: names.map((index) => ({ access_key: `key-${String(index).padStart(6, '0')}`, name: `Name ${index}` })),
  });
  await expect.poll(() => stage.app.keyway.core.keys.size).toBe(30_000);
  const { page, expectClean, close } = await openPage(stage.panel);
  await signIn(page);
  await goTo(page, 'Keys');
  await page.getByText('30,000 keys').waitFor();
  for (const part of [0.2, 0.5, 0.99, 0.1]) {
    await page.evaluate(
      `{ const grid = document.querySelector('.grid'); grid.scrollTop = grid.scrollHeight * ${part}; }`,
    );
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const blank = await page.evaluate(`(() => {
      const box = document.querySelector('.grid').getBoundingClientRect();
      for (let y = box.top + 40; y < box.bottom - 4; y += 20) {
        if (!document.elementFromPoint(box.left + 300, y)?.closest('.row')) return y;
      }
      return null;
    })()`);
    expect(blank).toBeNull();
  }
  const first = `[...document.querySelectorAll('.row:not(.row-head)')].find((row) => row.getBoundingClientRect().top > 155).textContent`;
  const before = await page.evaluate(first);
  stage.app.keyway.local?.keys.setCounters('key-029999', { bytesUp: 5n, bytesDown: 10n ** 15n, connections: 1n });
  const refreshed = async () => {
    await refreshNow(page);
    return page.getByText('Sorted at').count();
  };
  await expect.poll(refreshed).toBe(1);
  expect(await page.evaluate(first)).toBe(before);
  await page.getByLabel('Search by label, note or key').fill('Name 29999');
  await page.getByRole('link', { name: 'Name 29999' }).waitFor();
  expectClean();
  await close();
  await stage.close();
});

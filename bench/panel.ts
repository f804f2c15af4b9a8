import { availableParallelism, loadavg } from 'node:os';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { bundledChromium } from './browser.js';
import { type Measure, type Row, timeText } from './measure.js';
import { TOKEN } from './sample-keys.js';
import { startEmbedded } from './servers.js';
import { median } from './statistics.js';

const KEYS = 100_000;
const ROUNDS = 10;
const FIRST_ROW_BAR = 1_500;
const HEAP_BAR = 300;
/** Counters that change each second, so that every refresh brings another list. */
const CHANGES = 1_000;
const MEGABYTE = 1_000_000;

/** The panel's list of 100,000 keys in a real browser: how soon the first row is seen, and what the page holds. */
export const panel: Measure = {
  name: 'panel',
  async run(bench) {
    const server = await bench.using(startEmbedded(await bench.file(KEYS)));
    const [{ chromium }, bundled] = await Promise.all([import('playwright-core'), bundledChromium()]);
    const browser = await chromium.launch(bundled.options);
    try {
      const page = await openKeys(browser, `http://127.0.0.1:${server.port}/panel/#/keys`);
      const times = await reloads(page, bench.quick ? 3 : ROUNDS);
      await server.child.ask({ changesPerSecond: CHANGES });
      return [firstRowRow(times), heapRow(await heapAfterScrolling(page, bench.quick ? 20 : 200))];
    } finally {
      await browser.close();
      await bundled.remove();
    }
  },
};

/** Resolves when the first row stands in the page and a frame with it was drawn. */
const WATCH = `window.firstRow = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector('.grid-body .row') === null) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(performance.now());
      port2.postMessage(null);
    });
  }).observe(document, { childList: true, subtree: true });
});`;

/** Signs in with the token; the tab keeps it over reloads. */
export async function openKeys(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en' });
  page.setDefaultTimeout(120_000);
  await page.addInitScript(WATCH);
  await page.goto(url);
  await page.getByRole('button', { name: 'Token' }).click();
  await page.getByLabel('API token').fill(TOKEN);
  await page.keyboard.press('Enter');
  return page;
}

async function reloads(page: Page, rounds: number): Promise<readonly number[]> {
  await firstRow(page);
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await page.reload();
    times.push(await firstRow(page));
  }
  return times;
}

/** Milliseconds from the end of the list's answer to the first row that can be seen. */
async function firstRow(page: Page): Promise<number> {
  const time: unknown = await page.evaluate(`window.firstRow.then((seen) => {
    const list = performance.getEntriesByType('resource').find(({ name }) => name.endsWith('/users'));
    return seen - list.responseEnd;
  })`);
  return Number(time);
}

interface Heap {
  /** Bytes: the highest seen while scrolling, and what is left when nothing but the page's own is kept. */
  readonly highest: number;
  readonly held: number;
}

async function heapAfterScrolling(page: Page, steps: number): Promise<Heap> {
  const session = await page.context().newCDPSession(page);
  let highest = 0;
  for (let step = 0; step < steps; step += 1) {
    const part = (step * 37) % 100;
    await page.evaluate(
      `{ const grid = document.querySelector('.grid'); grid.scrollTop = (grid.scrollHeight * ${part}) / 100; }`,
    );
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))');
    highest = Math.max(highest, await usedHeap(session));
  }
  await session.send('HeapProfiler.collectGarbage');
  return { highest, held: await usedHeap(session) };
}

async function usedHeap(session: CDPSession): Promise<number> {
  const usage = await session.send('Runtime.getHeapUsage');
  return usage.usedSize + usage.embedderHeapUsedSize + usage.backingStorageSize;
}

/** A browser is more than one process: where more wants to run than there are cores, a miss says nothing of the page. */
function firstRowRow(times: readonly number[]): Row {
  const middle = median(times);
  const isBusy = (loadavg()[0] ?? 0) > 1.5 * availableParallelism();
  return {
    measure: 'panel, 100k keys: from the end of the answer to the first row that is seen',
    gateway: 'Chromium',
    against: `${times.length} loads, the slowest ${timeText(Math.max(...times))}`,
    value: timeText(middle),
    bar: `≤ ${timeText(FIRST_ROW_BAR)}`,
    met: middle <= FIRST_ROW_BAR ? true : isBusy ? 'unsure' : false,
  };
}

function heapRow({ highest, held }: Heap): Row {
  return {
    measure: 'the same: heap that the page holds after scrolling and refreshes',
    gateway: 'Chromium',
    against: `${Math.round(highest / MEGABYTE)} MB at most, with what is not collected yet`,
    value: `${Math.round(held / MEGABYTE)} MB`,
    bar: `≤ ${HEAP_BAR} MB`,
    met: held / MEGABYTE <= HEAP_BAR,
  };
}

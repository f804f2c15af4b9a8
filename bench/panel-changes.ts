import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { bundledChromium } from './browser.js';
import { type Bench, type Measure, type Row, timeText } from './measure.js';
import { openKeys } from './panel.js';
import { startEmbedded } from './servers.js';

/** Keys that count all the time. */
const COUNTING = 100;
const WIRE_KEYS = 10_000;
const WIRE_BAR = 2;
const STOP_KEYS = 100_000;
const STOP_BAR = 50;
const MEGABYTE = 1_000_000;
const HOUR = 3_600_000;

/** The panel beside keys that count: what an hour of it costs on the wire, and whether it ever stands still. */
export const panelChanges: Measure = {
  name: 'panel-changes',
  async run(bench) {
    const [{ chromium }, bundled] = await Promise.all([import('playwright-core'), bundledChromium()]);
    const browser = await chromium.launch(bundled.options);
    try {
      return [await wireRow(bench, browser), ...(await stopRows(bench, browser))];
    } finally {
      await browser.close();
      await bundled.remove();
    }
  },
};

/** Opens the list of so many keys, of which some count. */
async function openCounting(bench: Bench, browser: Browser, keys: number): Promise<Page> {
  const server = await bench.using(startEmbedded(await bench.file(keys)));
  const page = await openKeys(browser, `http://127.0.0.1:${server.port}/panel/#/keys`);
  await page.locator('.grid-body .row').first().waitFor();
  await server.child.ask({ changesPerSecond: COUNTING, among: COUNTING });
  return page;
}

/** The bytes of an hour: those of the first load, and those of some minutes as often as an hour has them. */
async function wireRow(bench: Bench, browser: Browser): Promise<Row> {
  const page = await openCounting(bench, browser, WIRE_KEYS);
  const received = await countReceived(page);
  await page.reload();
  await page.locator('.grid-body .row').first().waitFor();
  await pause(5_000);
  const first = received();
  const watched = bench.quick ? 30_000 : 180_000;
  await pause(watched);
  const later = received() - first;
  await page.close();
  const hour = (first + (later * HOUR) / watched) / MEGABYTE;
  return {
    measure: 'panel, 10k keys, 100 of them counting: an hour on the wire',
    gateway: 'Chromium',
    against: `${(first / MEGABYTE).toFixed(2)} MB to load it`,
    value: `${hour.toFixed(2)} MB`,
    bar: `≤ ${WIRE_BAR} MB`,
    met: hour <= WIRE_BAR,
  };
}

/** Counts what comes over the wire from now on, heads included. */
async function countReceived(page: Page): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on('Network.dataReceived', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  session.on('Network.responseReceived', ({ response }) => {
    bytes += response.encodedDataLength;
  });
  await session.send('Network.enable');
  return () => bytes;
}

/** What `startTracing` notes of a task: `tdur` is its processor time in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The longest task of the page's thread, in milliseconds of processor time: a busy machine makes none longer. */
function longestTask(trace: string): { readonly longest: number; readonly long: readonly number[] } {
  const { traceEvents: events }: { readonly traceEvents: readonly TraceEvent[] } = JSON.parse(trace);
  const pages = new Set(
    events.flatMap(({ name, args, pid, tid }) =>
      name === 'thread_name' && args?.name === 'CrRendererMain' ? [`${pid}:${tid}`] : [],
    ),
  );
  const tasks = events.filter(({ name, pid, tid }) => /RunTask$/.test(name) && pages.has(`${pid}:${tid}`));
  const times = tasks.map(({ tdur = 0 }) => tdur / 1000);
  return { longest: times.reduce((most, time) => Math.max(most, time), 0), long: times.filter((time) => time >= 25) };
}

/** What is done with the list of 100,000 keys while its longest task is looked for. */
const DEEDS: Readonly<Record<string, (page: Page, bench: Bench) => Promise<void>>> = {
  'all selected now and then': async (page, bench) => {
    for (let round = 0; round < (bench.quick ? 2 : 6); round += 1) {
      await page.locator('.grid').press('Control+a');
      await pause(2_000);
      await page.getByRole('button', { name: 'Clear selection' }).click();
      await pause(13_000);
    }
  },
  'sorted by each column': async (page) => {
    const heads = page.locator('.row-head [role=columnheader] button');
    for (let index = 0; index < (await heads.count()); index += 1) {
      await heads.nth(index).click();
      await pause(3_000);
    }
  },
  'a search typed': async (page) => {
    const search = page.getByLabel('Search by name or key');
    await search.pressSequentially('99', { delay: 300 });
    await pause(3_000);
    await search.clear();
    await pause(3_000);
  },
  'the overview opened': async (page) => {
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await pause(15_000);
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.locator('.grid-body .row').first().waitFor();
  },
  'loaded anew': async (page) => {
    await page.reload();
    await page.locator('.grid-body .row').first().waitFor();
    await pause(5_000);
  },
};

/** A row of the longest task for each of the deeds. */
async function stopRows(bench: Bench, browser: Browser): Promise<readonly Row[]> {
  const page = await openCounting(bench, browser, STOP_KEYS);
  await pause(10_000);
  const rows: Row[] = [];
  for (const [deed, act] of Object.entries(DEEDS)) {
    await browser.startTracing(page, {
      categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel'],
    });
    await act(page, bench);
    const { longest, long } = longestTask((await browser.stopTracing()).toString());
    rows.push({
      measure: `panel, 100k keys, 100 of them counting, ${deed}: the longest task`,
      gateway: 'Chromium',
      against: `of processor time; of 25 ms and more: ${long.map((each) => Math.round(each)).join(', ') || 'none'}`,
      value: timeText(longest),
      bar: `≤ ${timeText(STOP_BAR)}`,
      met: longest > 0 && longest <= STOP_BAR,
    });
  }
  await page.close();
  return rows;
}

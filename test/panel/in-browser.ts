import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { ROOT } from '../clone.js';
import { connectBrowser } from '../shared.js';
import {
  openPage,
  type PageOptions,
  type Stage,
  type StageOptions,
  signIn,
  startStage,
  type Watched,
} from './stage.js';

/** The pages by the names in their menu. */
export const PAGES = ['Overview', 'Keys', 'Configuration', 'Rules', 'DNS', 'Audit'];

export interface PanelOptions extends PageOptions {
  /** Whether the test begins signed in, by default it does. */
  readonly signed?: boolean;
  /** What the login calls its fields and its button, where it is not in English. */
  readonly words?: readonly [string, string, string];
  readonly stage?: StageOptions;
}

/** The tests of a file in the browser of the run. */
export interface InBrowser {
  open(url: string, options?: PageOptions): Promise<Watched>;
  /** Runs with a gateway and a page that must be clean at the end. */
  withPanel(revision: string, test: (page: Page, stage: Stage) => Promise<void>, options?: PanelOptions): Promise<void>;
}

export function inBrowser(): InBrowser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await connectBrowser();
  });
  afterAll(() => browser.close());
  return {
    open: (url, options) => openPage(browser, url, options),
    async withPanel(revision, test, { signed = true, words, stage: given, ...options } = {}) {
      const stage = await startStage(revision, given);
      const watched = await openPage(browser, stage.panel, options);
      try {
        if (signed) {
          await signIn(watched.page, undefined, words);
          await watched.page.getByRole('heading', { level: 1, name: /Overview|Обзор/ }).waitFor();
        }
        await test(watched.page, stage);
        watched.expectClean();
      } finally {
        await watched.page.context().close();
        await stage.close();
      }
    },
  };
}

/** Fails with what axe found wrong (WCAG 2.2 A and AA). */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate('"axe" in window'))) {
    await page.evaluate(readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8'));
  }
  const found: unknown = await page.evaluate(`axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    resultTypes: ['violations'],
  }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`);
  expect(found).toEqual([]);
}

/** Has the page believe that it is in a hidden tab, or in sight again. */
export async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(`{
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} });
    document.dispatchEvent(new Event('visibilitychange'));
  }`);
}
